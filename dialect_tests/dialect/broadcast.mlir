// fold.broadcast: a scalar, or a tensor of the kept dims, seen as a tensor with further dims. It moves nothing: after
// distribute a thread uses the value it already has.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @from_a_scalar
func.func @from_a_scalar(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  // `dims` are those of the result along which the source repeats: for a scalar, all.
  // CHECK: "fold.broadcast"(%{{.*}}) {dims = array<i64: 0, 1>} : (f32) -> tensor<?x?xf32>
  %two = arith.constant 2.0 : f32
  %twos = "fold.broadcast"(%two) {dims = array<i64: 0, 1>} : (f32) -> tensor<?x?xf32>
  %r = arith.mulf %x, %twos : tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @from_the_kept_dims
func.func @from_the_kept_dims(%x: tensor<?x?xf32>, %mean: tensor<?xf32>) -> tensor<?x?xf32> {
  // One value a row, repeated along the row.
  // CHECK: "fold.broadcast"(%{{.*}}) {dims = array<i64: 1>} : (tensor<?xf32>) -> tensor<?x?xf32>
  %means = "fold.broadcast"(%mean) {dims = array<i64: 1>} : (tensor<?xf32>) -> tensor<?x?xf32>
  %r = arith.subf %x, %means : tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @to_one_result
func.func @to_one_result(%count: f32) -> tensor<f32> {
  // With no kept dims a result is a tensor of rank 0.
  // CHECK: "fold.broadcast"(%{{.*}}) {dims = array<i64>} : (f32) -> tensor<f32>
  %r = "fold.broadcast"(%count) {dims = array<i64>} : (f32) -> tensor<f32>
  return %r : tensor<f32>
}
