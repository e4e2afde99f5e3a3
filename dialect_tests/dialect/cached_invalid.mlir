// Errors of fold.cached.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @pointer_is_shared(%x: !llvm.ptr<3>) {
  // expected-error @below {{WF310: fold.cached expects a !llvm.ptr<1> as operand 0, got !llvm.ptr<3>}}
  %y = "fold.cached"(%x) {policy = "evict_last"} : (!llvm.ptr<3>) -> !llvm.ptr<3>
  return
}

// -----

func.func @another_pointer(%x: !llvm.ptr<1>) {
  // expected-error @below {{WF310: fold.cached expects a result of type !llvm.ptr<1>, got !llvm.ptr<3>}}
  %y = "fold.cached"(%x) {policy = "evict_last"} : (!llvm.ptr<1>) -> !llvm.ptr<3>
  return
}

// -----

func.func @no_policy(%x: !llvm.ptr<1>) {
  // expected-error @below {{WF311: fold.cached expects the attribute policy to be one of evict_first evict_last}}
  %y = "fold.cached"(%x) {policy = "normal"} : (!llvm.ptr<1>) -> !llvm.ptr<1>
  return
}
