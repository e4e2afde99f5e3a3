// fold.gather_load: elements at indices along one more axis of an array. An element whose index is not in [0, size) is 0,
// and nothing is read for it.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @one_a_row
func.func @one_a_row(%x: !llvm.ptr<1>, %kept: i32, %zero: i32, %one: i32, %i: i64, %size: i32, %stride: i32, %row: i32)
    -> f32 {
  // Operands: base, flat kept index, flat reduced index, the bounds of the row; the index, the size and the stride of
  // the axis; then the layout, here of the kept dims alone.
  // CHECK:      "fold.gather_load"
  // CHECK-SAME: {axis = "kept", kept_rank = 1 : i64, reduced_rank = 0 : i64}
  // CHECK-SAME: (!llvm.ptr<1>, i32, i32, i32, i32, i64, i32, i32, i32) -> f32
  %v = "fold.gather_load"(%x, %kept, %zero, %zero, %one, %i, %size, %stride, %row)
    {kept_rank = 1, reduced_rank = 0, axis = "kept"}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i64, i32, i32, i32) -> f32
  return %v : f32
}

// CHECK-LABEL: func.func @two_of_a_row
func.func @two_of_a_row(%x: !llvm.ptr<1>, %kept: i32, %r: i32, %first: i32, %end: i32, %i: vector<2xi64>, %size: i32,
    %stride: i32, %row: i32, %one: i32) -> vector<2xbf16> {
  // An index for each element of the fragment.
  // CHECK: (!llvm.ptr<1>, i32, i32, i32, i32, vector<2xi64>, i32, i32, i32, i32) -> vector<2xbf16>
  %v = "fold.gather_load"(%x, %kept, %r, %first, %end, %i, %size, %stride, %row, %one)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced"}
    : (!llvm.ptr<1>, i32, i32, i32, i32, vector<2xi64>, i32, i32, i32, i32) -> vector<2xbf16>
  return %v : vector<2xbf16>
}
