// The way of results through shared memory: the lowering of fold.tile_reserve and fold.tile_write. All threads write the
// accesses of 16 bytes that lie in the run as a whole, and single elements before and behind these.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-tile-write,canonicalize,cse)' | FileCheck %s

gpu.module @device {
  // CHECK: llvm.mlir.global internal @results_0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<512 x i32>

  // CHECK-LABEL: func.func @halves
  // CHECK-SAME:    (%[[Y:.*]]: !llvm.ptr<1>, %[[BEGIN:.*]]: i32, %[[LENGTH:.*]]: i32, %[[THREAD:.*]]: i32)
  func.func @halves(%y: !llvm.ptr<1>, %begin: i32, %length: i32, %thread: i32) {
    // The room begins at a boundary, and the run in it as far behind one as in the array. The tile is address 0 of shared
    // memory, and the origin the index of the element that would lie there.
    // CHECK:      %[[SHARED:.*]] = llvm.mlir.zero : !llvm.ptr<3>
    // CHECK:      %[[ROOM:.*]] = llvm.ptrtoint %{{.*}} : !llvm.ptr<3> to i32
    // CHECK:      %[[BEFORE:.*]] = arith.shrui %[[ROOM]], %c1_i32
    // CHECK:      %[[BYTES:.*]] = arith.andi %{{.*}}, %c15_i32
    // CHECK-NEXT: %[[LEAD:.*]] = arith.shrui %[[BYTES]], %c1_i32
    // CHECK-NEXT: %[[FIRST:.*]] = arith.subi %[[BEGIN]], %[[LEAD]]
    // CHECK-NEXT: %[[ORIGIN:.*]] = arith.subi %[[FIRST]], %[[BEFORE]]
    %tile, %origin = "fold.tile_reserve"(%y, %begin) {item = 2, bytes = 2048} : (!llvm.ptr<1>, i32) -> (!llvm.ptr<3>, i32)
    // CHECK:      gpu.barrier
    gpu.barrier
    // The elements up to the next boundary, or fewer in a short run; then whole accesses of eight elements; then the rest.
    // CHECK:      %[[UP:.*]] = arith.subi %c0_i32, %[[LEAD]]
    // CHECK-NEXT: %[[TO_BOUNDARY:.*]] = arith.andi %[[UP]], %c7_i32
    // CHECK-NEXT: %[[FRONT:.*]] = arith.minsi %[[TO_BOUNDARY]], %[[LENGTH]]
    // CHECK-NEXT: %[[LEFT:.*]] = arith.subi %[[LENGTH]], %[[FRONT]]
    // CHECK-NEXT: %[[COUNT:.*]] = arith.shrui %[[LEFT]], %c3_i32
    // CHECK:      %[[REST:.*]] = arith.andi %[[LEFT]], %c7_i32
    // CHECK-NEXT: %[[OF_FRONT:.*]] = arith.cmpi slt, %[[THREAD]], %[[FRONT]]
    // CHECK-NEXT: scf.if %[[OF_FRONT]] {
    // CHECK:        llvm.load %{{.*}} : !llvm.ptr<3> -> i16
    // CHECK:        llvm.store %{{.*}} : i16, !llvm.ptr<1>
    // CHECK:      %[[OF_REST:.*]] = arith.cmpi slt, %[[THREAD]], %[[REST]]
    // CHECK-NEXT: scf.if %[[OF_REST]] {
    // CHECK:        llvm.store %{{.*}} : i16, !llvm.ptr<1>
    // CHECK:      scf.for %{{.*}} = %[[THREAD]] to %[[COUNT]] step %c64_i32
    // CHECK:        llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
    // CHECK:        llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    "fold.tile_write"(%tile, %origin, %y, %begin, %length, %thread) {item = 2, threads = 64}
      : (!llvm.ptr<3>, i32, !llvm.ptr<1>, i32, i32, i32) -> ()
    return
  }

  // An element as long as an access: there is nothing before a boundary, and nothing is left.
  // CHECK-LABEL: func.func @wide_elements
  // CHECK-NOT:     scf.if
  // CHECK:         scf.for
  func.func @wide_elements(%tile: !llvm.ptr<3>, %origin: i32, %y: !llvm.ptr<1>, %begin: i32, %length: i32, %thread: i32) {
    "fold.tile_write"(%tile, %origin, %y, %begin, %length, %thread) {item = 16, threads = 64}
      : (!llvm.ptr<3>, i32, !llvm.ptr<1>, i32, i32, i32) -> ()
    return
  }
}
