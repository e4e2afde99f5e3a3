// A sum over lanes of elements that the tensor cores do not add.

// RUN: not warpfold-opt %s --pass-pipeline='builtin.module(lower-thread-reduce)' 2>&1 | FileCheck %s

// CHECK: WF326: a fold.thread_reduce that is summed adds f16, bf16 or bytes, as f32 or integers: this one combines vector<4xf32>
func.func @words(%begin: i32, %end: i32, %v: vector<4xf32>) -> f32 {
  %zeros = arith.constant dense<0.0> : vector<4xf32>
  %sum = "fold.thread_reduce"(%begin, %end, %zeros) ({
  ^bb0(%r: i32):
    "fold.yield"(%v) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 64, unroll = 1, summed = 4} : (i32, i32, vector<4xf32>) -> f32
  return %sum : f32
}
