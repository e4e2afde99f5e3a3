// fold.live: which elements of a fragment count. A vector at the end of a row (or, with shifted accesses, at its start)
// holds elements that do not belong to it; the body replaces them by the identity.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @mask
func.func @mask(%r: i32, %first: i32, %end: i32, %x: vector<4xf32>) -> vector<4xf32> {
  // Element j is live when first <= r + j < end.
  // CHECK: %[[LIVE:.*]] = "fold.live"(%{{.*}}, %{{.*}}, %{{.*}}) : (i32, i32, i32) -> vector<4xi1>
  %live = "fold.live"(%r, %first, %end) : (i32, i32, i32) -> vector<4xi1>
  %zeros = arith.constant dense<0.0> : vector<4xf32>
  // CHECK: arith.select %[[LIVE]]
  %used = arith.select %live, %x, %zeros : vector<4xi1>, vector<4xf32>
  return %used : vector<4xf32>
}

// CHECK-LABEL: func.func @one_element
func.func @one_element(%r: i64, %first: i64, %end: i64) -> i1 {
  // CHECK: "fold.live"(%{{.*}}, %{{.*}}, %{{.*}}) : (i64, i64, i64) -> i1
  %live = "fold.live"(%r, %first, %end) : (i64, i64, i64) -> i1
  return %live : i1
}
