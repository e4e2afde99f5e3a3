// fold.thread_scan: the elements of an access, one after another; some may lie before the row.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @four
func.func @four(%begins: i32, %x: vector<4xf32>) -> vector<4xf32> {
  // CHECK: "fold.thread_scan"(%{{.*}}, %{{.*}}) ({
  // CHECK: }) : (i32, vector<4xf32>) -> vector<4xf32>
  %r = "fold.thread_scan"(%begins, %x) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) : (i32, vector<4xf32>) -> vector<4xf32>
  return %r : vector<4xf32>
}
