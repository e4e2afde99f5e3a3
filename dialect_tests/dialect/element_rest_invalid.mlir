// Errors of fold.element_rest.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @from_shared_memory(%v: f32, %x: !llvm.ptr<3>, %i: i32) {
  // expected-error @below {{WF310: fold.element_rest expects a !llvm.ptr<1> as operand 1, got !llvm.ptr<3>}}
  %made = "fold.element_rest"(%v, %x, %i, %i, %i, %i, %i, %i, %i)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted"}
    : (f32, !llvm.ptr<3>, i32, i32, i32, i32, i32, i32, i32) -> f32
  return
}

// -----

func.func @what_can_be_read_is_missing(%v: f32, %x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF310: fold.element_rest expects 2 layout operands for ranks 1 and 1, got 1}}
  %made = "fold.element_rest"(%v, %x, %i, %i, %i, %i, %i, %i)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted"}
    : (f32, !llvm.ptr<1>, i32, i32, i32, i32, i32, i32) -> f32
  return
}

// -----

func.func @of_an_access_that_is_never_cut(%v: f32, %x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF311: fold.element_rest expects the attribute access to be one of shifted}}
  %made = "fold.element_rest"(%v, %x, %i, %i, %i, %i, %i, %i, %i)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned"}
    : (f32, !llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> f32
  return
}

// -----

func.func @another_fragment(%v: vector<2xf32>, %x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF310: fold.element_rest expects a fragment of type vector<4xf32>, got vector<2xf32>}}
  %made = "fold.element_rest"(%v, %x, %i, %i, %i, %i, %i, %i, %i)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted"}
    : (vector<2xf32>, !llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> vector<4xf32>
  return
}
