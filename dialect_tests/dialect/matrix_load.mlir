// fold.matrix_load: blocks of 8 rows of 16 bytes come from shared memory into the registers of a warp.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @columns_of_halves
func.func @columns_of_halves(%tile: !llvm.ptr<3>, %row: i32) -> vector<8xbf16> {
  // Lane 8 * b + r names row r of block b. Transposed, lane l gets two elements of column l / 4 of each block.
  // CHECK:      "fold.matrix_load"
  // CHECK-SAME: {blocks = 4 : i64, transposed = true}
  // CHECK-SAME: (!llvm.ptr<3>, i32) -> vector<8xbf16>
  %x = "fold.matrix_load"(%tile, %row) {blocks = 4, transposed = true} : (!llvm.ptr<3>, i32) -> vector<8xbf16>
  return %x : vector<8xbf16>
}

// CHECK-LABEL: func.func @rows_of_bytes
func.func @rows_of_bytes(%tile: !llvm.ptr<3>, %row: i64) -> vector<4xi8> {
  // A block of bytes has rows of 16 elements, of which a lane gets four.
  // CHECK:      "fold.matrix_load"
  // CHECK-SAME: (!llvm.ptr<3>, i64) -> vector<4xi8>
  %x = "fold.matrix_load"(%tile, %row) {blocks = 1, transposed = false} : (!llvm.ptr<3>, i64) -> vector<4xi8>
  return %x : vector<4xi8>
}
