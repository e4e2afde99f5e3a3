// Errors of lower-cluster-reduce: the buffers lie beside the kernel, in its gpu.module.

// RUN: warpfold-opt %s --verify-diagnostics --pass-pipeline='builtin.module(lower-cluster-reduce)'

// expected-error @unknown {{WF324: fold.cluster_reduce expects a gpu.module around it, got none}}
func.func @outside(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) -> f32 {
  %ours = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {ctas = 2, rows = 8, slots = 1, lanes = 8, stride = 1, ordered = false} : (i32, i32, i32, i32, i1, f32) -> f32
  return %ours : f32
}
