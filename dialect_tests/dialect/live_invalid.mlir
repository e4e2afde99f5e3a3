// Errors of fold.live.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @reduced_is_no_index(%r: vector<4xi32>, %first: i32, %end: i32) {
  // expected-error @below {{WF310: fold.live expects an i32 or i64 as operand 0, got vector<4xi32>}}
  %made = "fold.live"(%r, %first, %end) : (vector<4xi32>, i32, i32) -> vector<4xi1>
  return
}

// -----

func.func @first_is_no_index(%r: i32, %first: f32, %end: i32) {
  // expected-error @below {{WF310: fold.live expects an i32 or i64 as operand 1, got f32}}
  %made = "fold.live"(%r, %first, %end) : (i32, f32, i32) -> vector<4xi1>
  return
}

// -----

func.func @end_is_no_index(%r: i32, %first: i32, %end: index) {
  // expected-error @below {{WF310: fold.live expects an i32 or i64 as operand 2, got index}}
  %made = "fold.live"(%r, %first, %end) : (i32, i32, index) -> vector<4xi1>
  return
}

// -----

func.func @bytes_are_no_mask(%r: i32, %first: i32, %end: i32) {
  // expected-error @below {{WF310: fold.live expects a mask of i1, got vector<4xi8>}}
  %made = "fold.live"(%r, %first, %end) : (i32, i32, i32) -> vector<4xi8>
  return
}
