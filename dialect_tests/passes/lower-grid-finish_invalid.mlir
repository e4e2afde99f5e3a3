// Errors of lower-grid-finish: atomics for combines that no instruction computes in one go.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(lower-grid-finish)'

// expected-error @unknown {{WF321: lower-grid-finish has no rule for an atomic of arith.mulf on f32}}
func.func @float(%part: i32, %on: i1, %x: f32, %cells: !llvm.ptr<1>) {
  "fold.grid_finish"(%part, %part, %part, %part, %on, %x, %cells) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "atomic"} : (i32, i32, i32, i32, i1, f32, !llvm.ptr<1>) -> ()
  return
}

// -----

// expected-error @unknown {{WF321: lower-grid-finish has no rule for an atomic of several operations on i32}}
func.func @several_operations(%part: i32, %on: i1, %x: i32, %cells: !llvm.ptr<1>) {
  "fold.grid_finish"(%part, %part, %part, %part, %on, %x, %cells) ({
  ^bb0(%a: i32, %b: i32):
    %twice = arith.addi %a, %a : i32
    %c = arith.addi %twice, %b : i32
    "fold.yield"(%c) : (i32) -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "atomic"} : (i32, i32, i32, i32, i1, i32, !llvm.ptr<1>) -> ()
  return
}

// -----

// The ticket lies in shared memory, beside the kernel.
// expected-error @unknown {{WF324: fold.grid_finish expects a gpu.module around it, got none}}
func.func @outside(%part: i32, %on: i1, %x: f32, %partials: !llvm.ptr<1>, %counter: !llvm.ptr<1>) {
  "fold.grid_finish"(%part, %part, %part, %part, %on, %x, %partials, %counter) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "last_block"} : (i32, i32, i32, i32, i1, f32, !llvm.ptr<1>, !llvm.ptr<1>) -> ()
  return
}
