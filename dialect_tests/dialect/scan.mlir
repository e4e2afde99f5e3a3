// fold.scan: a reduction of which every element gets the state of those up to it, or of those before it.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @sums
func.func @sums(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  // CHECK: "fold.scan"(%{{.*}}) ({
  // CHECK: }) {dims = array<i64: 1>, exclusive = false} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %r = "fold.scan"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {dims = array<i64: 1>, exclusive = false} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @several_values
func.func @several_values(%s: tuple<tensor<?xf32>, tensor<?xi32>>) -> tuple<tensor<?xf32>, tensor<?xi32>> {
  // CHECK: exclusive = true} : (tuple<tensor<?xf32>, tensor<?xi32>>) -> tuple<tensor<?xf32>, tensor<?xi32>>
  %r = "fold.scan"(%s) ({
    %z = arith.constant 0.0 : f32
    %n = arith.constant 0 : i32
    %none = builtin.unrealized_conversion_cast %z, %n : f32, i32 to tuple<f32, i32>
    "fold.yield"(%none) : (tuple<f32, i32>) -> ()
  }, {
  ^bb0(%a: f32, %i: i32, %b: f32, %j: i32):
    %both = builtin.unrealized_conversion_cast %b, %j : f32, i32 to tuple<f32, i32>
    "fold.yield"(%both) : (tuple<f32, i32>) -> ()
  }) {dims = array<i64: 0>, exclusive = true}
    : (tuple<tensor<?xf32>, tensor<?xi32>>) -> tuple<tensor<?xf32>, tensor<?xi32>>
  return %r : tuple<tensor<?xf32>, tensor<?xi32>>
}
