// fold.lead: the elements from a boundary to the first element of a result, where rows are read as one.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @of_an_array
func.func @of_an_array(%x: !llvm.ptr<1>, %kept: i32, %stride: i32) -> i32 {
  // Boundaries of eight elements of two bytes: 16 bytes apart.
  // CHECK: "fold.lead"(%{{.*}}, %{{.*}}, %{{.*}}) {bytes = 2 : i64, kept_rank = 1 : i64, lanes = 8 : i64, reduced_rank = 0 : i64} : (!llvm.ptr<1>, i32, i32) -> i32
  %lead = "fold.lead"(%x, %kept, %stride) {kept_rank = 1, reduced_rank = 0, lanes = 8, bytes = 2}
    : (!llvm.ptr<1>, i32, i32) -> i32
  return %lead : i32
}

// CHECK-LABEL: func.func @of_a_middle_axis
func.func @of_a_middle_axis(%x: !llvm.ptr<1>, %kept: i64, %size: i64, %outer: i64, %inner: i64) -> i64 {
  // Two kept dims: the inner one's size, then both strides.
  // CHECK: {bytes = 4 : i64, kept_rank = 2 : i64, lanes = 4 : i64, reduced_rank = 0 : i64} : (!llvm.ptr<1>, i64, i64, i64, i64) -> i64
  %lead = "fold.lead"(%x, %kept, %size, %outer, %inner) {kept_rank = 2, reduced_rank = 0, lanes = 4, bytes = 4}
    : (!llvm.ptr<1>, i64, i64, i64, i64) -> i64
  return %lead : i64
}
