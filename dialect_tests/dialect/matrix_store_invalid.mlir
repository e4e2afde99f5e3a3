// Errors of fold.matrix_store.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @to_global_memory(%x: vector<2xf16>, %y: !llvm.ptr<1>, %row: i32) {
  // expected-error @below {{WF310: fold.matrix_store expects a !llvm.ptr<3> as operand 1, got !llvm.ptr<1>}}
  "fold.matrix_store"(%x, %y, %row) {blocks = 1, transposed = false} : (vector<2xf16>, !llvm.ptr<1>, i32) -> ()
  return
}

// -----

func.func @no_index(%x: vector<2xf16>, %tile: !llvm.ptr<3>, %row: f32) {
  // expected-error @below {{WF310: fold.matrix_store expects an i32 or i64 as operand 2, got f32}}
  "fold.matrix_store"(%x, %tile, %row) {blocks = 1, transposed = false} : (vector<2xf16>, !llvm.ptr<3>, f32) -> ()
  return
}

// -----

func.func @a_scalar(%x: f16, %tile: !llvm.ptr<3>, %row: i32) {
  // expected-error @below {{WF310: fold.matrix_store expects a vector of 2 elements as operand 0, got 0}}
  "fold.matrix_store"(%x, %tile, %row) {blocks = 1, transposed = false} : (f16, !llvm.ptr<3>, i32) -> ()
  return
}
