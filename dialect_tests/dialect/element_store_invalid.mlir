// Errors of fold.element_store.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @to_shared_memory(%v: f32, %y: !llvm.ptr<3>, %i: i32, %on: i1) {
  // expected-error @below {{WF310: fold.element_store expects a !llvm.ptr<1> as operand 1, got !llvm.ptr<3>}}
  "fold.element_store"(%v, %y, %i, %i, %i, %i, %on, %i, %i)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", whole = true}
    : (f32, !llvm.ptr<3>, i32, i32, i32, i32, i1, i32, i32) -> ()
  return
}

// -----

func.func @on_is_no_flag(%v: f32, %y: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF310: fold.element_store expects an i1 as operand 6, got i32}}
  "fold.element_store"(%v, %y, %i, %i, %i, %i, %i, %i, %i)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", whole = true}
    : (f32, !llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> ()
  return
}

// -----

func.func @elements_that_are_the_same(%v: f32, %y: !llvm.ptr<1>, %i: i32, %on: i1) {
  // Several threads would write one element.
  // expected-error @below {{WF311: fold.element_store expects the attribute access to be one of aligned shifted unaligned strided tile tile_strided}}
  "fold.element_store"(%v, %y, %i, %i, %i, %i, %on, %i, %i)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "uniform", whole = true}
    : (f32, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32, i32) -> ()
  return
}

// -----

func.func @whole_is_missing(%v: f32, %y: !llvm.ptr<1>, %i: i32, %on: i1) {
  // expected-error @below {{WF311: fold.element_store expects the attribute whole to be true or false}}
  "fold.element_store"(%v, %y, %i, %i, %i, %i, %on, %i, %i)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned"}
    : (f32, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32, i32) -> ()
  return
}

// -----

func.func @a_tile_without_its_origin(%v: f32, %tile: !llvm.ptr<3>, %i: i32, %on: i1) {
  // expected-error @below {{WF310: fold.element_store expects 2 layout operands for ranks 1 and 1, got 1}}
  "fold.element_store"(%v, %tile, %i, %i, %i, %i, %on, %i, %i)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "tile", whole = true}
    : (f32, !llvm.ptr<3>, i32, i32, i32, i32, i1, i32, i32) -> ()
  return
}
