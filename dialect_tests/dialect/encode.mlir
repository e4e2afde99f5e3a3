// fold.encode: the bytes of the floats of 8 bits that are nearest to values.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @of_a_tensor
func.func @of_a_tensor(%x: tensor<?x?xf32>) -> tensor<?x?xi8> {
  // CHECK: "fold.encode"(%{{.*}}) {format = "f8e4m3fn"} : (tensor<?x?xf32>) -> tensor<?x?xi8>
  %b = "fold.encode"(%x) {format = "f8e4m3fn"} : (tensor<?x?xf32>) -> tensor<?x?xi8>
  return %b : tensor<?x?xi8>
}

// CHECK-LABEL: func.func @of_a_fragment
func.func @of_a_fragment(%x: vector<4xf32>) -> vector<4xi8> {
  // CHECK: -> vector<4xi8>
  %b = "fold.encode"(%x) {format = "f8e5m2"} : (vector<4xf32>) -> vector<4xi8>
  return %b : vector<4xi8>
}

// CHECK-LABEL: func.func @of_an_element
func.func @of_an_element(%x: f32) -> i8 {
  // CHECK: (f32) -> i8
  %b = "fold.encode"(%x) {format = "f8e4m3fn"} : (f32) -> i8
  return %b : i8
}
