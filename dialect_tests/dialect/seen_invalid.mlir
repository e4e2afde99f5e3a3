// Errors of fold.seen.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @kind_of_another_type(%words: !llvm.ptr<1>, %at: i32) {
  // expected-error @below {{WF310: fold.seen expects a result of type i32, got i64}}
  %kind, %state = "fold.seen"(%words, %at) : (!llvm.ptr<1>, i32) -> (i64, f32)
  return
}

// -----

func.func @place_is_no_index(%words: !llvm.ptr<1>, %at: f32) {
  // expected-error @below {{WF310: fold.seen expects an i32 or i64 as operand 1, got f32}}
  %kind, %state = "fold.seen"(%words, %at) : (!llvm.ptr<1>, f32) -> (i32, f32)
  return
}
