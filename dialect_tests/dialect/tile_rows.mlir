// fold.tile_rows: a part of each of some rows, copied from a boundary of its own on.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @copied
func.func @copied(%x: !llvm.ptr<1>, %first: i32, %count: i32, %begin: i32, %end: i32, %stride: i32, %extent: i32, %thread: i32) -> !llvm.ptr<3> {
  // CHECK: "fold.tile_rows"(%{{.*}}) {item = 2 : i64, length = 64 : i64, parts = 271 : i64, skew = 8 : i64, threads = 512 : i64}
  %copy = "fold.tile_rows"(%x, %first, %count, %begin, %end, %stride, %extent, %thread) {item = 2, parts = 271, length = 64, skew = 8, threads = 512} : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return %copy : !llvm.ptr<3>
}
