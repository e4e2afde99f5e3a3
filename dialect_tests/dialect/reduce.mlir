// fold.reduce: a monoid over a tensor's dims. The first region is the identity, the second the combine: both work on
// scalars, so any associative Python function is possible, and no kind of reduction is special.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @sum_of_rows
func.func @sum_of_rows(%x: tensor<?x?xf32>) -> tensor<?xf32> {
  // The reduced dim is gone from the result; the kept one stays.
  // CHECK:      "fold.reduce"(%{{.*}}) ({
  // CHECK-NEXT:   %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
  // CHECK-NEXT:   "fold.yield"(%[[ZERO]]) : (f32) -> ()
  // CHECK-NEXT: }, {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
  // CHECK-NEXT:   %[[C:.*]] = arith.addf %[[A]], %[[B]] : f32
  // CHECK-NEXT:   "fold.yield"(%[[C]]) : (f32) -> ()
  // CHECK-NEXT: }) {commutative = true, dims = array<i64: 1>} : (tensor<?x?xf32>) -> tensor<?xf32>
  %r = "fold.reduce"(%x) ({
    %zero = arith.constant 0.0 : f32
    "fold.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {dims = array<i64: 1>, commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// CHECK-LABEL: func.func @affine_in_order
func.func @affine_in_order(%slope: tensor<?xi32>, %offset: tensor<?xi32>) -> tensor<i32> {
  // A state of two values is one tuple of tensors: here the functions s x + o, composed from left to right. That is
  // associative but not commutative, so the order of the elements must be kept.
  %x = builtin.unrealized_conversion_cast %slope, %offset
    : tensor<?xi32>, tensor<?xi32> to tuple<tensor<?xi32>, tensor<?xi32>>
  // CHECK:      "fold.reduce"
  // The combine takes the values of the left state, then those of the right one.
  // CHECK:      ^bb0(%{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32):
  // CHECK:      {commutative = false, dims = array<i64: 0>}
  // CHECK-SAME: (tuple<tensor<?xi32>, tensor<?xi32>>) -> tuple<tensor<i32>, tensor<i32>>
  %r = "fold.reduce"(%x) ({
    %one = arith.constant 1 : i32
    %zero = arith.constant 0 : i32
    %state = builtin.unrealized_conversion_cast %one, %zero : i32, i32 to tuple<i32, i32>
    "fold.yield"(%state) : (tuple<i32, i32>) -> ()
  }, {
  ^bb0(%s: i32, %o: i32, %t: i32, %p: i32):
    %both = arith.muli %s, %t : i32
    %moved = arith.muli %o, %t : i32
    %sum = arith.addi %moved, %p : i32
    %state = builtin.unrealized_conversion_cast %both, %sum : i32, i32 to tuple<i32, i32>
    "fold.yield"(%state) : (tuple<i32, i32>) -> ()
  }) {dims = array<i64: 0>, commutative = false}
    : (tuple<tensor<?xi32>, tensor<?xi32>>) -> tuple<tensor<i32>, tensor<i32>>
  %parts:2 = builtin.unrealized_conversion_cast %r : tuple<tensor<i32>, tensor<i32>> to tensor<i32>, tensor<i32>
  return %parts#1 : tensor<i32>
}

// CHECK-LABEL: func.func @sections
func.func @sections(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  // A state for each section of 64 elements: the result has it for each element.
  // CHECK:      "fold.reduce"
  // CHECK:      {commutative = true, dims = array<i64>, section = 64 : i64} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %r = "fold.reduce"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    "fold.yield"(%sum) : (f32) -> ()
  }) {dims = array<i64>, commutative = true, section = 64} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
