// Errors of fold.tile_rows.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @uneven(%x: !llvm.ptr<1>, %n: i32) -> !llvm.ptr<3> {
  // expected-error @below {{WF310: fold.tile_rows expects parts of a multiple of 16 bytes, got 60}}
  %copy = "fold.tile_rows"(%x, %n, %n, %n, %n, %n, %n, %n) {item = 2, parts = 271, length = 30, skew = 8, threads = 512} : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return %copy : !llvm.ptr<3>
}

// -----

func.func @none(%x: !llvm.ptr<1>, %n: i32) -> !llvm.ptr<3> {
  // expected-error @below {{WF310: fold.tile_rows expects parts of some rows, got 0}}
  %copy = "fold.tile_rows"(%x, %n, %n, %n, %n, %n, %n, %n) {item = 2, parts = 0, length = 32, skew = 8, threads = 512} : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return %copy : !llvm.ptr<3>
}
