// Errors of fold.arrived.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @slots(%slots: !llvm.ptr<3>) {
  // expected-error @below {{WF310: fold.arrived expects 0 operand(s), got 1}}
  "fold.arrived"(%slots) : (!llvm.ptr<3>) -> ()
  return
}
