// Errors of lower-cta-reduce: a buffer in shared memory lies beside the kernel, in its gpu.module.

// RUN: warpfold-opt %s --verify-diagnostics --pass-pipeline='builtin.module(lower-cta-reduce)'

// expected-error @unknown {{WF324: fold.cta_reduce expects a gpu.module around it, got none}}
func.func @outside(%position: i32, %slot: i32, %x: f32) -> f32 {
  %ours = "fold.cta_reduce"(%position, %slot, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {method = "serial", rows = 8, lanes = 8, slots = 1, ordered = false} : (i32, i32, f32) -> f32
  return %ours : f32
}
