// fold.tile_write: all threads of a CTA write a run of an array that lies in shared memory.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @rows_of_floats
func.func @rows_of_floats(%tile: !llvm.ptr<3>, %origin: i32, %y: !llvm.ptr<1>, %begin: i32, %length: i32, %thread: i32) {
  // Element i of the array is element i - origin of the tile. The run has length elements, from begin on.
  // CHECK:      "fold.tile_write"
  // CHECK-SAME: {item = 4 : i64, threads = 128 : i64}
  // CHECK-SAME: (!llvm.ptr<3>, i32, !llvm.ptr<1>, i32, i32, i32) -> ()
  "fold.tile_write"(%tile, %origin, %y, %begin, %length, %thread) {item = 4, threads = 128}
    : (!llvm.ptr<3>, i32, !llvm.ptr<1>, i32, i32, i32) -> ()
  return
}
