// fold.tile_reserve: shared memory for a run of an array that the CTA is going to write.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @rows_of_floats
func.func @rows_of_floats(%y: !llvm.ptr<1>, %begin: i32) -> (!llvm.ptr<3>, i32) {
  // The run begins with element begin. Element i of the array is going to be element i - origin of the tile.
  // CHECK:      %{{.*}}:2 = "fold.tile_reserve"
  // CHECK-SAME: {bytes = 16384 : i64, item = 4 : i64}
  // CHECK-SAME: (!llvm.ptr<1>, i32) -> (!llvm.ptr<3>, i32)
  %tile, %origin = "fold.tile_reserve"(%y, %begin) {item = 4, bytes = 16384} : (!llvm.ptr<1>, i32) -> (!llvm.ptr<3>, i32)
  return %tile, %origin : !llvm.ptr<3>, i32
}

// CHECK-LABEL: func.func @bytes_of_a_large_array
func.func @bytes_of_a_large_array(%y: !llvm.ptr<1>, %begin: i64) -> i64 {
  // The origin has the type of the indices.
  // CHECK: (!llvm.ptr<1>, i64) -> (!llvm.ptr<3>, i64)
  %tile, %origin = "fold.tile_reserve"(%y, %begin) {item = 1, bytes = 1024} : (!llvm.ptr<1>, i64) -> (!llvm.ptr<3>, i64)
  return %origin : i64
}

// CHECK-LABEL: func.func @a_large_tile
func.func @a_large_tile(%y: !llvm.ptr<1>, %begin: i32) -> (!llvm.ptr<3>, i32) {
  // The tile is at the begin of dynamic shared memory.
  // CHECK:      "fold.tile_reserve"
  // CHECK-SAME: dynamic = 0 : i64
  %tile, %origin = "fold.tile_reserve"(%y, %begin) {item = 4, bytes = 65536, dynamic = 0}
    : (!llvm.ptr<1>, i32) -> (!llvm.ptr<3>, i32)
  return %tile, %origin : !llvm.ptr<3>, i32
}
