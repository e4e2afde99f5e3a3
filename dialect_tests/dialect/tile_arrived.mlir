// fold.tile_arrived: waits until the copies to places are there that the thread has begun, but for the last ones.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @one_of_three
func.func @one_of_three(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32, %place: i32) -> i32 {
  // The copy lies behind so many others of 1024 bytes, the first of which begins at byte 2048.
  // CHECK:      "fold.tile_copy"
  // CHECK-SAME: {bytes = 1024 : i64, dynamic = 2048 : i64, item = 4 : i64, own = true, threads = 64 : i64}
  // CHECK-SAME: (!llvm.ptr<1>, i32, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  %copy, %origin = "fold.tile_copy"(%x, %begin, %length, %extent, %thread, %place)
    {item = 4, bytes = 1024, threads = 64, own = true, dynamic = 2048}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  // CHECK: "fold.tile_arrived"() {later = 2 : i64}
  "fold.tile_arrived"() {later = 2} : () -> ()
  // What was copied there before is found again without a copy.
  // CHECK:      "fold.tile_reserve"
  // CHECK-SAME: (!llvm.ptr<1>, i32, i32) -> (!llvm.ptr<3>, i32)
  %again, %found = "fold.tile_reserve"(%x, %begin, %place) {item = 4, bytes = 1024, dynamic = 2048}
    : (!llvm.ptr<1>, i32, i32) -> (!llvm.ptr<3>, i32)
  return %found : i32
}
