// The tool itself: errors of the parser and of the verifier are found where the comments say.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @verifier(%a: i32) -> i64 {
  // expected-error @below {{type of return operand 0 ('i32') doesn't match function result type ('i64')}}
  return %a : i32
}

// -----

func.func @parser() {
  return %b : i32 // expected-error-re {{undeclared {{SSA|symbol}} value}}
}
