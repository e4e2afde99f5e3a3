// Errors of fold.store.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @to_a_generic_pointer(%x: f32, %out: !llvm.ptr, %kept: i32, %on: i1, %stride: i32) {
  // expected-error @below {{WF310: fold.store expects a !llvm.ptr<1> as operand 1, got !llvm.ptr}}
  "fold.store"(%x, %out, %kept, %on, %stride) {kept_rank = 1, reduced_rank = 0, vector = false}
    : (f32, !llvm.ptr, i32, i1, i32) -> ()
  return
}

// -----

func.func @kept_is_no_index(%x: f32, %out: !llvm.ptr<1>, %kept: index, %on: i1, %stride: i32) {
  // expected-error @below {{WF310: fold.store expects an i32 or i64 as operand 2, got index}}
  "fold.store"(%x, %out, %kept, %on, %stride) {kept_rank = 1, reduced_rank = 0, vector = false}
    : (f32, !llvm.ptr<1>, index, i1, i32) -> ()
  return
}

// -----

func.func @on_is_no_predicate(%x: f32, %out: !llvm.ptr<1>, %kept: i32, %on: i32, %stride: i32) {
  // expected-error @below {{WF310: fold.store expects an i1 as operand 3, got i32}}
  "fold.store"(%x, %out, %kept, %on, %stride) {kept_rank = 1, reduced_rank = 0, vector = false}
    : (f32, !llvm.ptr<1>, i32, i32, i32) -> ()
  return
}

// -----

func.func @layout_of_two_dims(%x: f32, %out: !llvm.ptr<1>, %kept: i32, %on: i1, %stride: i32) {
  // Two kept dims: the inner size, then two strides.
  // expected-error @below {{WF310: fold.store expects 3 layout operands for ranks 2 and 0, got 1}}
  "fold.store"(%x, %out, %kept, %on, %stride) {kept_rank = 2, reduced_rank = 0, vector = false}
    : (f32, !llvm.ptr<1>, i32, i1, i32) -> ()
  return
}

// -----

func.func @no_rank(%x: f32, %out: !llvm.ptr<1>, %kept: i32, %on: i1, %stride: i32) {
  // expected-error @below {{WF311: fold.store expects the attribute kept_rank to be an integer}}
  "fold.store"(%x, %out, %kept, %on, %stride) {reduced_rank = 0, vector = false}
    : (f32, !llvm.ptr<1>, i32, i1, i32) -> ()
  return
}

// -----

func.func @no_reduced_rank(%x: f32, %out: !llvm.ptr<1>, %kept: i32, %on: i1, %stride: i32) {
  // expected-error @below {{WF311: fold.store expects the attribute reduced_rank to be an integer}}
  "fold.store"(%x, %out, %kept, %on, %stride) {kept_rank = 1, vector = false} : (f32, !llvm.ptr<1>, i32, i1, i32) -> ()
  return
}

// -----

func.func @vector_is_a_width(%x: f32, %out: !llvm.ptr<1>, %kept: i32, %on: i1, %stride: i32) {
  // expected-error @below {{WF311: fold.store expects the attribute vector to be true or false}}
  "fold.store"(%x, %out, %kept, %on, %stride) {kept_rank = 1, reduced_rank = 0, vector = 4}
    : (f32, !llvm.ptr<1>, i32, i1, i32) -> ()
  return
}
