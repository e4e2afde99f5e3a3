// Errors of fold.leave.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @no_such_kind(%words: !llvm.ptr<1>, %at: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF310: fold.leave expects the kind 1 or 2, got 0}}
  "fold.leave"(%words, %at, %on, %x) {kind = 0} : (!llvm.ptr<1>, i32, i1, f32) -> ()
  return
}

// -----

func.func @state_of_two_rows(%words: !llvm.ptr<1>, %at: i32, %on: i1, %x: vector<2xf32>) {
  // expected-error @below {{WF310: fold.leave expects a state of scalars, got vector<2xf32>}}
  "fold.leave"(%words, %at, %on, %x) {kind = 1} : (!llvm.ptr<1>, i32, i1, vector<2xf32>) -> ()
  return
}

// -----

func.func @words_in_shared_memory(%words: !llvm.ptr<3>, %at: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF310: fold.leave expects a !llvm.ptr<1> as operand 0, got !llvm.ptr<3>}}
  "fold.leave"(%words, %at, %on, %x) {kind = 1} : (!llvm.ptr<3>, i32, i1, f32) -> ()
  return
}
