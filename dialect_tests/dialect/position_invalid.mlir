// Errors of fold.position.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @reduced_is_no_index(%k: i32, %r: index, %base: i32, %stride: i32) {
  // expected-error @below {{WF310: fold.position expects an i32 or i64 as operand 1, got index}}
  %made = "fold.position"(%k, %r, %base, %stride) {kept_rank = 0, reduced_rank = 1, axis = "reduced"} : (i32, index, i32, i32) -> i64
  return
}

// -----

func.func @base_is_no_index(%k: i32, %r: i32, %base: i8, %stride: i32) {
  // expected-error @below {{WF310: fold.position expects an i32 or i64 as operand 2, got i8}}
  %made = "fold.position"(%k, %r, %base, %stride) {kept_rank = 0, reduced_rank = 1, axis = "reduced"} : (i32, i32, i8, i32) -> i64
  return
}

// -----

func.func @layout_of_rank_two(%k: i32, %r: i32, %base: i32, %stride: i32) {
  // Rank 2: the inner size, then two index strides.
  // expected-error @below {{WF310: fold.position expects 3 layout operands for ranks 0 and 2, got 1}}
  %made = "fold.position"(%k, %r, %base, %stride) {kept_rank = 0, reduced_rank = 2, axis = "reduced"} : (i32, i32, i32, i32) -> i64
  return
}

// -----

func.func @no_rank(%k: i32, %r: i32, %base: i32, %stride: i32) {
  // expected-error @below {{WF311: fold.position expects the attribute reduced_rank to be an integer}}
  %made = "fold.position"(%k, %r, %base, %stride) {kept_rank = 0, axis = "reduced"} : (i32, i32, i32, i32) -> i64
  return
}

// -----

func.func @unknown_axis(%k: i32, %r: i32, %base: i32, %stride: i32) {
  // expected-error @below {{WF311: fold.position expects the attribute axis to be one of kept reduced}}
  %made = "fold.position"(%k, %r, %base, %stride) {kept_rank = 0, reduced_rank = 1, axis = 0} : (i32, i32, i32, i32) -> i64
  return
}

// -----

func.func @numbers_are_integers(%k: i32, %r: i32, %base: i32, %stride: i32) {
  // expected-error @below {{WF310: fold.position expects an integer fragment, got vector<4xf32>}}
  %made = "fold.position"(%k, %r, %base, %stride) {kept_rank = 0, reduced_rank = 1, axis = "reduced"} : (i32, i32, i32, i32) -> vector<4xf32>
  return
}
