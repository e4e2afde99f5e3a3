// Errors of fold.philox.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @numbers_of_32_bits(%n: i32, %seed: i32, %offset: i32) {
  // expected-error @below {{WF310: fold.philox expects operands of i64, got i32}}
  %w = "fold.philox"(%n, %seed, %offset) {rounds = 10} : (i32, i32, i32) -> i32
  return
}

// -----

func.func @seed_of_another_shape(%n: vector<4xi64>, %seed: i64, %offset: vector<4xi64>) {
  // expected-error @below {{WF310: fold.philox expects operands of one type, got vector<4xi64>, i64, vector<4xi64>}}
  %w = "fold.philox"(%n, %seed, %offset) {rounds = 10} : (vector<4xi64>, i64, vector<4xi64>) -> vector<4xi32>
  return
}

// -----

func.func @no_rounds(%n: i64, %seed: i64, %offset: i64) {
  // expected-error @below {{WF310: fold.philox expects 1 to 16 rounds, got 0}}
  %w = "fold.philox"(%n, %seed, %offset) {rounds = 0} : (i64, i64, i64) -> i32
  return
}

// -----

func.func @too_many_rounds(%n: i64, %seed: i64, %offset: i64) {
  // expected-error @below {{WF310: fold.philox expects 1 to 16 rounds, got 4294967296}}
  %w = "fold.philox"(%n, %seed, %offset) {rounds = 4294967296} : (i64, i64, i64) -> i32
  return
}

// -----

func.func @words_of_another_shape(%n: vector<4xi64>, %seed: vector<4xi64>, %offset: vector<4xi64>) {
  // expected-error @below {{WF310: fold.philox expects a result of type vector<4xi32>, got vector<2xi32>}}
  %w = "fold.philox"(%n, %seed, %offset) {rounds = 10} : (vector<4xi64>, vector<4xi64>, vector<4xi64>) -> vector<2xi32>
  return
}
