// Errors of fold.ballot.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @of_numbers(%mask: i32) {
  // expected-error @below {{WF310: fold.ballot expects a mask of i1, got i32}}
  %word = "fold.ballot"(%mask) : (i32) -> i32
  return
}

// -----

func.func @too_many(%mask: vector<32xi1>) {
  // expected-error @below {{WF310: fold.ballot expects 1, 2, 4, 8 or 16 elements, got 32}}
  %word = "fold.ballot"(%mask) : (vector<32xi1>) -> i32
  return
}

// -----

func.func @to_a_long_word(%mask: i1) {
  // expected-error @below {{WF310: fold.ballot expects a result of type i32, got i64}}
  %word = "fold.ballot"(%mask) : (i1) -> i64
  return
}

// -----

func.func @by_hand(%mask: i1) {
  // expected-error @below {{WF311: fold.ballot expects the attribute word to be one of shuffle ballot redux byte}}
  %word = "fold.ballot"(%mask) {word = "hand"} : (i1) -> i32
  return
}

// -----

func.func @of_more_lanes(%mask: vector<8xi1>) {
  // expected-error @below {{WF310: fold.ballot expects lanes = one of [1, 2], got 4}}
  %word = "fold.ballot"(%mask) {lanes = 4 : i64} : (vector<8xi1>) -> i32
  return
}
