// A target whose tensor cores have no such product.

// RUN: not warpfold-opt %s --pass-pipeline='builtin.module(lower-matrix-reduce)' 2>&1 | FileCheck %s

// CHECK: WF325: fold.matrix_reduce has no instruction on sm_75
gpu.module @device attributes {fold.target = "sm_75"} {
  func.func @halves(%x: vector<4xf16>, %start: vector<2xf32>) -> vector<2xf32> {
    %sums = "fold.matrix_reduce"(%x, %start) : (vector<4xf16>, vector<2xf32>) -> vector<2xf32>
    return %sums : vector<2xf32>
  }
}
