// fold.word: an element's rank above its number, as one integer.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @of_a_tensor
func.func @of_a_tensor(%x: tensor<?x?xf32>, %n: tensor<?x?xi32>) -> tensor<?x?xi64> {
  // CHECK: "fold.word"(%{{.*}}, %{{.*}}) {bits = 32 : i64, falls = true, unsigned = false} : (tensor<?x?xf32>, tensor<?x?xi32>) -> tensor<?x?xi64>
  %w = "fold.word"(%x, %n) {bits = 32, falls = true, unsigned = false} : (tensor<?x?xf32>, tensor<?x?xi32>) -> tensor<?x?xi64>
  return %w : tensor<?x?xi64>
}

// CHECK-LABEL: func.func @of_a_fragment
func.func @of_a_fragment(%x: vector<4xi32>, %n: vector<4xi32>) -> vector<4xi32> {
  // CHECK: -> vector<4xi32>
  %w = "fold.word"(%x, %n) {bits = 8, falls = false, unsigned = true} : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  return %w : vector<4xi32>
}

// CHECK-LABEL: func.func @of_an_element
func.func @of_an_element(%x: i8, %n: i32) -> i32 {
  // CHECK: (i8, i32) -> i32
  %w = "fold.word"(%x, %n) {bits = 8, falls = false, unsigned = true} : (i8, i32) -> i32
  return %w : i32
}
