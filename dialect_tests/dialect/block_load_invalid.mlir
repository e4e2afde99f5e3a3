// Errors of fold.block_load.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @out_of_shared_memory(%x: !llvm.ptr<3>, %n: i32) {
  // expected-error @below {{WF310: fold.block_load expects a !llvm.ptr<1> as operand 0, got !llvm.ptr<3>}}
  %access = "fold.block_load"(%x, %n, %n) : (!llvm.ptr<3>, i32, i32) -> vector<4xf32>
  return
}

// -----

func.func @first_is_no_index(%x: !llvm.ptr<1>, %first: index, %n: i32) {
  // expected-error @below {{WF310: fold.block_load expects an i32 or i64 as operand 1, got index}}
  %access = "fold.block_load"(%x, %first, %n) : (!llvm.ptr<1>, index, i32) -> vector<4xf32>
  return
}

// -----

func.func @two_kinds_of_indices(%x: !llvm.ptr<1>, %first: i32, %total: i64) {
  // expected-error @below {{WF310: fold.block_load expects an i32 as operand 2, got i64}}
  %access = "fold.block_load"(%x, %first, %total) : (!llvm.ptr<1>, i32, i64) -> vector<4xf32>
  return
}

// -----

func.func @two_kinds_of_accesses(%x: !llvm.ptr<1>, %n: i32) {
  // expected-error @below {{WF310: fold.block_load expects accesses of one type, got vector<2xf64>, vector<4xf32>}}
  %accesses:2 = "fold.block_load"(%x, %n, %n) : (!llvm.ptr<1>, i32, i32) -> (vector<4xf32>, vector<2xf64>)
  return
}

// -----

func.func @half_an_access(%x: !llvm.ptr<1>, %n: i32) {
  // expected-error @below {{WF310: fold.block_load expects accesses of 16 bytes, got vector<4xbf16>}}
  %access = "fold.block_load"(%x, %n, %n) : (!llvm.ptr<1>, i32, i32) -> vector<4xbf16>
  return
}

// -----

func.func @nothing(%x: !llvm.ptr<1>, %n: i32) {
  // expected-error @below {{WF310: fold.block_load expects accesses of one type, got none}}
  "fold.block_load"(%x, %n, %n) : (!llvm.ptr<1>, i32, i32) -> ()
  return
}
