// Errors of fold.reduce.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @no_tensor(%x: f32) {
  // expected-error @below {{WF310: fold.reduce expects a ranked tensor or a tuple of them, got f32}}
  %r = "fold.reduce"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = array<i64>, commutative = true} : (f32) -> f32
  return
}

// -----

func.func @unranked(%x: tensor<*xf32>) {
  // expected-error @below {{WF310: fold.reduce expects a ranked tensor or a tuple of them, got tensor<*xf32>}}
  %r = "fold.reduce"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = array<i64>, commutative = true} : (tensor<*xf32>) -> f32
  return
}

// -----

func.func @ranks_differ(%x: tuple<tensor<?x?xf32>, tensor<?xf32>>) {
  // The values of one state are reduced together, so they have one shape.
  // expected-error @below {{WF310: fold.reduce expects inputs of rank 2, got tuple<tensor<?x?xf32>, tensor<?xf32>>}}
  %r = "fold.reduce"(%x) ({
    %z = arith.constant 0.0 : f32
    %s = builtin.unrealized_conversion_cast %z, %z : f32, f32 to tuple<f32, f32>
    "fold.yield"(%s) : (tuple<f32, f32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %s = builtin.unrealized_conversion_cast %a, %b : f32, f32 to tuple<f32, f32>
    "fold.yield"(%s) : (tuple<f32, f32>) -> ()
  }) {dims = array<i64: 1>, commutative = true} : (tuple<tensor<?x?xf32>, tensor<?xf32>>) -> tuple<tensor<?xf32>, tensor<?xf32>>
  return
}

// -----

func.func @wrong_result(%x: tensor<?x?xf32>) {
  // expected-error @below {{WF310: fold.reduce expects a result of type tensor<?xf32>, got tensor<?x?xf32>}}
  %r = "fold.reduce"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = array<i64: 1>, commutative = true} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return
}

// -----

func.func @no_flag(%x: tensor<?x?xf32>) {
  // expected-error @below {{WF311: fold.reduce expects the attribute commutative to be true or false}}
  %r = "fold.reduce"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = array<i64: 1>} : (tensor<?x?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @flag_is_no_bool(%x: tensor<?x?xf32>) {
  // expected-error @below {{WF311: fold.reduce expects the attribute commutative to be true or false}}
  %r = "fold.reduce"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = array<i64: 1>, commutative = 1} : (tensor<?x?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @no_dims(%x: tensor<?x?xf32>) {
  // expected-error @below {{WF311: fold.reduce expects the attribute dims to be an array<i64>}}
  %r = "fold.reduce"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @dims_of_another_kind(%x: tensor<?x?xf32>) {
  // expected-error @below {{WF311: fold.reduce expects the attribute dims to be an array<i64>}}
  %r = "fold.reduce"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = 1, commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @dim_out_of_range(%x: tensor<?x?xf32>) {
  // expected-error @below {{WF314: fold.reduce expects increasing dims from 0 to 2 - 1, got [2]}}
  %r = "fold.reduce"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = array<i64: 2>, commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @negative_dim(%x: tensor<?x?xf32>) {
  // expected-error @below {{WF314: fold.reduce expects increasing dims from 0 to 2 - 1, got [-1]}}
  %r = "fold.reduce"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = array<i64: -1>, commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @dims_out_of_order(%x: tensor<?x?xf32>) {
  // expected-error @below {{WF314: fold.reduce expects increasing dims from 0 to 2 - 1, got [1, 0]}}
  %r = "fold.reduce"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = array<i64: 1, 0>, commutative = true} : (tensor<?x?xf32>) -> tensor<f32>
  return
}

// -----

func.func @dim_twice(%x: tensor<?x?xf32>) {
  // expected-error @below {{WF314: fold.reduce expects increasing dims from 0 to 2 - 1, got [0, 0]}}
  %r = "fold.reduce"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = array<i64: 0, 0>, commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @identity_of_another_type(%x: tensor<?x?xf32>) {
  // The identity is a state like those that the combine takes.
  // expected-error @below {{WF313: fold.reduce expects a region that yields f32, got i32}}
  %r = "fold.reduce"(%x) ({
    %z = arith.constant 0 : i32
    "fold.yield"(%z) : (i32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = array<i64: 1>, commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @combine_of_one_argument(%x: tensor<?x?xf32>) {
  // expected-error @below {{WF312: fold.reduce expects a combine region with arguments f32, f32, got f32}}
  %r = "fold.reduce"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = array<i64: 1>, commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @combine_on_tensors(%x: tensor<?x?xf32>) {
  // The combine is scalar code; how many elements it runs on at once is decided later.
  // expected-error @below {{WF312: fold.reduce expects a combine region with arguments f32, f32, got tensor<?xf32>, tensor<?xf32>}}
  %r = "fold.reduce"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: tensor<?xf32>, %b: tensor<?xf32>):
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }) {dims = array<i64: 1>, commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @no_combine(%x: tensor<?x?xf32>) {
  // expected-error @below {{WF312: fold.reduce expects a combine region with arguments f32, f32, got 0 blocks}}
  %r = "fold.reduce"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  
  }) {dims = array<i64: 1>, commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @combine_yields_nothing(%x: tensor<?x?xf32>) {
  // expected-error @below {{WF313: fold.reduce expects a region that yields f32, got nothing}}
  %r = "fold.reduce"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"() : () -> ()
  }) {dims = array<i64: 1>, commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @combine_ends_otherwise(%x: tensor<?x?xf32>) {
  // expected-error @below {{WF313: fold.reduce expects a region that yields f32, got no fold.yield}}
  %r = "fold.reduce"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    llvm.unreachable
  }) {dims = array<i64: 1>, commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @sections_along_a_dim(%x: tensor<?x?xf32>) {
  // expected-error @below {{WF310: fold.reduce expects no dims with a section, got [1]}}
  %r = "fold.reduce"(%x) ({
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    "fold.yield"(%sum) : (f32) -> ()
  }) {dims = array<i64: 1>, commutative = true, section = 64} : (tensor<?x?xf32>) -> tensor<?xf32>
  return
}
