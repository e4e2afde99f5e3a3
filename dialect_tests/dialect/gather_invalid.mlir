// Errors of fold.gather.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @of_a_computed_value(%x: tensor<?xf32>, %i: tensor<?xi64>) -> tensor<?xf32> {
  %twice = arith.addf %x, %x : tensor<?xf32>
  // expected-error @below {{WF310: fold.gather expects an argument of the function as operand 0, got another value}}
  %y = "fold.gather"(%twice, %i) : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

func.func @read_as_a_whole_too(%x: tensor<?xf32>, %i: tensor<?xi64>) -> tensor<?xf32> {
  // expected-error @below {{WF310: fold.gather expects an array that only gathers read, got arith.addf, fold.gather}}
  %y = "fold.gather"(%x, %i) : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  %z = arith.addf %x, %y : tensor<?xf32>
  return %z : tensor<?xf32>
}

// -----

func.func @one_index(%x: tensor<?xf32>, %i: i64) -> tensor<?xf32> {
  // expected-error @below {{WF310: fold.gather expects a tensor of indices as operand 1, got i64}}
  %y = "fold.gather"(%x, %i) : (tensor<?xf32>, i64) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

func.func @narrow_indices(%x: tensor<?xf32>, %i: tensor<?xi32>) -> tensor<?xf32> {
  // expected-error @below {{WF310: fold.gather expects indices of i64, got tensor<?xi32>}}
  %y = "fold.gather"(%x, %i) : (tensor<?xf32>, tensor<?xi32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

func.func @fewer_indices_than_rows(%x: tensor<?x?xf32>, %i: tensor<?xi64>) -> tensor<?xf32> {
  // expected-error @below {{WF310: fold.gather expects indices of rank 2 or more, got rank 1}}
  %y = "fold.gather"(%x, %i) : (tensor<?x?xf32>, tensor<?xi64>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

func.func @another_type(%x: tensor<?xbf16>, %i: tensor<?xi64>) -> tensor<?xf32> {
  // expected-error @below {{WF310: fold.gather expects a result of type tensor<?xbf16>, got tensor<?xf32>}}
  %y = "fold.gather"(%x, %i) : (tensor<?xbf16>, tensor<?xi64>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}
