// The lane stage of a scan: the lowering of fold.warp_scan, by Kogge and Stone. After the step of distance d a lane has
// the state of the 2d lanes up to it, or of all if there are fewer:
//
//   distance 1    0    0..1 1..2 2..3 3..4 ...
//   distance 2    0    0..1 0..2 0..3 1..4 ...

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-warp-scan,canonicalize,cse)' | FileCheck %s

// Four lanes that lie 8 apart, those of one of eight columns.
// CHECK-LABEL: func.func @column
// CHECK-SAME:    (%[[LANE:.*]]: i32, %[[X:.*]]: f32)
func.func @column(%lane: i32, %x: f32) -> (f32, f32) {
  // The lower lane is on the left; a lane without one keeps its state.
  // CHECK:      %[[BELOW:.*]], %{{.*}} = gpu.shuffle up %[[X]], %c8_i32, %c32_i32 : f32
  // CHECK-NEXT: %[[BOTH:.*]] = arith.addf %[[BELOW]], %[[X]] : f32
  // CHECK-NEXT: %[[SOME:.*]] = arith.cmpi sge, %[[LANE]], %c1_i32 : i32
  // CHECK-NEXT: %[[TWO:.*]] = arith.select %[[SOME]], %[[BOTH]], %[[X]] : f32
  // CHECK-NEXT: gpu.shuffle up %[[TWO]], %c16_i32, %c32_i32 : f32
  // CHECK:      %[[FOUR:.*]] = arith.select
  // What comes before a lane is what the lane below has; the last lane has the state of all.
  // CHECK-NEXT: %[[BEFORE:.*]], %{{.*}} = gpu.shuffle up %[[FOUR]], %c8_i32, %c32_i32 : f32
  // CHECK:      %[[LAST:.*]] = arith.ori %{{.*}}, %c24_i32 : i32
  // CHECK-NEXT: %[[TOTAL:.*]], %{{.*}} = gpu.shuffle idx %[[FOUR]], %[[LAST]], %c32_i32 : f32
  // CHECK-NEXT: return %[[BEFORE]], %[[TOTAL]]
  %before, %total = "fold.warp_scan"(%lane, %x) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {lanes = 4, stride = 8} : (i32, f32) -> (f32, f32)
  return %before, %total : f32, f32
}
