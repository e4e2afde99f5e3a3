// Errors of fold.share.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @number_is_no_index(%x: f32) {
  // expected-error @below {{WF310: fold.share expects an i32 or i64 as operand 0, got f32}}
  %y = "fold.share"(%x) : (f32) -> f32
  return
}

// -----

func.func @another_type(%x: i32) {
  // expected-error @below {{WF310: fold.share expects a result of type i32, got i64}}
  %y = "fold.share"(%x) : (i32) -> i64
  return
}

// -----

func.func @nothing() {
  // expected-error @below {{WF310: fold.share expects 1 operand(s), got 0}}
  %y = "fold.share"() : () -> i32
  return
}
