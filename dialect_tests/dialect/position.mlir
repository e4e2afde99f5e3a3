// fold.position: fold.iota after distribute, the caller's number of each element of a fragment. The walk may follow the
// dims in another order than the caller's; the strides restore the caller's numbers.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @along_a_row
func.func @along_a_row(%k: i32, %r: i32, %base: i32, %stride: i32) -> vector<4xi64> {
  // number = base + r * stride; a row walked backwards has base = n - 1 and stride = -1.
  // CHECK: "fold.position"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {axis = "reduced", kept_rank = 0 : i64, reduced_rank = 1 : i64} : (i32, i32, i32, i32) -> vector<4xi64>
  %i = "fold.position"(%k, %r, %base, %stride) {kept_rank = 0, reduced_rank = 1, axis = "reduced"} : (i32, i32, i32, i32) -> vector<4xi64>
  return %i : vector<4xi64>
}

// CHECK-LABEL: func.func @over_two_dims
func.func @over_two_dims(%k: i64, %r: i64, %base: i64, %size: i64, %outer: i64, %inner: i64) -> i32 {
  // Two reduced dims: the inner one's size, then both index strides. Along the kept axis all elements of a fragment
  // have one number.
  // CHECK: {axis = "kept", kept_rank = 0 : i64, reduced_rank = 2 : i64} : (i64, i64, i64, i64, i64, i64) -> i32
  %i = "fold.position"(%k, %r, %base, %size, %outer, %inner) {kept_rank = 0, reduced_rank = 2, axis = "kept"}
    : (i64, i64, i64, i64, i64, i64) -> i32
  return %i : i32
}

// CHECK-LABEL: func.func @along_both_axes
func.func @along_both_axes(%k: i32, %r: i32, %base: i32, %size: i32, %s: i32, %t: i32, %u: i32) -> vector<2xi32> {
  // As for a load: sizes of the kept dims without the outermost, the reduced ones alike, then the strides of both.
  // CHECK: {axis = "kept", kept_rank = 2 : i64, reduced_rank = 1 : i64} : (i32, i32, i32, i32, i32, i32, i32) -> vector<2xi32>
  %i = "fold.position"(%k, %r, %base, %size, %s, %t, %u) {kept_rank = 2, reduced_rank = 1, axis = "kept"}
    : (i32, i32, i32, i32, i32, i32, i32) -> vector<2xi32>
  return %i : vector<2xi32>
}
