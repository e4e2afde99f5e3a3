// fold.block_load: contiguous elements in memory, as whole accesses. A thread that reads short rows without gaps needs no
// row bounds: it reads as many rows as fill accesses.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @sixteen_rows_of_three_bytes
func.func @sixteen_rows_of_three_bytes(%x: !llvm.ptr<1>, %first: i32, %total: i32) -> vector<16xi1> {
  // Three accesses of 16 bytes; a truth value is a byte in memory. No element from total on is read.
  // CHECK:      %{{.*}}:3 = "fold.block_load"
  // CHECK-SAME: -> (vector<16xi1>, vector<16xi1>, vector<16xi1>)
  %accesses:3 = "fold.block_load"(%x, %first, %total)
    : (!llvm.ptr<1>, i32, i32) -> (vector<16xi1>, vector<16xi1>, vector<16xi1>)
  return %accesses#2 : vector<16xi1>
}

// CHECK-LABEL: func.func @two_rows_of_two_doubles
func.func @two_rows_of_two_doubles(%x: !llvm.ptr<1>, %first: i64, %total: i64) -> vector<2xf64> {
  // CHECK:      "fold.block_load"
  // CHECK-SAME: (!llvm.ptr<1>, i64, i64) -> (vector<2xf64>, vector<2xf64>)
  %accesses:2 = "fold.block_load"(%x, %first, %total) : (!llvm.ptr<1>, i64, i64) -> (vector<2xf64>, vector<2xf64>)
  return %accesses#0 : vector<2xf64>
}
