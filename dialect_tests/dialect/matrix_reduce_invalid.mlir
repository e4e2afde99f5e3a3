// Errors of fold.matrix_reduce.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @one_block(%x: vector<2xf16>, %start: vector<2xf32>) {
  // expected-error @below {{WF310: fold.matrix_reduce expects two or four blocks of f16, bf16 or i8, got vector<2xf16>}}
  %0 = "fold.matrix_reduce"(%x, %start) : (vector<2xf16>, vector<2xf32>) -> vector<2xf32>
  return
}

// -----

func.func @sums_of_halves_in_halves(%x: vector<4xf16>, %start: vector<2xf32>) {
  // expected-error @below {{WF310: fold.matrix_reduce expects a result of type vector<2xf32>, got vector<2xf16>}}
  %0 = "fold.matrix_reduce"(%x, %start) : (vector<4xf16>, vector<2xf32>) -> vector<2xf16>
  return
}

// -----

func.func @another_start(%x: vector<4xf16>, %start: vector<2xi32>) {
  // expected-error @below {{WF310: fold.matrix_reduce expects a vector<2xf32> as operand 1, got vector<2xi32>}}
  %0 = "fold.matrix_reduce"(%x, %start) : (vector<4xf16>, vector<2xi32>) -> vector<2xf32>
  return
}

// -----

func.func @halves_without_a_sign(%x: vector<4xf16>, %start: vector<2xf32>) {
  // expected-error @below {{WF310: fold.matrix_reduce expects unsigned for i8 alone, got vector<4xf16>}}
  %0 = "fold.matrix_reduce"(%x, %start) {unsigned = true} : (vector<4xf16>, vector<2xf32>) -> vector<2xf32>
  return
}

// -----

func.func @halves_of_two_lanes(%x: vector<4xf16>, %start: vector<2xf32>) {
  // expected-error @below {{WF310: fold.matrix_reduce expects 4 lanes for vector<4xf16>, got 2}}
  %0 = "fold.matrix_reduce"(%x, %start) {lanes = 2} : (vector<4xf16>, vector<2xf32>) -> vector<2xf32>
  return
}

// -----

func.func @eight_lanes(%x: vector<16xi8>, %start: vector<2xi32>) {
  // expected-error @below {{WF311: fold.matrix_reduce expects the attribute lanes to be a power of two up to 4, got 8}}
  %0 = "fold.matrix_reduce"(%x, %start) {lanes = 8} : (vector<16xi8>, vector<2xi32>) -> vector<2xi32>
  return
}
