// Errors of fold.ticket.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @counter_is_shared(%c: !llvm.ptr<3>, %n: i32) {
  // expected-error @below {{WF310: fold.ticket expects a !llvm.ptr<1> as operand 0, got !llvm.ptr<3>}}
  %x = "fold.ticket"(%c, %n) : (!llvm.ptr<3>, i32) -> i32
  return
}

// -----

func.func @count_is_no_index(%c: !llvm.ptr<1>, %n: index) {
  // expected-error @below {{WF310: fold.ticket expects an i32 or i64 as operand 1, got index}}
  %x = "fold.ticket"(%c, %n) : (!llvm.ptr<1>, index) -> index
  return
}

// -----

func.func @number_of_another_type(%c: !llvm.ptr<1>, %n: i64) {
  // expected-error @below {{WF310: fold.ticket expects a result of type i64, got i32}}
  %x = "fold.ticket"(%c, %n) : (!llvm.ptr<1>, i64) -> i32
  return
}

// -----

func.func @no_count(%c: !llvm.ptr<1>) {
  // expected-error @below {{WF310: fold.ticket expects 2 operand(s), got 1}}
  %x = "fold.ticket"(%c) : (!llvm.ptr<1>) -> i32
  return
}
