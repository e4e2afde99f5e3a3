// Errors of fold.lead.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @no_global_pointer(%x: !llvm.ptr<3>, %kept: i32, %stride: i32) {
  // expected-error @below {{WF310: fold.lead expects a !llvm.ptr<1> as operand 0, got !llvm.ptr<3>}}
  %lead = "fold.lead"(%x, %kept, %stride) {kept_rank = 1, reduced_rank = 0, lanes = 4, bytes = 4}
    : (!llvm.ptr<3>, i32, i32) -> i32
  return
}

// -----

func.func @kept_is_no_index(%x: !llvm.ptr<1>, %kept: i16, %stride: i32) {
  // expected-error @below {{WF310: fold.lead expects an i32 or i64 as operand 1, got i16}}
  %lead = "fold.lead"(%x, %kept, %stride) {kept_rank = 1, reduced_rank = 0, lanes = 4, bytes = 4}
    : (!llvm.ptr<1>, i16, i32) -> i32
  return
}

// -----

func.func @layout_of_rank_two(%x: !llvm.ptr<1>, %kept: i32, %stride: i32) {
  // expected-error @below {{WF310: fold.lead expects 3 layout operands for ranks 2 and 0, got 1}}
  %lead = "fold.lead"(%x, %kept, %stride) {kept_rank = 2, reduced_rank = 0, lanes = 4, bytes = 4}
    : (!llvm.ptr<1>, i32, i32) -> i32
  return
}

// -----

func.func @three_lanes(%x: !llvm.ptr<1>, %kept: i32, %stride: i32) {
  // expected-error @below {{WF311: fold.lead expects the attribute lanes to be a power of two up to 32, got 3}}
  %lead = "fold.lead"(%x, %kept, %stride) {kept_rank = 1, reduced_rank = 0, lanes = 3, bytes = 4}
    : (!llvm.ptr<1>, i32, i32) -> i32
  return
}

// -----

func.func @sixteen_bytes(%x: !llvm.ptr<1>, %kept: i32, %stride: i32) {
  // expected-error @below {{WF311: fold.lead expects the attribute bytes to be a power of two up to 8, got 16}}
  %lead = "fold.lead"(%x, %kept, %stride) {kept_rank = 1, reduced_rank = 0, lanes = 4, bytes = 16}
    : (!llvm.ptr<1>, i32, i32) -> i32
  return
}

// -----

func.func @of_another_type(%x: !llvm.ptr<1>, %kept: i32, %stride: i32) {
  // expected-error @below {{WF310: fold.lead expects a result of type i32, got i64}}
  %lead = "fold.lead"(%x, %kept, %stride) {kept_rank = 1, reduced_rank = 0, lanes = 4, bytes = 4}
    : (!llvm.ptr<1>, i32, i32) -> i64
  return
}
