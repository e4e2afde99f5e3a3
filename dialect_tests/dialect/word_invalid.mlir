// Errors of fold.word.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @elements_of_64_bits(%x: f64, %n: i32) {
  // expected-error @below {{WF310: fold.word expects elements of i8 or i32 or f32, got f64}}
  %w = "fold.word"(%x, %n) {bits = 32, falls = true, unsigned = false} : (f64, i32) -> i64
  return
}

// -----

func.func @unsigned_floats(%x: f32, %n: i32) {
  // expected-error @below {{WF310: fold.word expects integers if unsigned, got f32}}
  %w = "fold.word"(%x, %n) {bits = 32, falls = true, unsigned = true} : (f32, i32) -> i64
  return
}

// -----

func.func @half_a_byte(%x: i32, %n: i32) {
  // expected-error @below {{WF310: fold.word expects bits of 8, 16 or 32, got 4}}
  %w = "fold.word"(%x, %n) {bits = 4, falls = true, unsigned = false} : (i32, i32) -> i32
  return
}

// -----

func.func @numbers_of_64_bits(%x: vector<2xi32>, %n: vector<2xi64>) {
  // expected-error @below {{WF310: fold.word expects a number of type vector<2xi32>, got vector<2xi64>}}
  %w = "fold.word"(%x, %n) {bits = 32, falls = true, unsigned = false} : (vector<2xi32>, vector<2xi64>) -> vector<2xi64>
  return
}

// -----

func.func @a_rank_without_room_for_a_number(%x: i32, %n: i32) {
  // expected-error @below {{WF310: fold.word expects a result of type i64, got i32}}
  %w = "fold.word"(%x, %n) {bits = 32, falls = true, unsigned = false} : (i32, i32) -> i32
  return
}

// -----

func.func @order_missing(%x: i32, %n: i32) {
  // expected-error @below {{WF311: fold.word}}
  %w = "fold.word"(%x, %n) {bits = 32, unsigned = false} : (i32, i32) -> i64
  return
}
