// Errors of fold.count.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @counts_in_i64(%sum: f32) {
  // expected-error @below {{WF310: fold.count expects a result of type i64, got i32}}
  %n = "fold.count"() : () -> i32
  return
}

// -----

func.func @numberings_begin_at_0() {
  // expected-error @below {{WF310: fold.count expects a numbering from 0 on, got -1}}
  %n = "fold.count"() {numbering = -1} : () -> i64
  return
}
