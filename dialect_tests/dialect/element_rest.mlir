// fold.element_rest: the elements of an access that could not be read at once. Two ops read it, so that the accesses of
// a thread are all on the way before one of them is waited for.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @in_two_parts
func.func @in_two_parts(%x: !llvm.ptr<1>, %kept: i32, %r: i32, %first: i32, %end: i32, %row: i32, %one: i32,
                        %extent: i32) -> vector<4xf32> {
  // The first part is undefined if an end of the row cuts the access and what lies beside the row cannot be read.
  // CHECK:      %[[FOUND:.*]] = "fold.element_load"
  // CHECK-SAME: {access = "shifted", at_once = true, axis = "reduced", kept_rank = 1 : i64, reduced_rank = 1 : i64}
  %found = "fold.element_load"(%x, %kept, %r, %first, %end, %row, %one, %extent)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted", at_once = true}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> vector<4xf32>
  // The second one is what the first found, or else reads single elements. The other operands are those of the load.
  // CHECK:      "fold.element_rest"(%[[FOUND]],
  // CHECK-SAME: (vector<4xf32>, !llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> vector<4xf32>
  %v = "fold.element_rest"(%found, %x, %kept, %r, %first, %end, %row, %one, %extent)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted"}
    : (vector<4xf32>, !llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> vector<4xf32>
  return %v : vector<4xf32>
}
