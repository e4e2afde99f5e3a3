// Errors of fold.broadcast.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @to_a_scalar(%x: f32) {
  // expected-error @below {{WF310: fold.broadcast expects a ranked tensor result, got f32}}
  %r = "fold.broadcast"(%x) {dims = array<i64>} : (f32) -> f32
  return
}

// -----

func.func @ranks_do_not_add_up(%x: tensor<?xf32>) {
  // A source of rank 1 and one repeated dim give rank 2.
  // expected-error @below {{WF310: fold.broadcast expects a source of rank 2, got rank 1}}
  %r = "fold.broadcast"(%x) {dims = array<i64: 2>} : (tensor<?xf32>) -> tensor<?x?x?xf32>
  return
}

// -----

func.func @other_elements(%x: i32) {
  // expected-error @below {{WF310: fold.broadcast expects elements of type f32, got i32}}
  %r = "fold.broadcast"(%x) {dims = array<i64: 0>} : (i32) -> tensor<?xf32>
  return
}

// -----

func.func @no_dims(%x: f32) {
  // expected-error @below {{WF311: fold.broadcast expects the attribute dims to be an array<i64>}}
  %r = "fold.broadcast"(%x) : (f32) -> tensor<?xf32>
  return
}

// -----

func.func @dim_out_of_range(%x: f32) {
  // expected-error @below {{WF314: fold.broadcast expects increasing dims from 0 to 1 - 1, got [1]}}
  %r = "fold.broadcast"(%x) {dims = array<i64: 1>} : (f32) -> tensor<?xf32>
  return
}
