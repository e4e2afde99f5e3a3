// fold.tile_copy: the copy to shared memory. Before the threads of a CTA reduce its results, all of them copy the run of
// memory that holds the elements; loads with the access tile then read them there.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @rows_of_floats
func.func @rows_of_floats(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32)
    -> (!llvm.ptr<3>, i32) {
  // The elements from begin to begin + length of the array, but none from its extent on. The copy begins where an aligned
  // access does, so it has an origin: element i of the array is element i - origin of the copy.
  // CHECK:      %{{.*}}:2 = "fold.tile_copy"
  // CHECK-SAME: {bytes = 16384 : i64, item = 4 : i64, threads = 256 : i64}
  // CHECK-SAME: (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  %copy, %origin = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 4, bytes = 16384, threads = 256}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  return %copy, %origin : !llvm.ptr<3>, i32
}

// CHECK-LABEL: func.func @bytes_of_a_large_array
func.func @bytes_of_a_large_array(%x: !llvm.ptr<1>, %begin: i64, %length: i64, %extent: i64, %thread: i64) -> i64 {
  // Only the size of an element counts, not its type. The origin has the type of the indices.
  // CHECK:      "fold.tile_copy"
  // CHECK-SAME: (!llvm.ptr<1>, i64, i64, i64, i64) -> (!llvm.ptr<3>, i64)
  %copy, %origin = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 1, bytes = 1024, threads = 32}
    : (!llvm.ptr<1>, i64, i64, i64, i64) -> (!llvm.ptr<3>, i64)
  return %origin : i64
}

// CHECK-LABEL: func.func @vectors_of_halves
func.func @vectors_of_halves(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32)
    -> (!llvm.ptr<3>, i32) {
  // Vectors are taken out of the words around them, which reach beyond the last element: `beyond` more bytes can be read.
  // CHECK:      "fold.tile_copy"
  // CHECK-SAME: {beyond = 32 : i64, bytes = 16384 : i64, item = 2 : i64, threads = 256 : i64}
  %copy, %origin = "fold.tile_copy"(%x, %begin, %length, %extent, %thread)
    {item = 2, bytes = 16384, threads = 256, beyond = 32}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  return %copy, %origin : !llvm.ptr<3>, i32
}

// CHECK-LABEL: func.func @rows_of_its_own
func.func @rows_of_its_own(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32)
    -> (!llvm.ptr<3>, i32) {
  // Other CTAs may write what lies beside the run, which is not read then.
  // CHECK:      "fold.tile_copy"
  // CHECK-SAME: own = true
  %copy, %origin = "fold.tile_copy"(%x, %begin, %length, %extent, %thread)
    {item = 2, bytes = 16384, threads = 256, own = true}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  return %copy, %origin : !llvm.ptr<3>, i32
}

// CHECK-LABEL: func.func @a_large_tile
func.func @a_large_tile(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32)
    -> (!llvm.ptr<3>, i32) {
  // The copy lies in dynamic shared memory, behind 32 KiB of another one.
  // CHECK:      "fold.tile_copy"
  // CHECK-SAME: dynamic = 32768 : i64
  %copy, %origin = "fold.tile_copy"(%x, %begin, %length, %extent, %thread)
    {item = 2, bytes = 32768, threads = 256, own = true, dynamic = 32768}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  return %copy, %origin : !llvm.ptr<3>, i32
}
