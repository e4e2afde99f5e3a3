// Errors of lower-period-reduce.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(lower-period-reduce)'

// The buffers lie in the gpu.module, and one kernel's are its own.
// expected-error @unknown {{WF324: fold.period_reduce expects a gpu.func around it, got none}}
func.func @outside(%thread: i32, %on: i1, %mine: vector<4xf32>) {
  %column = "fold.period_reduce"(%thread, %on, %mine, %thread, %thread, %thread) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {threads = 256} : (i32, i1, vector<4xf32>, i32, i32, i32) -> f32
  return
}
