// fold.matrix_reduce: the sums of the 16 rows of a matrix, which a warp holds in two blocks or in four.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @halves
func.func @halves(%x: vector<8xbf16>, %start: vector<2xf32>) -> vector<2xf32> {
  // Lane l gets the sums of rows l / 4 and l / 4 + 8.
  // CHECK:      "fold.matrix_reduce"
  // CHECK-SAME: (vector<8xbf16>, vector<2xf32>) -> vector<2xf32>
  %sums = "fold.matrix_reduce"(%x, %start) : (vector<8xbf16>, vector<2xf32>) -> vector<2xf32>
  return %sums : vector<2xf32>
}

// CHECK-LABEL: func.func @bytes_without_a_sign
func.func @bytes_without_a_sign(%x: vector<16xi8>, %start: vector<2xi32>) -> vector<2xi32> {
  // CHECK:      "fold.matrix_reduce"
  // CHECK-SAME: {unsigned = true}
  %sums = "fold.matrix_reduce"(%x, %start) {unsigned = true} : (vector<16xi8>, vector<2xi32>) -> vector<2xi32>
  return %sums : vector<2xi32>
}

// CHECK-LABEL: func.func @lanes_with_rows_of_their_own
func.func @lanes_with_rows_of_their_own(%x: vector<16xi8>, %start: vector<2xi32>) -> vector<2xi32> {
  // Each lane gets the sums of the bytes that it holds: no other lane's are added.
  // CHECK:      "fold.matrix_reduce"
  // CHECK-SAME: {lanes = 1 : i64}
  %sums = "fold.matrix_reduce"(%x, %start) {lanes = 1 : i64} : (vector<16xi8>, vector<2xi32>) -> vector<2xi32>
  return %sums : vector<2xi32>
}
