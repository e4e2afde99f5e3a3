// fold.philox: a word of Philox 4x32 for each element, from the element's number, a seed and an offset.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @of_a_tensor
func.func @of_a_tensor(%n: tensor<?x?xi64>, %seed: tensor<?x?xi64>, %offset: tensor<?x?xi64>) -> tensor<?x?xi32> {
  // CHECK: "fold.philox"(%{{.*}}, %{{.*}}, %{{.*}}) {rounds = 10 : i64} : (tensor<?x?xi64>, tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi32>
  %w = "fold.philox"(%n, %seed, %offset) {rounds = 10} : (tensor<?x?xi64>, tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi32>
  return %w : tensor<?x?xi32>
}

// CHECK-LABEL: func.func @of_a_fragment
func.func @of_a_fragment(%n: vector<4xi64>, %seed: vector<4xi64>, %offset: vector<4xi64>) -> vector<4xi32> {
  // CHECK: -> vector<4xi32>
  %w = "fold.philox"(%n, %seed, %offset) {rounds = 10} : (vector<4xi64>, vector<4xi64>, vector<4xi64>) -> vector<4xi32>
  return %w : vector<4xi32>
}

// CHECK-LABEL: func.func @of_an_element
func.func @of_an_element(%n: i64, %seed: i64, %offset: i64) -> i32 {
  // CHECK: (i64, i64, i64) -> i32
  %w = "fold.philox"(%n, %seed, %offset) {rounds = 7} : (i64, i64, i64) -> i32
  return %w : i32
}
