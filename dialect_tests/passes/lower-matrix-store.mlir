// Blocks of matrices to shared memory: the lowering of fold.matrix_store.

// RUN: warpfold-opt %s --split-input-file --pass-pipeline='builtin.module(lower-matrix-store,canonicalize,cse)' | FileCheck %s

gpu.module @device {
  // CHECK-LABEL: func.func @rows
  // CHECK-SAME:    (%[[X:.*]]: vector<4xf16>, %[[TILE:.*]]: !llvm.ptr<3>, %[[ROW:.*]]: i32)
  func.func @rows(%x: vector<4xf16>, %tile: !llvm.ptr<3>, %row: i32) {
    // CHECK-NEXT: %[[WORDS:.*]] = vector.bitcast %[[X]] : vector<4xf16> to vector<2xi32>
    // CHECK-NEXT: %[[FIRST:.*]] = vector.extract %[[WORDS]][0]
    // CHECK-NEXT: %[[SECOND:.*]] = vector.extract %[[WORDS]][1]
    // CHECK-NEXT: %[[AT:.*]] = llvm.getelementptr %[[TILE]][%[[ROW]]] {{.*}}, f16
    // CHECK-NEXT: nvvm.stmatrix %[[AT]], %[[FIRST]], %[[SECOND]] {{{.*}}layout = #nvvm.mma_layout<row>
    "fold.matrix_store"(%x, %tile, %row) {blocks = 2, transposed = false} : (vector<4xf16>, !llvm.ptr<3>, i32) -> ()
    return
  }
}

// -----

// The instruction is one of sm_90. Before, the two elements of a lane in a transposed block go to their rows one by one.
gpu.module @device attributes {fold.target = "sm_80"} {
  // CHECK-LABEL: func.func @columns
  // CHECK:         nvvm.bar.warp.sync
  // CHECK-COUNT-2: gpu.shuffle idx
  // CHECK-COUNT-2: llvm.store %{{.*}} {alignment = 2 : i64} : i16, !llvm.ptr<3>
  func.func @columns(%x: vector<2xf16>, %tile: !llvm.ptr<3>, %row: i32) {
    "fold.matrix_store"(%x, %tile, %row) {blocks = 1, transposed = true} : (vector<2xf16>, !llvm.ptr<3>, i32) -> ()
    return
  }
}
