// fold.cta_reduce: the lane and warp levels at once. All positions of a CTA combine their states in memory.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @in_shared_memory
func.func @in_shared_memory(%position: i32, %slot: i32, %x: f32) -> f32 {
  // Eight warps of 32 lanes, for one result.
  // CHECK:      "fold.cta_reduce"(%{{.*}}, %{{.*}}, %{{.*}}) ({
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32):
  // CHECK:      }) {lanes = 32 : i64, method = "sequential", ordered = false, rows = 256 : i64, slots = 1 : i64} : (i32, i32, f32) -> f32
  %ours = "fold.cta_reduce"(%position, %slot, %x) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {method = "sequential", rows = 256, lanes = 32, slots = 1, ordered = false} : (i32, i32, f32) -> f32
  return %ours : f32
}

// CHECK-LABEL: func.func @in_global_memory
func.func @in_global_memory(
    %position: i64, %slot: i64, %x: tuple<f32, i64>, %values: !llvm.ptr<1>, %places: !llvm.ptr<1>) -> tuple<f32, i64> {
  // An array for each value of the state.
  // CHECK: {lanes = 4 : i64, method = "interleaved", ordered = true, rows = 4 : i64, slots = 8 : i64} : (i64, i64, tuple<f32, i64>, !llvm.ptr<1>, !llvm.ptr<1>) -> tuple<f32, i64>
  %ours = "fold.cta_reduce"(%position, %slot, %x, %values, %places) ({
  ^bb0(%a: f32, %i: i64, %b: f32, %j: i64):
    %state = builtin.unrealized_conversion_cast %a, %i : f32, i64 to tuple<f32, i64>
    "fold.yield"(%state) : (tuple<f32, i64>) -> ()
  }) {method = "interleaved", rows = 4, lanes = 4, slots = 8, ordered = true}
    : (i64, i64, tuple<f32, i64>, !llvm.ptr<1>, !llvm.ptr<1>) -> tuple<f32, i64>
  return %ours : tuple<f32, i64>
}

// CHECK-LABEL: func.func @four_results_a_thread
func.func @four_results_a_thread(%position: i32, %slot: i32, %x: vector<4xf32>) -> vector<4xf32> {
  // CHECK: (i32, i32, vector<4xf32>) -> vector<4xf32>
  %ours = "fold.cta_reduce"(%position, %slot, %x) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {method = "serial", rows = 8, lanes = 1, slots = 128, ordered = false} : (i32, i32, vector<4xf32>) -> vector<4xf32>
  return %ours : vector<4xf32>
}
