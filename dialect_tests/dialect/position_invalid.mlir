// Errors of fold.position.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @reduced_is_no_index(%r: index, %base: i32, %stride: i32) {
  // expected-error @below {{WF310: fold.position expects an i32 or i64 as operand 0, got index}}
  %made = "fold.position"(%r, %base, %stride) {reduced_rank = 1, axis = "reduced"} : (index, i32, i32) -> i64
  return
}

// -----

func.func @base_is_no_index(%r: i32, %base: i8, %stride: i32) {
  // expected-error @below {{WF310: fold.position expects an i32 or i64 as operand 1, got i8}}
  %made = "fold.position"(%r, %base, %stride) {reduced_rank = 1, axis = "reduced"} : (i32, i8, i32) -> i64
  return
}

// -----

func.func @layout_of_rank_two(%r: i32, %base: i32, %stride: i32) {
  // Rank 2: the inner size, then two index strides.
  // expected-error @below {{WF310: fold.position expects 3 layout operands for rank 2, got 1}}
  %made = "fold.position"(%r, %base, %stride) {reduced_rank = 2, axis = "reduced"} : (i32, i32, i32) -> i64
  return
}

// -----

func.func @no_rank(%r: i32, %base: i32, %stride: i32) {
  // expected-error @below {{WF311: fold.position expects the attribute reduced_rank to be an integer}}
  %made = "fold.position"(%r, %base, %stride) {axis = "reduced"} : (i32, i32, i32) -> i64
  return
}

// -----

func.func @unknown_axis(%r: i32, %base: i32, %stride: i32) {
  // expected-error @below {{WF311: fold.position expects the attribute axis to be one of kept reduced}}
  %made = "fold.position"(%r, %base, %stride) {reduced_rank = 1, axis = 0} : (i32, i32, i32) -> i64
  return
}

// -----

func.func @numbers_are_integers(%r: i32, %base: i32, %stride: i32) {
  // expected-error @below {{WF310: fold.position expects an integer fragment, got vector<4xf32>}}
  %made = "fold.position"(%r, %base, %stride) {reduced_rank = 1, axis = "reduced"} : (i32, i32, i32) -> vector<4xf32>
  return
}
