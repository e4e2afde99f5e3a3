// Blocks of matrices from shared memory: the lowering of fold.matrix_load.

// RUN: warpfold-opt %s --split-input-file --pass-pipeline='builtin.module(lower-matrix-load,canonicalize,cse)' | FileCheck %s

gpu.module @device {
  // CHECK-LABEL: func.func @rows
  // CHECK-SAME:    (%[[TILE:.*]]: !llvm.ptr<3>, %[[ROW:.*]]: i32)
  func.func @rows(%tile: !llvm.ptr<3>, %row: i32) -> vector<8xf16> {
    // Each lane gives the address of the row that it names, and gets a word of each of the four blocks.
    // CHECK-NEXT: %[[AT:.*]] = llvm.getelementptr %[[TILE]][%[[ROW]]] {{.*}}, f16
    // CHECK-NEXT: nvvm.ldmatrix %[[AT]] {eltType = {{.*}}<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32
    // CHECK-COUNT-4: llvm.extractvalue
    // CHECK:      vector.bitcast %{{.*}} : vector<4xi32> to vector<8xf16>
    %x = "fold.matrix_load"(%tile, %row) {blocks = 4, transposed = false} : (!llvm.ptr<3>, i32) -> vector<8xf16>
    return %x : vector<8xf16>
  }

  // One block is one word.
  // CHECK-LABEL: func.func @columns
  // CHECK:         nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<col>, num = 1 : i32{{.*}}} : (!llvm.ptr<3>) -> i32
  // CHECK-NOT:     llvm.extractvalue
  func.func @columns(%tile: !llvm.ptr<3>, %row: i32) -> vector<2xf16> {
    %x = "fold.matrix_load"(%tile, %row) {blocks = 1, transposed = true} : (!llvm.ptr<3>, i32) -> vector<2xf16>
    return %x : vector<2xf16>
  }
}

// -----

// A target without the instruction: a lane asks lane l / 4 for its row, and reads word l % 4 of it.
gpu.module @device attributes {fold.target = "sm_75"} {
  // CHECK-LABEL: func.func @words
  // CHECK-SAME:    (%[[TILE:.*]]: !llvm.ptr<3>, %[[ROW:.*]]: i32)
  func.func @words(%tile: !llvm.ptr<3>, %row: i32) -> vector<2xf16> {
    // CHECK:      %[[QUARTER:.*]] = arith.shrui %[[LANE:.*]], %c2_i32
    // CHECK:      %[[NAMED:.*]], %{{.*}} = gpu.shuffle idx %[[ROW]], %[[QUARTER]]
    // CHECK:      %[[PART:.*]] = arith.andi %[[LANE]], %c3_i32
    // CHECK-NEXT: %[[COLUMN:.*]] = arith.muli %[[PART]], %c2_i32
    // CHECK-NEXT: %[[INDEX:.*]] = arith.addi %[[NAMED]], %[[COLUMN]]
    // CHECK-NEXT: %[[AT:.*]] = llvm.getelementptr %[[TILE]][%[[INDEX]]]
    // CHECK-NEXT: llvm.load %[[AT]] {alignment = 4 : i64} : !llvm.ptr<3> -> i32
    %x = "fold.matrix_load"(%tile, %row) {blocks = 1, transposed = false} : (!llvm.ptr<3>, i32) -> vector<2xf16>
    return %x : vector<2xf16>
  }

  // Two elements of a column lie in two rows.
  // CHECK-LABEL: func.func @elements
  // CHECK-COUNT-2: gpu.shuffle idx
  // CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<3> -> i16
  func.func @elements(%tile: !llvm.ptr<3>, %row: i32) -> vector<2xf16> {
    %x = "fold.matrix_load"(%tile, %row) {blocks = 1, transposed = true} : (!llvm.ptr<3>, i32) -> vector<2xf16>
    return %x : vector<2xf16>
  }
}
