// Errors of fold.block_reduce.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @too_few_elements(%a: vector<4xf32>) {
  // expected-error @below {{WF310: fold.block_reduce expects 12 elements, got 4}}
  %sums = "fold.block_reduce"(%a) ({
  ^bb0(%x: f32, %y: f32):
    "fold.yield"(%x) : (f32) -> ()
  }) {elements = 3, columns = 1} : (vector<4xf32>) -> vector<4xf32>
  return
}

// -----

func.func @no_elements(%a: vector<4xf32>) {
  // expected-error @below {{WF310: fold.block_reduce expects one element of a result at least, got 0}}
  %sums = "fold.block_reduce"(%a) ({
  ^bb0(%x: f32, %y: f32):
    "fold.yield"(%x) : (f32) -> ()
  }) {elements = 0, columns = 1} : (vector<4xf32>) -> vector<4xf32>
  return
}

// -----

func.func @three_columns(%a: vector<4xf32>) {
  // expected-error @below {{WF311: fold.block_reduce expects the attribute columns to be a power of two up to 16, got 3}}
  %sums = "fold.block_reduce"(%a) ({
  ^bb0(%x: f32, %y: f32):
    "fold.yield"(%x) : (f32) -> ()
  }) {elements = 2, columns = 3} : (vector<4xf32>) -> vector<2xf32>
  return
}

// -----

func.func @half_a_block(%a: vector<4xf32>) {
  // expected-error @below {{WF310: fold.block_reduce expects a multiple of 4 results, got 2}}
  %sums = "fold.block_reduce"(%a) ({
  ^bb0(%x: f32, %y: f32):
    "fold.yield"(%x) : (f32) -> ()
  }) {elements = 2, columns = 4} : (vector<4xf32>) -> vector<2xf32>
  return
}

// -----

func.func @other_types(%a: vector<4xf32>) {
  // expected-error @below {{WF310: fold.block_reduce expects accesses of f64, got f32}}
  %sums = "fold.block_reduce"(%a) ({
  ^bb0(%x: f64, %y: f64):
    "fold.yield"(%x) : (f64) -> ()
  }) {elements = 2, columns = 1} : (vector<4xf32>) -> vector<2xf64>
  return
}

// -----

func.func @a_combine_of_other_types(%a: vector<4xf32>) {
  // expected-error @below {{WF312: fold.block_reduce expects a combine region with arguments f32, f32, got f64, f64}}
  %sums = "fold.block_reduce"(%a) ({
  ^bb0(%x: f64, %y: f64):
    "fold.yield"(%x) : (f64) -> ()
  }) {elements = 2, columns = 1} : (vector<4xf32>) -> vector<2xf32>
  return
}
