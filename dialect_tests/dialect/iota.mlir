// fold.iota: each element's number among the reduced ones, in the caller's row-major order, whatever the order of the dims
// in the walk. argmax carries it beside the value.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @in_a_row
func.func @in_a_row() -> tensor<?x?xi64> {
  // `dims` are the reduced dims; along the kept one the numbers repeat.
  // CHECK: "fold.iota"() {dims = array<i64: 1>} : () -> tensor<?x?xi64>
  %i = "fold.iota"() {dims = array<i64: 1>} : () -> tensor<?x?xi64>
  return %i : tensor<?x?xi64>
}

// CHECK-LABEL: func.func @of_rows
func.func @of_rows() -> tensor<?xi64> {
  // A program that reads its rows again has several numberings; this one numbers the rows.
  // CHECK: "fold.iota"() {dims = array<i64: 0>, numbering = 1 : i64} : () -> tensor<?xi64>
  %i = "fold.iota"() {dims = array<i64: 0>, numbering = 1} : () -> tensor<?xi64>
  return %i : tensor<?xi64>
}

// CHECK-LABEL: func.func @in_the_whole_array
func.func @in_the_whole_array() -> tensor<?x?xi32> {
  // CHECK: "fold.iota"() {dims = array<i64: 0, 1>} : () -> tensor<?x?xi32>
  %i = "fold.iota"() {dims = array<i64: 0, 1>} : () -> tensor<?x?xi32>
  return %i : tensor<?x?xi32>
}
