// The warp stage, first half: the lowering of fold.shared_store. A buffer in shared memory for each value of the state, a
// store by the lanes that are on, and a barrier.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-shared-store,canonicalize,cse)' | FileCheck %s

gpu.module @device {
  // Buffers lie beside the kernel: [rows][slots], here 8 x 128 floats. Every op has its own.
  // CHECK-DAG: llvm.mlir.global internal @partials_0() {addr_space = 3 : i32, {{.*}}} : !llvm.array<1024 x f32>
  // CHECK-DAG: llvm.mlir.global internal @partials_1() {{.*}} : !llvm.array<264 x f32>
  // CHECK-DAG: llvm.mlir.global internal @partials_2() {{.*}} : !llvm.array<8 x f32>
  // CHECK-DAG: llvm.mlir.global internal @partials_3() {{.*}} : !llvm.array<8 x i64>

  // An i1 takes a byte in memory.
  // CHECK-DAG: llvm.mlir.global internal @partials_4() {{.*}} : !llvm.array<2 x i8>

  // Four results a thread go out in one 16-byte store. Neighbouring lanes write neighbouring slots, so a warp's store
  // meets every bank equally often.
  // CHECK-LABEL: func.func @four_results_a_thread
  // CHECK-SAME:    (%[[WARP:.*]]: i32, %[[SLOT:.*]]: i32, %[[ON:.*]]: i1, %[[X:.*]]: vector<4xf32>)
  func.func @four_results_a_thread(%warp: i32, %slot: i32, %on: i1, %x: vector<4xf32>) -> !llvm.ptr<3> {
    // CHECK:      %[[BUFFER:.*]] = llvm.mlir.addressof @partials_0 : !llvm.ptr<3>
    // CHECK-NEXT: scf.if %[[ON]] {
    // CHECK-NEXT:   %[[ROW:.*]] = arith.muli %[[WARP]], %c128_i32 : i32
    // CHECK-NEXT:   %[[AT:.*]] = arith.addi %[[ROW]], %[[SLOT]] : i32
    // CHECK-NEXT:   %[[WHERE:.*]] = llvm.getelementptr %[[BUFFER]][%[[AT]]] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    // CHECK-NEXT:   llvm.store %[[X]], %[[WHERE]] {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
    // CHECK-NEXT: }
    // The barrier is outside the branch: all threads reach it.
    // CHECK-NEXT: gpu.barrier
    // CHECK-NEXT: return %[[BUFFER]]
    %b = "fold.shared_store"(%warp, %slot, %on, %x) {rows = 8, slots = 128}
      : (i32, i32, i1, vector<4xf32>) -> !llvm.ptr<3>
    return %b : !llvm.ptr<3>
  }

  // Staggered warps store their states by elements, since their addresses are not multiples of 16 bytes.
  // CHECK-LABEL: func.func @apart
  // CHECK-SAME:    (%[[WARP:.*]]: i32, %[[SLOT:.*]]: i32, %[[ON:.*]]: i1, %[[X:.*]]: vector<2xf32>)
  func.func @apart(%warp: i32, %slot: i32, %on: i1, %x: vector<2xf32>) -> !llvm.ptr<3> {
    // CHECK:      scf.if %[[ON]] {
    // CHECK:        %[[AT:.*]] = arith.addi %{{.*}}, %[[SLOT]] : i32
    // CHECK-NEXT:   %[[FIRST:.*]] = vector.extract %[[X]][0] : f32 from vector<2xf32>
    // CHECK-NEXT:   %[[SECOND:.*]] = vector.extract %[[X]][1] : f32 from vector<2xf32>
    // CHECK-NEXT:   %[[WHERE:.*]] = llvm.getelementptr %{{.*}}[%[[AT]]]
    // CHECK-NEXT:   llvm.store %[[FIRST]], %[[WHERE]] {alignment = 4 : i64} : f32, !llvm.ptr<3>
    // CHECK-NEXT:   %[[NEXT:.*]] = arith.addi %[[AT]], %c1_i32 : i32
    // CHECK-NEXT:   %[[THERE:.*]] = llvm.getelementptr %{{.*}}[%[[NEXT]]]
    // CHECK-NEXT:   llvm.store %[[SECOND]], %[[THERE]] {alignment = 4 : i64} : f32, !llvm.ptr<3>
    // CHECK-NEXT: }
    // CHECK-NEXT: gpu.barrier
    %b = "fold.shared_store"(%warp, %slot, %on, %x) {rows = 4, slots = 66, apart}
      : (i32, i32, i1, vector<2xf32>) -> !llvm.ptr<3>
    return %b : !llvm.ptr<3>
  }

  // CHECK-LABEL: func.func @value_and_index
  func.func @value_and_index(
      %warp: i64, %slot: i64, %on: i1, %x: tuple<f32, i64>) -> (!llvm.ptr<3>, !llvm.ptr<3>) {
    // Two buffers, one barrier.
    // CHECK:     scf.if
    // CHECK:       llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
    // CHECK:       llvm.store %{{.*}}, %{{.*}} {alignment = 8 : i64} : i64, !llvm.ptr<3>
    // CHECK:     }
    // CHECK:     gpu.barrier
    // CHECK-NOT: gpu.barrier
    // CHECK:     return
    %b:2 = "fold.shared_store"(%warp, %slot, %on, %x) {rows = 4, slots = 2}
      : (i64, i64, i1, tuple<f32, i64>) -> (!llvm.ptr<3>, !llvm.ptr<3>)
    return %b#0, %b#1 : !llvm.ptr<3>, !llvm.ptr<3>
  }

  // CHECK-LABEL: func.func @predicate
  func.func @predicate(%warp: i32, %slot: i32, %on: i1, %x: i1) -> !llvm.ptr<3> {
    // CHECK: %[[BYTE:.*]] = arith.extui %{{.*}} : i1 to i8
    // CHECK: llvm.store %[[BYTE]], %{{.*}} {alignment = 1 : i64} : i8, !llvm.ptr<3>
    %b = "fold.shared_store"(%warp, %slot, %on, %x) {rows = 2, slots = 1} : (i32, i32, i1, i1) -> !llvm.ptr<3>
    return %b : !llvm.ptr<3>
  }
}
