// Errors of fold.scatter.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @floats(%x: tensor<?xf32>, %i: tensor<?xi32>) {
  // expected-error @below {{WF310: fold.scatter expects values of i32 or i64, got tensor<?xf32>}}
  %y = "fold.scatter"(%x, %i) {counters = 16} : (tensor<?xf32>, tensor<?xi32>) -> tensor<?xi64>
  return
}

// -----

func.func @long_indices(%x: tensor<?xi32>, %i: tensor<?xi64>) {
  // expected-error @below {{WF310: fold.scatter expects indices of i32, got tensor<?xi64>}}
  %y = "fold.scatter"(%x, %i) {counters = 16} : (tensor<?xi32>, tensor<?xi64>) -> tensor<?xi64>
  return
}

// -----

func.func @narrow_sums(%x: tensor<?xi32>, %i: tensor<?xi32>) {
  // expected-error @below {{WF310: fold.scatter expects a result of type tensor<?xi64>, got tensor<?xi32>}}
  %y = "fold.scatter"(%x, %i) {counters = 16} : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
  return
}
