// The CTA stage in memory: the lowering of fold.cta_reduce. A buffer of states, a store by every thread, and rounds of a
// branch and a barrier, which differ by method.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-cta-reduce,canonicalize,cse)' | FileCheck %s

gpu.module @device {
  // Buffers lie beside the kernel, [rows][slots]; an op with scratch has none.
  // CHECK-DAG: llvm.mlir.global internal @states_0() {addr_space = 3 : i32, {{.*}}} : !llvm.array<256 x f32>
  // CHECK-DAG: llvm.mlir.global internal @states_1() {{.*}} : !llvm.array<1024 x f32>
  // CHECK-DAG: llvm.mlir.global internal @states_4() {{.*}} : !llvm.array<8 x f32>
  // CHECK-NOT: @states_5

  // CHECK-LABEL: func.func @interleaved
  // CHECK-SAME:    (%[[POSITION:.*]]: i32, %[[SLOT:.*]]: i32, %[[X:.*]]: f32)
  func.func @interleaved(%position: i32, %slot: i32, %x: f32) -> f32 {
    // CHECK-DAG:  %[[ZERO:.*]] = arith.constant 0 : i32
    // CHECK-DAG:  %[[ONE:.*]] = arith.constant 1 : i32
    // CHECK-DAG:  %[[ROUNDS:.*]] = arith.constant 8 : i32
    // CHECK:      %[[AT:.*]] = arith.addi %[[POSITION]], %[[SLOT]] : i32
    // CHECK-NEXT: %[[OWN:.*]] = llvm.getelementptr %{{.*}}[%[[AT]]]
    // CHECK-NEXT: llvm.store %[[X]], %[[OWN]] {alignment = 4 : i64} : f32, !llvm.ptr<3>
    // CHECK-NEXT: gpu.barrier
    // The rounds are a loop at run time: 256 rows in eight. Distances double.
    // CHECK-NEXT: scf.for %[[ROUND:.*]] = %[[ZERO]] to %[[ROUNDS]] step %[[ONE]]
    // CHECK-NEXT:   %[[DISTANCE:.*]] = arith.shli %[[ONE]], %[[ROUND]] : i32
    // CHECK-NEXT:   %[[TWICE:.*]] = arith.shli %[[DISTANCE]], %[[ONE]] : i32
    // CHECK-NEXT:   %[[MASK:.*]] = arith.subi %[[TWICE]], %[[ONE]] : i32
    // CHECK-NEXT:   %[[REST:.*]] = arith.andi %[[POSITION]], %[[MASK]] : i32
    // The working threads are not neighbours: every warp diverges.
    // CHECK-NEXT:   %[[ON:.*]] = arith.cmpi eq, %[[REST]], %[[ZERO]] : i32
    // CHECK-NEXT:   scf.if %[[ON]] {
    // CHECK-NEXT:     %[[LEFT:.*]] = llvm.load %[[OWN]]
    // CHECK:          %[[RIGHT:.*]] = llvm.load
    // CHECK-NEXT:     %[[BOTH:.*]] = arith.addf %[[LEFT]], %[[RIGHT]] : f32
    // CHECK-NEXT:     llvm.store %[[BOTH]], %[[OWN]]
    // CHECK-NEXT:   }
    // The barrier is outside the branch: all threads reach it.
    // CHECK-NEXT:   gpu.barrier
    // CHECK-NEXT: }
    // The first row holds the result, which all threads read.
    // CHECK-NEXT: %[[FIRST:.*]] = llvm.getelementptr %{{.*}}[%[[SLOT]]]
    // CHECK-NEXT: %[[OURS:.*]] = llvm.load %[[FIRST]]
    // CHECK-NEXT: return %[[OURS]]
    %ours = "fold.cta_reduce"(%position, %slot, %x) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "fold.yield"(%c) : (f32) -> ()
    }) {method = "interleaved", rows = 256, lanes = 32, slots = 1, ordered = true} : (i32, i32, f32) -> f32
    return %ours : f32
  }

  // Four results a thread: rows of 32 slots, so that neighbouring results lie in neighbouring banks.
  // CHECK-LABEL: func.func @sequential
  // CHECK-SAME:    (%[[POSITION:[a-z0-9]*]]: i32,
  func.func @sequential(%position: i32, %slot: i32, %x: vector<4xf32>) -> vector<4xf32> {
    // CHECK-DAG:  %[[HALF:.*]] = arith.constant 16 : i32
    // CHECK-DAG:  %[[SLOTS:.*]] = arith.constant 32 : i32
    // CHECK:      arith.muli %[[POSITION]], %[[SLOTS]] : i32
    // CHECK:      llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
    // Distances halve, and the working threads fill whole warps.
    // CHECK:      scf.for %[[ROUND:.*]] =
    // CHECK-NEXT:   %[[DISTANCE:.*]] = arith.shrui %[[HALF]], %[[ROUND]] : i32
    // CHECK-NEXT:   %[[ON:.*]] = arith.cmpi ult, %[[POSITION]], %[[DISTANCE]] : i32
    // CHECK-NEXT:   scf.if %[[ON]] {
    // CHECK:          arith.addf %{{.*}}, %{{.*}} : vector<4xf32>
    // CHECK-NEXT:     llvm.store
    // CHECK-NEXT:   }
    // CHECK-NEXT:   gpu.barrier
    %ours = "fold.cta_reduce"(%position, %slot, %x) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "fold.yield"(%c) : (f32) -> ()
    }) {method = "sequential", rows = 32, lanes = 4, slots = 32, ordered = false} : (i32, i32, vector<4xf32>) -> vector<4xf32>
    return %ours : vector<4xf32>
  }

  // The rows that are combined are half the rows apart: if the order counts, they must hold neighbours.
  // CHECK-LABEL: func.func @in_order
  // CHECK-SAME:    (%[[POSITION:.*]]: i32, %[[SLOT:.*]]: i32, %[[X:.*]]: f32)
  func.func @in_order(%position: i32, %slot: i32, %x: f32) -> f32 {
    // Eight bits of a position number 256 rows.
    // CHECK-DAG:  %[[REST:.*]] = arith.constant 24 : i32
    // CHECK:      %[[BITS:.*]] = llvm.intr.bitreverse(%[[POSITION]]) : (i32) -> i32
    // CHECK-NEXT: %[[ROW:.*]] = arith.shrui %[[BITS]], %[[REST]] : i32
    // CHECK-NEXT: %[[AT:.*]] = arith.addi %[[ROW]], %[[SLOT]] : i32
    // CHECK-NEXT: %[[WHERE:.*]] = llvm.getelementptr %{{.*}}[%[[AT]]]
    // CHECK-NEXT: llvm.store %[[X]], %[[WHERE]]
    %ours = "fold.cta_reduce"(%position, %slot, %x) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "fold.yield"(%c) : (f32) -> ()
    }) {method = "sequential", rows = 256, lanes = 32, slots = 1, ordered = true} : (i32, i32, f32) -> f32
    return %ours : f32
  }

  // CHECK-LABEL: func.func @warp_sync
  // CHECK-SAME:    (%[[POSITION:.*]]: i32, %[[SLOT:.*]]: i32, %[[X:.*]]: f32)
  func.func @warp_sync(%position: i32, %slot: i32, %x: f32) -> f32 {
    // CHECK-DAG:  %[[ALL:.*]] = arith.constant -1 : i32
    // CHECK-DAG:  %[[WARP:.*]] = arith.constant 32 : i32
    // CHECK-DAG:  %[[ROUNDS:.*]] = arith.constant 3 : i32
    // CHECK-DAG:  %[[LAST_ROUNDS:.*]] = arith.constant 5 : i32
    // Distances 128, 64 and 32 with the whole CTA.
    // CHECK:      scf.for {{.*}} to %[[ROUNDS]]
    // CHECK:        gpu.barrier
    // CHECK-NEXT: }
    // Then the first warp alone, without waiting for other warps.
    // CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi ult, %[[POSITION]], %[[WARP]] : i32
    // CHECK-NEXT: %[[OURS:.*]] = scf.if %[[FIRST]] -> (f32) {
    // CHECK-NEXT:   scf.for {{.*}} to %[[LAST_ROUNDS]]
    // CHECK-NOT:    gpu.barrier
    // CHECK:          nvvm.bar.warp.sync %[[ALL]] : i32
    // CHECK-NEXT:   }
    // CHECK:        %[[RESULT:.*]] = llvm.load
    // CHECK-NEXT:   scf.yield %[[RESULT]] : f32
    // CHECK-NEXT: } else {
    // CHECK-NEXT:   scf.yield %[[X]] : f32
    // CHECK-NEXT: }
    // CHECK-NEXT: return %[[OURS]]
    %ours = "fold.cta_reduce"(%position, %slot, %x) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "fold.yield"(%c) : (f32) -> ()
    }) {method = "warp_sync", rows = 256, lanes = 32, slots = 1, ordered = false} : (i32, i32, f32) -> f32
    return %ours : f32
  }

  // CHECK-LABEL: func.func @unrolled
  // CHECK-SAME:    (%[[POSITION:[a-z0-9]*]]: i32,
  func.func @unrolled(%position: i32, %slot: i32, %x: f32) -> f32 {
    // Four lanes of each of two warps: one round of the CTA at distance 4, two of a warp at 2 and 1. No loop.
    // CHECK-DAG:  %[[FOUR:.*]] = arith.constant 4 : i32
    // CHECK-DAG:  %[[TWO:.*]] = arith.constant 2 : i32
    // CHECK-DAG:  %[[ONE:.*]] = arith.constant 1 : i32
    // CHECK-NOT:  scf.for
    // CHECK:      arith.cmpi ult, %[[POSITION]], %[[FOUR]] : i32
    // CHECK:      gpu.barrier
    // CHECK:      arith.cmpi ult, %[[POSITION]], %[[TWO]] : i32
    // CHECK:      nvvm.bar.warp.sync
    // CHECK:      arith.cmpi ult, %[[POSITION]], %[[ONE]] : i32
    // CHECK:      nvvm.bar.warp.sync
    // CHECK-NOT:  scf.for
    // CHECK:      return
    %ours = "fold.cta_reduce"(%position, %slot, %x) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "fold.yield"(%c) : (f32) -> ()
    }) {method = "unrolled", rows = 8, lanes = 4, slots = 1, ordered = false} : (i32, i32, f32) -> f32
    return %ours : f32
  }

  // CHECK-LABEL: func.func @in_global_memory
  // CHECK-SAME:    %[[FLAGS:[a-z0-9]*]]: !llvm.ptr<1>, %[[PLACES:[a-z0-9]*]]: !llvm.ptr<1>)
  func.func @in_global_memory(
      %position: i32, %slot: i32, %x: tuple<i1, i64>, %flags: !llvm.ptr<1>, %places: !llvm.ptr<1>) -> tuple<i1, i64> {
    // Every CTA has rows x slots elements of its own; offsets have 64 bits, since there may be many CTAs.
    // CHECK-DAG:  %[[CELLS:.*]] = arith.constant 32 : i64
    // CHECK:      %[[BEFORE:.*]] = arith.muli %{{.*}}, %{{.*}} : i64
    // CHECK:      %[[CTA:.*]] = arith.addi %[[BEFORE]], %{{.*}} : i64
    // CHECK-NEXT: %[[START:.*]] = arith.muli %[[CTA]], %[[CELLS]] : i64
    // A truth value takes a byte.
    // CHECK-NEXT: %[[OWN_FLAGS:.*]] = llvm.getelementptr %[[FLAGS]][%[[START]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    // CHECK-NEXT: %[[OWN_PLACES:.*]] = llvm.getelementptr %[[PLACES]][%[[START]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i64
    // CHECK:      gpu.barrier
    // Loads are plain: what other threads wrote must not come from the read-only cache.
    // CHECK:      llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %ours = "fold.cta_reduce"(%position, %slot, %x, %flags, %places) ({
    ^bb0(%a: i1, %i: i64, %b: i1, %j: i64):
      %either = arith.ori %a, %b : i1
      %least = arith.minsi %i, %j : i64
      %state = builtin.unrealized_conversion_cast %either, %least : i1, i64 to tuple<i1, i64>
      "fold.yield"(%state) : (tuple<i1, i64>) -> ()
    }) {method = "serial", rows = 32, lanes = 32, slots = 1, ordered = true}
      : (i32, i32, tuple<i1, i64>, !llvm.ptr<1>, !llvm.ptr<1>) -> tuple<i1, i64>
    return %ours : tuple<i1, i64>
  }
}
