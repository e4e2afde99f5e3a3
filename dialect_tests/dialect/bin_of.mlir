// fold.bin_of: the bins of the elements of a fragment.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @searched
func.func @searched(%x: vector<4xf32>, %lower: !llvm.ptr<1>, %upper: !llvm.ptr<1>, %f: f32, %l: f32, %s: f32, %n: i32) {
  // CHECK: "fold.bin_of"(%{{.*}}) {steps = 8 : i64, uniform = false}
  // CHECK-SAME: -> vector<4xi32>
  %i = "fold.bin_of"(%x, %lower, %upper, %f, %l, %s, %n) {uniform = false, steps = 8}
    : (vector<4xf32>, !llvm.ptr<1>, !llvm.ptr<1>, f32, f32, f32, i32) -> vector<4xi32>
  return
}
