// fold.period_reduce: the end of a walk by periods. Threads hold neighbouring states of consecutive rows. The rows are
// combined, and thread c gets the state of column c.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @sum
func.func @sum(%thread: i32, %on: i1, %mine: vector<4xf32>, %rows: i32, %columns: i32, %lead: i32) -> f32 {
  // CHECK:      "fold.period_reduce"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) ({
  // CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
  // CHECK:      }) {threads = 256 : i64} : (i32, i1, vector<4xf32>, i32, i32, i32) -> f32
  %column = "fold.period_reduce"(%thread, %on, %mine, %rows, %columns, %lead) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {threads = 256} : (i32, i1, vector<4xf32>, i32, i32, i32) -> f32
  return %column : f32
}

// CHECK-LABEL: func.func @value_and_index
func.func @value_and_index(%thread: i64, %on: i1, %mine: tuple<vector<2xf64>, vector<2xi64>>, %n: i64) -> tuple<f64, i64> {
  // A state of two values: two fragments, then one scalar of each.
  // CHECK: {threads = 64 : i64} : (i64, i1, tuple<vector<2xf64>, vector<2xi64>>, i64, i64, i64) -> tuple<f64, i64>
  %column = "fold.period_reduce"(%thread, %on, %mine, %n, %n, %n) ({
  ^bb0(%v: f64, %i: i64, %w: f64, %j: i64):
    %c = builtin.unrealized_conversion_cast %v, %i : f64, i64 to tuple<f64, i64>
    "fold.yield"(%c) : (tuple<f64, i64>) -> ()
  }) {threads = 64} : (i64, i1, tuple<vector<2xf64>, vector<2xi64>>, i64, i64, i64) -> tuple<f64, i64>
  return %column : tuple<f64, i64>
}
