// Errors of fold.element_load.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @from_shared_memory(%x: !llvm.ptr<3>, %i: i32) {
  // expected-error @below {{WF310: fold.element_load expects a !llvm.ptr<1> as operand 0, got !llvm.ptr<3>}}
  %made = "fold.element_load"(%x, %i, %i, %i, %i, %i, %i)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned"}
    : (!llvm.ptr<3>, i32, i32, i32, i32, i32, i32) -> f32
  return
}

// -----

func.func @the_end_is_no_index(%x: !llvm.ptr<1>, %i: i32, %end: index) {
  // expected-error @below {{WF310: fold.element_load expects an i32 or i64 as operand 4, got index}}
  %made = "fold.element_load"(%x, %i, %i, %i, %end, %i, %i)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned"}
    : (!llvm.ptr<1>, i32, i32, i32, index, i32, i32) -> f32
  return
}

// -----

func.func @a_stride_is_missing(%x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF310: fold.element_load expects 2 layout operands for ranks 1 and 1, got 1}}
  %made = "fold.element_load"(%x, %i, %i, %i, %i, %i)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned"}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32) -> f32
  return
}

// -----

func.func @no_such_access(%x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF311: fold.element_load expects the attribute access to be one of aligned shifted unaligned strided uniform tile tile_strided}}
  %made = "fold.element_load"(%x, %i, %i, %i, %i, %i, %i)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "period"}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32) -> f32
  return
}

// -----

func.func @a_tile_in_global_memory(%x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF310: fold.element_load expects a !llvm.ptr<3> as operand 0, got !llvm.ptr<1>}}
  %made = "fold.element_load"(%x, %i, %i, %i, %i, %i, %i)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "tile"}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32) -> f32
  return
}

// -----

func.func @parts_of_more_than_an_access(%x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF311: fold.element_load expects the attribute part to be a power of two up to 16, got 32}}
  %made = "fold.element_load"(%x, %i, %i, %i, %i, %i, %i, %i, %i, %i)
    {kept_rank = 1, reduced_rank = 2, axis = "reduced", access = "split", part = 32}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> vector<16xi8>
  return
}
