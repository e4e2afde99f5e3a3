// fold.warp_reduce: the lane level. `lanes` lanes at distance `stride` combine their states, and all of them get the
// result. The other lanes of the warp do the same for other results.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @whole_warp
func.func @whole_warp(%x: f32) -> f32 {
  // CHECK:      "fold.warp_reduce"(%{{.*}}) ({
  // CHECK:      }) {lanes = 32 : i64, ordered = false, stride = 1 : i64} : (f32) -> f32
  %r = "fold.warp_reduce"(%x) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {lanes = 32, stride = 1, ordered = false} : (f32) -> f32
  return %r : f32
}

// CHECK-LABEL: func.func @eight_rows_of_four_lanes
func.func @eight_rows_of_four_lanes(%x: f32) -> f32 {
  // Lanes 0 to 3 share a row, 4 to 7 the next one. `ordered` keeps the lower lane's state on the left.
  // CHECK: }) {lanes = 4 : i64, ordered = true, stride = 1 : i64} : (f32) -> f32
  %r = "fold.warp_reduce"(%x) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.subf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {lanes = 4, stride = 1, ordered = true} : (f32) -> f32
  return %r : f32
}

// CHECK-LABEL: func.func @eight_columns
func.func @eight_columns(%x: vector<2xf32>) -> vector<2xf32> {
  // Neighbouring lanes hold neighbouring columns: lanes 0, 8, 16, 24 share two of them.
  // CHECK: }) {lanes = 4 : i64, ordered = false, stride = 8 : i64} : (vector<2xf32>) -> vector<2xf32>
  %r = "fold.warp_reduce"(%x) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {lanes = 4, stride = 8, ordered = false} : (vector<2xf32>) -> vector<2xf32>
  return %r : vector<2xf32>
}
