// Errors of fold.arrive.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @counters_are_shared(%c: !llvm.ptr<3>, %i: i32, %n: i32) {
  // expected-error @below {{WF310: fold.arrive expects a !llvm.ptr<1> as operand 0, got !llvm.ptr<3>}}
  %y = "fold.arrive"(%c, %i, %n) : (!llvm.ptr<3>, i32, i32) -> i1
  return
}

// -----

func.func @number_is_no_index(%c: !llvm.ptr<1>, %i: index, %n: i32) {
  // expected-error @below {{WF310: fold.arrive expects an i32 or i64 as operand 1, got index}}
  %y = "fold.arrive"(%c, %i, %n) : (!llvm.ptr<1>, index, i32) -> i1
  return
}

// -----

func.func @count_is_a_float(%c: !llvm.ptr<1>, %i: i32, %n: f32) {
  // expected-error @below {{WF310: fold.arrive expects an i32 or i64 as operand 2, got f32}}
  %y = "fold.arrive"(%c, %i, %n) : (!llvm.ptr<1>, i32, f32) -> i1
  return
}

// -----

func.func @no_count(%c: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF310: fold.arrive expects 3 operand(s), got 2}}
  %y = "fold.arrive"(%c, %i) : (!llvm.ptr<1>, i32) -> i1
  return
}

// -----

func.func @a_word_for_a_truth_value(%c: !llvm.ptr<1>, %i: i32, %n: i32) {
  // expected-error @below {{WF310: fold.arrive expects a result of type i1, got i32}}
  %y = "fold.arrive"(%c, %i, %n) : (!llvm.ptr<1>, i32, i32) -> i32
  return
}
