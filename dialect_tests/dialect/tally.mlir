// fold.tally: elements are added to the counters that they choose.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @counted
func.func @counted(%one: vector<4xi32>, %i: vector<4xi32>, %on: vector<4xi1>, %b: !llvm.ptr<3>, %s: i32, %n: i32) {
  // CHECK: "fold.tally"(%{{.*}}) : (vector<4xi32>, vector<4xi32>, vector<4xi1>, !llvm.ptr<3>, i32, i32) -> vector<4xi64>
  %left = "fold.tally"(%one, %i, %on, %b, %s, %n)
    : (vector<4xi32>, vector<4xi32>, vector<4xi1>, !llvm.ptr<3>, i32, i32) -> vector<4xi64>
  return
}
