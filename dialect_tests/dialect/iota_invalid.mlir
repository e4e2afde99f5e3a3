// Errors of fold.iota.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @a_scalar() {
  // expected-error @below {{WF310: fold.iota expects a ranked tensor result, got i64}}
  %i = "fold.iota"() {dims = array<i64>} : () -> i64
  return
}

// -----

func.func @numbers_are_integers() {
  // expected-error @below {{WF310: fold.iota expects integer elements, got f32}}
  %i = "fold.iota"() {dims = array<i64: 0>} : () -> tensor<?xf32>
  return
}

// -----

func.func @no_dims() {
  // expected-error @below {{WF311: fold.iota expects the attribute dims to be an array<i64>}}
  %i = "fold.iota"() : () -> tensor<?xi64>
  return
}

// -----

func.func @dim_twice() {
  // expected-error @below {{WF314: fold.iota expects increasing dims from 0 to 2 - 1, got [1, 1]}}
  %i = "fold.iota"() {dims = array<i64: 1, 1>} : () -> tensor<?x?xi64>
  return
}

// -----

func.func @numberings_begin_at_0() {
  // expected-error @below {{WF310: fold.iota expects a numbering from 0 on, got -1}}
  %i = "fold.iota"() {dims = array<i64: 0>, numbering = -1} : () -> tensor<?xi64>
  return
}
