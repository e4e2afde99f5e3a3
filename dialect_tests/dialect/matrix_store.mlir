// fold.matrix_store: blocks of 8 rows of 16 bytes go from the registers of a warp into shared memory.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @columns_of_halves
func.func @columns_of_halves(%x: vector<4xf16>, %tile: !llvm.ptr<3>, %row: i32) {
  // CHECK:      "fold.matrix_store"
  // CHECK-SAME: {blocks = 2 : i64, transposed = true}
  // CHECK-SAME: (vector<4xf16>, !llvm.ptr<3>, i32) -> ()
  "fold.matrix_store"(%x, %tile, %row) {blocks = 2, transposed = true} : (vector<4xf16>, !llvm.ptr<3>, i32) -> ()
  return
}
