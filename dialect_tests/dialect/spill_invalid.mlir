// Errors of fold.spill.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @other_way_round(%buffer: !llvm.ptr<3>, %cells: !llvm.ptr<1>, %n: i32) {
  // expected-error @below {{WF310: fold.spill expects a !llvm.ptr<3> as operand 0, got !llvm.ptr<1>}}
  "fold.spill"(%cells, %buffer, %n) {count = 16, copies = 2, bits = 32} : (!llvm.ptr<1>, !llvm.ptr<3>, i32) -> ()
  return
}

// -----

func.func @of_a_byte(%buffer: !llvm.ptr<3>, %cells: !llvm.ptr<1>, %n: i32) {
  // expected-error @below {{WF310: fold.spill expects counters of 32 or 64 bits, got 8}}
  "fold.spill"(%buffer, %cells, %n) {count = 16, copies = 2, bits = 8} : (!llvm.ptr<3>, !llvm.ptr<1>, i32) -> ()
  return
}
