// Errors of lower-warp-shuffle.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(lower-warp-shuffle)'

// The target is an attribute of the gpu.module; outside one nothing says whether redux.sync is there.
// expected-error @unknown {{WF324: fold.warp_reduce expects a gpu.module around it, got none}}
func.func @outside(%x: i32) -> i32 {
  %r = "fold.warp_reduce"(%x) ({
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    "fold.yield"(%c) : (i32) -> ()
  }) {lanes = 32, stride = 1, ordered = false} : (i32) -> i32
  return %r : i32
}

// -----

// expected-error @unknown {{WF401: no target is called 'sm_99' (did you mean sm_89 or sm_90a?): expected one of sm_75}}
gpu.module @device attributes {fold.target = "sm_99"} {
  func.func @unknown_target(%x: i32) -> i32 {
    %r = "fold.warp_reduce"(%x) ({
    ^bb0(%a: i32, %b: i32):
      %c = arith.addi %a, %b : i32
      "fold.yield"(%c) : (i32) -> ()
    }) {lanes = 32, stride = 1, ordered = false} : (i32) -> i32
    return %r : i32
  }
}
