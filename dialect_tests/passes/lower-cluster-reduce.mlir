// The cluster stage: the lowering of fold.cluster_reduce. Stores to the first CTA's shared memory between two barriers of
// the cluster, then a round in the first CTA. All threads arrive at the first barrier when the kernel begins.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-cluster-reduce,canonicalize,cse)' | FileCheck %s

gpu.module @device {
  // Buffers lie beside the kernel, [ctas * rows][slots].
  // CHECK-DAG: llvm.mlir.global internal @gathered_0() {addr_space = 3 : i32, {{.*}}} : !llvm.array<128 x f32>
  // CHECK-DAG: llvm.mlir.global internal @gathered_1() {{.*}} : !llvm.array<4 x f32>
  // CHECK-DAG: llvm.mlir.global internal @gathered_2() {{.*}} : !llvm.array<4 x i8>
  // CHECK-DAG: llvm.mlir.global internal @gathered_3() {{.*}} : !llvm.array<256 x f32>
  // CHECK-DAG: llvm.mlir.global internal @gathered_4() {{.*}} : !llvm.array<8 x f32>
  // CHECK-DAG: llvm.mlir.global internal @gathered_5() {{.*}} : !llvm.array<256 x f32>
  // CHECK-DAG: llvm.mlir.global internal @gathered_6() {{.*}} : !llvm.array<128 x f32>
  // CHECK-DAG: llvm.mlir.global internal @gathered_7() {{.*}} : !llvm.array<128 x f32>
  // CHECK-DAG: llvm.mlir.global internal @gathered_8() {{.*}} : !llvm.array<128 x i64>
  // CHECK-DAG: llvm.mlir.global internal @arrivals_0() {{.*}} : !llvm.array<1 x i64>

  // Eight CTAs of sixteen warps: each of the 32 lanes takes four states.
  // CHECK-LABEL: func.func @one_result
  // CHECK-SAME:    (%[[RANK:[a-z0-9]*]]: i32, %[[ROW:[a-z0-9]*]]: i32, %[[LANE:[a-z0-9]*]]: i32, %[[SLOT:[a-z0-9]*]]: i32, %[[ON:[a-z0-9]*]]: i1, %[[X:[a-z0-9]*]]: f32)
  func.func @one_result(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) -> f32 {
    // The first CTA's memory exists once all CTAs have begun, so they arrive before anything else.
    // CHECK:      %[[BUFFER:.*]] = llvm.mlir.addressof @gathered_0
    // CHECK-NEXT: nvvm.cluster.arrive.relaxed {aligned}
    // CHECK-NEXT: %[[BEFORE:.*]] = arith.muli %[[RANK]], %c16_i32
    // CHECK-NEXT: %[[NUMBER:.*]] = arith.addi %[[BEFORE]], %[[ROW]]
    // CHECK-NEXT: nvvm.cluster.wait {aligned}
    // CHECK-NEXT: scf.if %[[ON]] {
    // State r lies in row (r mod 4) * 32 + r / 4.
    // CHECK-NEXT:   %[[STEP:.*]] = arith.andi %[[NUMBER]], %c3_i32
    // CHECK-NEXT:   %[[GROUP:.*]] = arith.shrui %[[NUMBER]], %c2_i32
    // CHECK-NEXT:   %[[BELOW:.*]] = arith.muli %[[STEP]], %c32_i32
    // CHECK-NEXT:   %[[THERE:.*]] = arith.addi %[[BELOW]], %[[GROUP]]
    // CHECK-NEXT:   %[[AT:.*]] = arith.addi %[[THERE]], %[[SLOT]]
    // CHECK-NEXT:   %[[REMOTE:.*]] = nvvm.mapa %[[BUFFER]], %c0_i32 : !llvm.ptr<3> -> !llvm.ptr<7>
    // CHECK-NEXT:   %[[TO:.*]] = llvm.getelementptr %[[REMOTE]][%[[AT]]]
    // CHECK-NEXT:   llvm.store %[[X]], %[[TO]] {alignment = 4 : i64} : f32, !llvm.ptr<7>
    // CHECK-NEXT: }
    // This arrival releases the stores, the wait acquires them.
    // CHECK-NEXT: nvvm.cluster.arrive {aligned}
    // CHECK-NEXT: nvvm.cluster.wait {aligned}
    // Only the first warp of the first CTA goes on.
    // CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %[[NUMBER]], %c0_i32
    // CHECK-NEXT: %[[OURS:.*]] = scf.if %[[FIRST]] -> (f32) {
    // CHECK-NEXT:   %[[OWN:.*]] = arith.andi %[[LANE]], %c31_i32
    // CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
    // CHECK:        gpu.shuffle xor %{{.*}}, %c1_i32, %c32_i32 : f32
    // CHECK:        gpu.shuffle xor %{{.*}}, %c2_i32, %c32_i32 : f32
    // CHECK:        gpu.shuffle xor %{{.*}}, %c4_i32, %c32_i32 : f32
    // CHECK:        gpu.shuffle xor %{{.*}}, %c8_i32, %c32_i32 : f32
    // CHECK:        gpu.shuffle xor %{{.*}}, %c16_i32, %c32_i32 : f32
    // CHECK:      } else {
    // CHECK-NEXT:   scf.yield %[[X]] : f32
    // CHECK-NEXT: }
    // CHECK-NEXT: return %[[OURS]]
    %ours = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "fold.yield"(%c) : (f32) -> ()
    }) {ctas = 8, rows = 16, slots = 1, lanes = 32, stride = 1, ordered = false} : (i32, i32, i32, i32, i1, f32) -> f32
    return %ours : f32
  }

  // A buffer for each value; truth values are bytes. With more lanes than states, state r lies in row r.
  // CHECK-LABEL: func.func @two_values
  func.func @two_values(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: tuple<f32, i1>) -> tuple<f32, i1> {
    // CHECK:     scf.if
    // CHECK-NOT:   arith.shrui
    // CHECK:       llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<7>
    // CHECK:       %[[BYTE:.*]] = arith.extui %{{.*}} : i1 to i8
    // CHECK:       llvm.store %[[BYTE]], %{{.*}} {alignment = 1 : i64} : i8, !llvm.ptr<7>
    // If the order matters, the lower lane's state is the left operand.
    // CHECK-COUNT-2: gpu.shuffle xor
    // CHECK:       arith.select
    // CHECK-COUNT-2: gpu.shuffle xor
    // CHECK-NOT:   gpu.shuffle
    // CHECK:     return
    %ours = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
    ^bb0(%a: f32, %i: i1, %b: f32, %j: i1):
      %c = arith.subf %a, %b : f32
      %k = arith.ori %i, %j : i1
      %state = builtin.unrealized_conversion_cast %c, %k : f32, i1 to tuple<f32, i1>
      "fold.yield"(%state) : (tuple<f32, i1>) -> ()
    }) {ctas = 2, rows = 2, slots = 1, lanes = 32, stride = 1, ordered = true}
      : (i32, i32, i32, i32, i1, tuple<f32, i1>) -> tuple<f32, i1>
    return %ours : tuple<f32, i1>
  }

  // Four results a thread: one lane combines all eight states, without shuffles.
  // CHECK-LABEL: func.func @four_results_a_thread
  func.func @four_results_a_thread(
      %rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: vector<4xf32>) -> vector<4xf32> {
    // CHECK:       llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<7>
    // CHECK-COUNT-8: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
    // CHECK-NOT:   gpu.shuffle
    // CHECK:       return
    %ours = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "fold.yield"(%c) : (f32) -> ()
    }) {ctas = 4, rows = 2, slots = 32, lanes = 1, stride = 32, ordered = false}
      : (i32, i32, i32, i32, i1, vector<4xf32>) -> vector<4xf32>
    return %ours : vector<4xf32>
  }

  // Two stages whose states all threads get: one arrival at the start, one wait, then one pass of the barrier for each.
  // CHECK-LABEL: func.func @everywhere
  // CHECK-SAME:    (%{{[a-z0-9]*}}: i32, %{{[a-z0-9]*}}: i32, %[[LANE:[a-z0-9]*]]: i32,
  func.func @everywhere(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) -> f32 {
    // Each stage has its own buffer.
    // CHECK-DAG: %[[FIRST:.*]] = llvm.mlir.addressof @gathered_4
    // CHECK-DAG: %[[SECOND:.*]] = llvm.mlir.addressof @gathered_5
    // CHECK-DAG: nvvm.cluster.arrive.relaxed {aligned}
    // CHECK:     nvvm.cluster.wait {aligned}
    // Lane l writes to CTA l.
    // CHECK:     %[[WRITES:.*]] = arith.cmpi slt, %[[LANE]], %c4_i32
    // CHECK:     scf.if %[[WRITES]] {
    // CHECK:       nvvm.mapa %[[FIRST]], %[[LANE]] : !llvm.ptr<3> -> !llvm.ptr<7>
    // CHECK:     nvvm.cluster.arrive {aligned}
    // CHECK-NEXT: nvvm.cluster.wait {aligned}
    // All warps combine the states.
    // CHECK-NOT: scf.if
    // CHECK-COUNT-3: gpu.shuffle xor
    // CHECK-NOT: nvvm.cluster.wait
    %sum = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "fold.yield"(%c) : (f32) -> ()
    }) {ctas = 4, rows = 2, slots = 1, lanes = 32, stride = 1, ordered = false, everywhere = true}
      : (i32, i32, i32, i32, i1, f32) -> f32
    // A single lane writes to all CTAs.
    // CHECK-COUNT-4: nvvm.mapa %[[SECOND]]
    // CHECK:     nvvm.cluster.arrive {aligned}
    // CHECK-NEXT: nvvm.cluster.wait {aligned}
    // CHECK-NOT: nvvm.cluster
    // CHECK:     return
    %again = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %sum) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "fold.yield"(%c) : (f32) -> ()
    }) {ctas = 4, rows = 2, slots = 32, lanes = 1, stride = 1, ordered = false, everywhere = true}
      : (i32, i32, i32, i32, i1, f32) -> f32
    return %again : f32
  }
  // Where the warps of a CTA have met, those of which the flag says so leave its state, one for each CTA.
  // CHECK-LABEL: func.func @met
  // CHECK-SAME:    %[[ON:[a-z0-9]*]]: i1, %[[X:[a-z0-9]*]]: f32)
  func.func @met(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) -> f32 {
    // CHECK:      scf.if %[[ON]] {
    // CHECK-COUNT-4: nvvm.mapa
    // CHECK:      nvvm.cluster.arrive {aligned}
    // CHECK-NOT:  scf.if
    // CHECK-COUNT-4: llvm.load
    // CHECK:      return
    %ours = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "fold.yield"(%c) : (f32) -> ()
    }) {ctas = 4, rows = 1, slots = 32, lanes = 1, stride = 1, ordered = false, everywhere = true, met = true}
      : (i32, i32, i32, i32, i1, f32) -> f32
    return %ours : f32
  }
  // With counted an mbarrier of each CTA counts the bytes that come to it: here 2 CTAs of 2 rows with 32 results each
  // leave 4 bytes of an f32 and 8 of an i64 for each result.
  // CHECK-LABEL: func.func @counted
  // CHECK-SAME:    %[[LANE:[a-z0-9]*]]: i32, %[[SLOT:[a-z0-9]*]]: i32, %[[ON:[a-z0-9]*]]: i1
  func.func @counted(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: tuple<f32, i64>) -> tuple<f32, i64> {
    // CHECK-DAG:  %[[NUMBERS:.*]] = llvm.mlir.addressof @gathered_8
    // CHECK-DAG:  %[[VALUES:.*]] = llvm.mlir.addressof @gathered_7
    // CHECK-DAG:  %[[ARRIVALS:.*]] = llvm.mlir.addressof @arrivals_0
    // The first thread of a CTA says so before it arrives, so that nothing comes before.
    // CHECK:      %[[OWN:.*]] = llvm.ptrtoint %[[ARRIVALS]]
    // CHECK-NEXT: llvm.inline_asm
    // CHECK-SAME:   mov.u32 thread, %tid.x;
    // CHECK-SAME:   mbarrier.init.shared.b64 [$0], 1;
    // CHECK-SAME:   fence.mbarrier_init.release.cluster;
    // CHECK-SAME:   mbarrier.arrive.expect_tx.shared.b64 state, [$0], 1536;
    // CHECK-SAME:   %[[OWN]]
    // CHECK-NEXT: nvvm.cluster.arrive.relaxed {aligned}
    // CHECK:      nvvm.cluster.wait {aligned}
    // Each store names the mbarrier of the CTA that it goes to.
    // CHECK:      %[[FIRST:.*]] = nvvm.mapa %[[ARRIVALS]], %[[LANE]]
    // CHECK:      nvvm.mapa %[[VALUES]], %[[LANE]]
    // CHECK:      llvm.inline_asm has_side_effects "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [$0], $1, [$2];", "l,r,l,~{memory}" %{{.*}}, %{{.*}}, %[[FIRST]]
    // CHECK:      nvvm.mapa %[[NUMBERS]], %[[LANE]]
    // CHECK:      llvm.inline_asm has_side_effects "st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [$0], $1, [$2];", "l,l,l,~{memory}" %{{.*}}, %{{.*}}, %[[FIRST]]
    // CHECK:      %[[NEXT:.*]] = arith.addi %[[LANE]], %c1_i32
    // CHECK:      %[[SECOND:.*]] = nvvm.mapa %[[ARRIVALS]], %[[NEXT]]
    // CHECK:      st.async{{.*}} %[[SECOND]]
    // All threads wait for the first phase of their own mbarrier, and for nothing else.
    // CHECK:      llvm.inline_asm {{.*}}mbarrier.try_wait.parity.shared.b64 all, [$0], 0;{{.*}} %[[OWN]]
    // CHECK-NOT:  nvvm.cluster
    // CHECK-COUNT-8: llvm.load
    // CHECK:      return
    %ours = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
    ^bb0(%a: f32, %m: i64, %b: f32, %n: i64):
      %c = arith.addf %a, %b : f32
      %o = arith.addi %m, %n : i64
      %both = builtin.unrealized_conversion_cast %c, %o : f32, i64 to tuple<f32, i64>
      "fold.yield"(%both) : (tuple<f32, i64>) -> ()
    }) {ctas = 2, rows = 2, slots = 32, lanes = 1, stride = 32, ordered = false, everywhere = true, counted = 32}
      : (i32, i32, i32, i32, i1, tuple<f32, i64>) -> tuple<f32, i64>
    return %ours : tuple<f32, i64>
  }
  // Only the first CTA waits, and there the first warp; neighbouring results go in one store.
  // CHECK-LABEL: func.func @counted_in_the_first_cta
  func.func @counted_in_the_first_cta(
      %rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: vector<4xf32>) -> vector<4xf32> {
    // CHECK:      mbarrier.arrive.expect_tx.shared.b64 state, [$0], 512;
    // CHECK:      scf.if
    // CHECK:        st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [$0], {$1, $2, $3, $4}, [$5];
    // CHECK-NOT:  st.async
    // CHECK:      %{{.*}} = scf.if %{{.*}} -> (vector<4xf32>) {
    // CHECK-NEXT:   llvm.inline_asm {{.*}}mbarrier.try_wait
    // CHECK:      return
    %ours = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "fold.yield"(%c) : (f32) -> ()
    }) {ctas = 2, rows = 2, slots = 32, lanes = 4, stride = 8, ordered = false, counted = 32}
      : (i32, i32, i32, i32, i1, vector<4xf32>) -> vector<4xf32>
    return %ours : vector<4xf32>
  }
}
