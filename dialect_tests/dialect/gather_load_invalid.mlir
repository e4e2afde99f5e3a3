// Errors of fold.gather_load.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @from_shared_memory(%x: !llvm.ptr<3>, %i: i32, %at: i64) {
  // expected-error @below {{WF310: fold.gather_load expects a !llvm.ptr<1> as operand 0, got !llvm.ptr<3>}}
  %v = "fold.gather_load"(%x, %i, %i, %i, %i, %at, %i, %i, %i) {kept_rank = 1, reduced_rank = 0, axis = "kept"}
    : (!llvm.ptr<3>, i32, i32, i32, i32, i64, i32, i32, i32) -> f32
  return
}

// -----

func.func @the_size_is_no_index(%x: !llvm.ptr<1>, %i: i32, %at: i64, %size: index) {
  // expected-error @below {{WF310: fold.gather_load expects an i32 or i64 as operand 6, got index}}
  %v = "fold.gather_load"(%x, %i, %i, %i, %i, %at, %size, %i, %i) {kept_rank = 1, reduced_rank = 0, axis = "kept"}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i64, index, i32, i32) -> f32
  return
}

// -----

func.func @a_stride_is_missing(%x: !llvm.ptr<1>, %i: i32, %at: i64) {
  // expected-error @below {{WF310: fold.gather_load expects 2 layout operands for ranks 1 and 1, got 1}}
  %v = "fold.gather_load"(%x, %i, %i, %i, %i, %at, %i, %i, %i) {kept_rank = 1, reduced_rank = 1, axis = "kept"}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i64, i32, i32, i32) -> f32
  return
}

// -----

func.func @narrow_indices(%x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF310: fold.gather_load expects indices of i64, got i32}}
  %v = "fold.gather_load"(%x, %i, %i, %i, %i, %i, %i, %i, %i) {kept_rank = 1, reduced_rank = 0, axis = "kept"}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32, i32) -> f32
  return
}

// -----

func.func @one_index_for_two_elements(%x: !llvm.ptr<1>, %i: i32, %at: i64) {
  // expected-error @below {{WF310: fold.gather_load expects 2 indices, got 1}}
  %v = "fold.gather_load"(%x, %i, %i, %i, %i, %at, %i, %i, %i) {kept_rank = 1, reduced_rank = 0, axis = "kept"}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i64, i32, i32, i32) -> vector<2xf32>
  return
}
