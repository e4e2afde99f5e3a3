// Errors of fold.bin.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @integers(%x: tensor<?xi32>, %l: tensor<?xf32>, %u: tensor<?xf32>) {
  // expected-error @below {{WF310: fold.bin expects elements of f32 or f64, got tensor<?xi32>}}
  %i = "fold.bin"(%x, %l, %u) {uniform = true, steps = 4} : (tensor<?xi32>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xi32>
  return
}

// -----

func.func @computed_edges(%x: tensor<?xf32>, %l: tensor<?xf32>) {
  %u = arith.addf %l, %l : tensor<?xf32>
  // expected-error @below {{WF310: fold.bin expects an argument of the function as operand 2, got a value}}
  %i = "fold.bin"(%x, %l, %u) {uniform = true, steps = 4} : (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xi32>
  return
}

// -----

func.func @edges_of_another_type(%x: tensor<?xf32>, %l: tensor<?xf64>, %u: tensor<?xf64>) {
  // expected-error @below {{WF310: fold.bin expects edges of type f32, got tensor<?xf64>}}
  %i = "fold.bin"(%x, %l, %u) {uniform = true, steps = 4} : (tensor<?xf32>, tensor<?xf64>, tensor<?xf64>) -> tensor<?xi32>
  return
}

// -----

func.func @steps_of_long_numbers(%x: tensor<?xf32>, %l: tensor<?xf32>, %u: tensor<?xf32>) {
  // expected-error @below {{WF310: fold.bin expects from 0 to 31 steps, got 40}}
  %i = "fold.bin"(%x, %l, %u) {uniform = true, steps = 40} : (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xi32>
  return
}
