// The grid stage: the lowering of fold.grid_finish, for each of the three ways to combine the states of CTAs.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-grid-finish,canonicalize,cse)' | FileCheck %s

gpu.module @device {
  // The ticket, for all threads of the CTA.
  // CHECK: llvm.mlir.global internal @ticket_0() {addr_space = 3 : i32, {{.*}}} : !llvm.array<1 x i32>

  // CHECK-LABEL: func.func @last_block
  // CHECK-SAME:    (%[[PART:.*]]: i32, %[[PARTS:.*]]: i32, %[[KEPT:.*]]: i32, %[[N_KEPT:.*]]: i32, %[[ON:.*]]: i1, %[[X:.*]]: vector<2xf32>, %[[PARTIALS:.*]]: !llvm.ptr<1>, %[[COUNTER:.*]]: !llvm.ptr<1>, %[[OUT:.*]]: !llvm.ptr<1>)
  func.func @last_block(%part: i32, %parts: i32, %kept: i32, %n_kept: i32, %on: i1, %x: vector<2xf32>,
                        %partials: !llvm.ptr<1>, %counter: !llvm.ptr<1>, %out: !llvm.ptr<1>) {
    // 1. The owners leave their states at partials[part][kept].
    // CHECK:      scf.if %[[ON]] {
    // CHECK-NEXT:   %[[ROW:.*]] = arith.muli %[[PART]], %[[N_KEPT]] : i32
    // CHECK-NEXT:   %[[AT:.*]] = arith.addi %[[ROW]], %[[KEPT]] : i32
    // CHECK-NEXT:   %[[CELL:.*]] = llvm.getelementptr %[[PARTIALS]][%[[AT]]]
    // CHECK-NEXT:   llvm.store %[[X]], %[[CELL]] {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr<1>
    // CHECK-NEXT: }
    // 2. The barrier: all threads have stored their states.
    // CHECK-NEXT: gpu.barrier
    // 3. One thread takes a ticket of its tile: 0, 1, ..., parts - 1, and then 0 again, so that the counter is as it was.
    // Its release makes visible to the device what the barrier made visible to this thread; its acquire, what other CTAs
    // released. No thread needs a fence of its own.
    // CHECK:      %[[LEADER:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32 : i32
    // CHECK-NEXT: %[[LAST:.*]] = arith.subi %[[PARTS]], %c1_i32 : i32
    // CHECK-NEXT: scf.if %[[LEADER]] {
    // CHECK:        %[[TICKET:.*]] = llvm.atomicrmw uinc_wrap %{{.*}}, %[[LAST]] syncscope("device") acq_rel
    // CHECK-NEXT:   llvm.store %[[TICKET]], %[[FLAG:.*]] {alignment = 4 : i64} : i32, !llvm.ptr<3>
    // CHECK-NEXT: }
    // 4. All threads of the CTA read it, after a barrier, and the CTA with the last ticket goes on.
    // CHECK-NEXT: gpu.barrier
    // CHECK-NEXT: %[[READ:.*]] = llvm.load %[[FLAG]]
    // CHECK-NEXT: %[[MINE:.*]] = arith.cmpi eq, %[[READ]], %[[LAST]] : i32
    // CHECK-NEXT: scf.if %[[MINE]] {
    // CHECK-NEXT:   llvm.store %[[X]], %[[OUT]]
    // CHECK-NEXT: }
    "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %x, %partials, %counter) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "fold.yield"(%c) : (f32) -> ()
    }, {
      llvm.store %x, %out : vector<2xf32>, !llvm.ptr<1>
      "fold.yield"() : () -> ()
    }) {finish = "last_block"} : (i32, i32, i32, i32, i1, vector<2xf32>, !llvm.ptr<1>, !llvm.ptr<1>) -> ()
    return
  }
}

// Two kernels: the states are stored, one array for each value, and the end of the kernel orders them.
// CHECK-LABEL: func.func @two_kernels
func.func @two_kernels(%part: i64, %parts: i64, %kept: i64, %n_kept: i64, %on: i1, %x: tuple<f32, i64>,
                       %values: !llvm.ptr<1>, %indices: !llvm.ptr<1>) {
  // CHECK:     scf.if
  // CHECK:       llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
  // CHECK:       llvm.store %{{.*}}, %{{.*}} {alignment = 8 : i64} : i64, !llvm.ptr<1>
  // CHECK-NOT: llvm.fence
  // CHECK-NOT: gpu.barrier
  // CHECK-NOT: llvm.atomicrmw
  // CHECK:     return
  "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %x, %values, %indices) ({
  ^bb0(%v: f32, %i: i64, %w: f32, %j: i64):
    %c = builtin.unrealized_conversion_cast %v, %i : f32, i64 to tuple<f32, i64>
    "fold.yield"(%c) : (tuple<f32, i64>) -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "two_kernels"} : (i64, i64, i64, i64, i1, tuple<f32, i64>, !llvm.ptr<1>, !llvm.ptr<1>) -> ()
  return
}

// A float sum by atomics: the order is not fixed, so the planner allows it only if the bits need not be fixed.
// CHECK-LABEL: func.func @float_atomic
func.func @float_atomic(%part: i32, %on: i1, %x: f64, %cells: !llvm.ptr<1>) {
  // CHECK: llvm.atomicrmw fadd %{{.*}}, %{{.*}} syncscope("device") monotonic {alignment = 8 : i64} : !llvm.ptr<1>, f64
  "fold.grid_finish"(%part, %part, %part, %part, %on, %x, %cells) ({
  ^bb0(%a: f64, %b: f64):
    %c = arith.addf %a, %b : f64
    "fold.yield"(%c) : (f64) -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "atomic"} : (i32, i32, i32, i32, i1, f64, !llvm.ptr<1>) -> ()
  return
}

// An atomic: for integers any order gives the same bits. Each element of a fragment is a cell of its own.
// CHECK-LABEL: func.func @atomic
func.func @atomic(%part: i32, %parts: i32, %kept: i32, %n_kept: i32, %on: i1, %x: vector<2xi32>, %cells: !llvm.ptr<1>) {
  // CHECK:     scf.if
  // CHECK:       llvm.atomicrmw umax %{{.*}}, %{{.*}} syncscope("device") monotonic {alignment = 4 : i64}
  // CHECK:       llvm.atomicrmw umax %{{.*}}, %{{.*}} syncscope("device") monotonic {alignment = 4 : i64}
  // CHECK-NOT: llvm.atomicrmw
  // CHECK:     return
  "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %x, %cells) ({
  ^bb0(%a: i32, %b: i32):
    %c = arith.maxui %a, %b : i32
    "fold.yield"(%c) : (i32) -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "atomic"} : (i32, i32, i32, i32, i1, vector<2xi32>, !llvm.ptr<1>) -> ()
  return
}
