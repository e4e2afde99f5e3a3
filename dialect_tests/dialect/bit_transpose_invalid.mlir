// Errors of fold.bit_transpose.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @wide(%word: i64) -> i32 {
  // expected-error @below {{WF310: fold.bit_transpose expects a word of i32, got i64}}
  %turned = "fold.bit_transpose"(%word) : (i64) -> i32
  return %turned : i32
}
