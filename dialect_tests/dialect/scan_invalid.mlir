// Errors of fold.scan.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @no_tensor(%x: f32) {
  // expected-error @below {{WF310: fold.scan expects a ranked tensor or a tuple of them, got f32}}
  %r = "fold.scan"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = array<i64: 0>, exclusive = false} : (f32) -> f32
  return
}

// -----

func.func @no_dim(%x: tensor<?xf32>) {
  // expected-error @below {{WF310: fold.scan expects at least one dim, got []}}
  %r = "fold.scan"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = array<i64>, exclusive = false} : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @dim_beyond(%x: tensor<?xf32>) {
  // expected-error @below {{WF314: fold.scan expects increasing dims from 0 to 1 - 1, got [1]}}
  %r = "fold.scan"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = array<i64: 1>, exclusive = false} : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @no_kind(%x: tensor<?xf32>) {
  // expected-error @below {{WF311: fold.scan expects the attribute exclusive to be true or false}}
  %r = "fold.scan"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = array<i64: 0>} : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @result_of_another_type(%x: tensor<?xf32>) {
  // expected-error @below {{WF310: fold.scan expects a result of type tensor<?xf32>, got f32}}
  %r = "fold.scan"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = array<i64: 0>, exclusive = false} : (tensor<?xf32>) -> f32
  return
}
