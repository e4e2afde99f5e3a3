// Errors of fold.matrix_load.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @from_global_memory(%x: !llvm.ptr<1>, %row: i32) {
  // expected-error @below {{WF310: fold.matrix_load expects a !llvm.ptr<3> as operand 0, got !llvm.ptr<1>}}
  %0 = "fold.matrix_load"(%x, %row) {blocks = 1, transposed = false} : (!llvm.ptr<1>, i32) -> vector<2xf16>
  return
}

// -----

func.func @three_blocks(%tile: !llvm.ptr<3>, %row: i32) {
  // expected-error @below {{WF311: fold.matrix_load expects the attribute blocks to be a power of two up to 4, got 3}}
  %0 = "fold.matrix_load"(%tile, %row) {blocks = 3, transposed = false} : (!llvm.ptr<3>, i32) -> vector<6xf16>
  return
}

// -----

func.func @neither_way(%tile: !llvm.ptr<3>, %row: i32) {
  // expected-error @below {{WF311: fold.matrix_load expects the attribute transposed to be true or false}}
  %0 = "fold.matrix_load"(%tile, %row) {blocks = 1} : (!llvm.ptr<3>, i32) -> vector<2xf16>
  return
}

// -----

func.func @elements_of_32_bits(%tile: !llvm.ptr<3>, %row: i32) {
  // expected-error @below {{WF310: fold.matrix_load expects a vector of f16 bf16 i16 i8 as a result, got vector<2xf32>}}
  %0 = "fold.matrix_load"(%tile, %row) {blocks = 2, transposed = false} : (!llvm.ptr<3>, i32) -> vector<2xf32>
  return
}

// -----

func.func @transposed_bytes(%tile: !llvm.ptr<3>, %row: i32) {
  // expected-error @below {{WF310: fold.matrix_load expects a vector of f16 bf16 i16 as a result, got vector<4xi8>}}
  %0 = "fold.matrix_load"(%tile, %row) {blocks = 1, transposed = true} : (!llvm.ptr<3>, i32) -> vector<4xi8>
  return
}

// -----

func.func @half_a_fragment(%tile: !llvm.ptr<3>, %row: i32) {
  // expected-error @below {{WF310: fold.matrix_load expects a vector of 8 elements as a result, got 4}}
  %0 = "fold.matrix_load"(%tile, %row) {blocks = 4, transposed = true} : (!llvm.ptr<3>, i32) -> vector<4xf16>
  return
}
