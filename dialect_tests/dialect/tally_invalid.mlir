// Errors of fold.tally.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @of_floats(%x: f32, %i: i32, %on: i1, %b: !llvm.ptr<3>) {
  // expected-error @below {{WF310: fold.tally expects values of i32 or i64, got f32}}
  %left = "fold.tally"(%x, %i, %on, %b, %i, %i) : (f32, i32, i1, !llvm.ptr<3>, i32, i32) -> i64
  return
}

// -----

func.func @indices_for_some(%x: vector<2xi32>, %i: i32, %on: vector<2xi1>, %b: !llvm.ptr<3>) {
  // expected-error @below {{WF310: fold.tally expects fragments of 2 elements, got 2, 1, 2, 2}}
  %left = "fold.tally"(%x, %i, %on, %b, %i, %i)
    : (vector<2xi32>, i32, vector<2xi1>, !llvm.ptr<3>, i32, i32) -> vector<2xi64>
  return
}

// -----

func.func @nowhere(%x: i32, %on: i1, %b: !llvm.ptr<5>) {
  // expected-error @below {{WF310: fold.tally expects a !llvm.ptr<3> or !llvm.ptr<1> as operand 3, got !llvm.ptr<5>}}
  %left = "fold.tally"(%x, %x, %on, %b, %x, %x) : (i32, i32, i1, !llvm.ptr<5>, i32, i32) -> i64
  return
}
