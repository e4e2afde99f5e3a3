// Sums of the rows of a matrix by the tensor cores: the lowering of fold.matrix_reduce.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-matrix-reduce,canonicalize,cse)' | FileCheck %s

gpu.module @device {
  // CHECK-LABEL: func.func @halves
  func.func @halves(%x: vector<8xbf16>, %start: vector<2xf32>) -> vector<2xf32> {
    // A word of two ones, for each of the two words of a lane in a matrix of 16 rows and 8 columns.
    // CHECK-DAG:  %[[ONES:.*]] = arith.constant 1065369472 : i32
    // CHECK:      %[[PRODUCT:.*]] = nvvm.mma.sync A[{{.*}}] B[%[[ONES]], %[[ONES]]] C[%[[UPPER:.*]], %[[UPPER]], %[[LOWER:.*]], %[[LOWER]]]
    // CHECK-SAME: shape = #nvvm.shape<m = 16, n = 8, k = 16>
    // CHECK-NEXT: llvm.extractvalue %[[PRODUCT]][0]
    // CHECK-NEXT: llvm.extractvalue %[[PRODUCT]][2]
    %sums = "fold.matrix_reduce"(%x, %start) : (vector<8xbf16>, vector<2xf32>) -> vector<2xf32>
    return %sums : vector<2xf32>
  }

  // CHECK-LABEL: func.func @bytes
  // CHECK:         nvvm.mma.sync
  // CHECK-SAME:    multiplicandAPtxType = #nvvm.mma_type<u8>
  // CHECK-SAME:    shape = #nvvm.shape<m = 16, n = 8, k = 32>
  func.func @bytes(%x: vector<16xi8>, %start: vector<2xi32>) -> vector<2xi32> {
    %sums = "fold.matrix_reduce"(%x, %start) {unsigned = true} : (vector<16xi8>, vector<2xi32>) -> vector<2xi32>
    return %sums : vector<2xi32>
  }

  // CHECK-LABEL: func.func @lanes_with_rows_of_their_own
  func.func @lanes_with_rows_of_their_own(%x: vector<16xi8>, %start: vector<2xi32>) -> vector<2xi32> {
    // Column l / 4 of the ones has them for the elements of the lane that takes its sums from there.
    // CHECK:      %[[TAKER:.*]] = arith.shrui %[[LANE:.*]], %c3_i32 : i32
    // CHECK:      %[[HOLDER:.*]] = arith.andi %[[LANE]], %c3_i32 : i32
    // CHECK:      %[[OWN:.*]] = arith.cmpi eq, %[[TAKER]], %[[HOLDER]] : i32
    // CHECK-NEXT: %[[ONES:.*]] = arith.select %[[OWN]], %c16843009_i32, %c0_i32 : i32
    // CHECK:      nvvm.mma.sync A[{{.*}}] B[%[[ONES]], %[[ONES]]]
    %sums = "fold.matrix_reduce"(%x, %start) {lanes = 1} : (vector<16xi8>, vector<2xi32>) -> vector<2xi32>
    return %sums : vector<2xi32>
  }
}
