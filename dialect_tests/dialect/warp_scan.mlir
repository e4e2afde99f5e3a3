// fold.warp_scan: the lane level of a scan. A lane gets the state of the lanes before it, and that of all lanes.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @whole_warp
func.func @whole_warp(%lane: i32, %x: f32) -> (f32, f32) {
  // CHECK: "fold.warp_scan"(%{{.*}}, %{{.*}}) ({
  // CHECK: }) {lanes = 32 : i64, stride = 1 : i64} : (i32, f32) -> (f32, f32)
  %before, %total = "fold.warp_scan"(%lane, %x) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {lanes = 32, stride = 1} : (i32, f32) -> (f32, f32)
  return %before, %total : f32, f32
}
