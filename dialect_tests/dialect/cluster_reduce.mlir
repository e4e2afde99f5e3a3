// fold.cluster_reduce: the cluster level. The warps of all CTAs of a cluster leave their states in the first of them.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @eight_ctas
func.func @eight_ctas(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) -> f32 {
  // Sixteen warps in each, for one result.
  // CHECK:      "fold.cluster_reduce"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) ({
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32):
  // CHECK:      }) {ctas = 8 : i64, lanes = 32 : i64, ordered = false, rows = 16 : i64, slots = 1 : i64, stride = 1 : i64} : (i32, i32, i32, i32, i1, f32) -> f32
  %ours = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {ctas = 8, rows = 16, slots = 1, lanes = 32, stride = 1, ordered = false} : (i32, i32, i32, i32, i1, f32) -> f32
  return %ours : f32
}

// CHECK-LABEL: func.func @two_values
func.func @two_values(%rank: i64, %row: i64, %lane: i64, %slot: i64, %on: i1, %x: tuple<f32, i64>) -> tuple<f32, i64> {
  // CHECK: {ctas = 2 : i64, lanes = 1 : i64, ordered = true, rows = 1 : i64, slots = 32 : i64, stride = 32 : i64} : (i64, i64, i64, i64, i1, tuple<f32, i64>) -> tuple<f32, i64>
  %ours = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %i: i64, %b: f32, %j: i64):
    %state = builtin.unrealized_conversion_cast %a, %i : f32, i64 to tuple<f32, i64>
    "fold.yield"(%state) : (tuple<f32, i64>) -> ()
  }) {ctas = 2, rows = 1, slots = 32, lanes = 1, stride = 32, ordered = true}
    : (i64, i64, i64, i64, i1, tuple<f32, i64>) -> tuple<f32, i64>
  return %ours : tuple<f32, i64>
}

// CHECK-LABEL: func.func @four_results_a_thread
func.func @four_results_a_thread(
    %rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: vector<4xf32>) -> vector<4xf32> {
  // CHECK: (i32, i32, i32, i32, i1, vector<4xf32>) -> vector<4xf32>
  %ours = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {ctas = 4, rows = 8, slots = 32, lanes = 4, stride = 8, ordered = false}
    : (i32, i32, i32, i32, i1, vector<4xf32>) -> vector<4xf32>
  return %ours : vector<4xf32>
}

// CHECK-LABEL: func.func @everywhere
func.func @everywhere(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) -> f32 {
  // All threads of the cluster get the result.
  // CHECK: {ctas = 8 : i64, everywhere = true, lanes = 32 : i64, ordered = false, rows = 16 : i64, slots = 1 : i64, stride = 1 : i64}
  %ours = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {ctas = 8, rows = 16, slots = 1, lanes = 32, stride = 1, ordered = false, everywhere = true}
    : (i32, i32, i32, i32, i1, f32) -> f32
  return %ours : f32
}

// CHECK-LABEL: func.func @counted
func.func @counted(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) -> f32 {
  // Each row of each CTA leaves the states of eight results.
  // CHECK: {counted = 8 : i64, ctas = 2 : i64, lanes = 4 : i64
  %ours = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {ctas = 2, rows = 4, slots = 8, lanes = 4, stride = 8, ordered = false, counted = 8}
    : (i32, i32, i32, i32, i1, f32) -> f32
  return %ours : f32
}
