// Errors of fold.thread_reduce.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @begin_is_no_index(%begin: index, %end: i32, %v: vector<4xf32>) {
  // expected-error @below {{WF310: fold.thread_reduce expects an i32 or i64 as operand 0, got index}}
  %made = "fold.thread_reduce"(%begin, %end, %v) ({
  ^bb0(%i: i32):
    "fold.yield"(%v) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {step = 128, unroll = 2}
    : (index, i32, vector<4xf32>) -> f32
  return
}

// -----

func.func @end_is_no_index(%begin: i32, %end: f32, %v: vector<4xf32>) {
  // expected-error @below {{WF310: fold.thread_reduce expects an i32 or i64 as operand 1, got f32}}
  %made = "fold.thread_reduce"(%begin, %end, %v) ({
  ^bb0(%i: i32):
    "fold.yield"(%v) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {step = 128, unroll = 2}
    : (i32, f32, vector<4xf32>) -> f32
  return
}

// -----

func.func @no_step(%begin: i32, %end: i32, %v: vector<4xf32>) {
  // expected-error @below {{WF311: fold.thread_reduce expects the attribute step to be an integer}}
  %made = "fold.thread_reduce"(%begin, %end, %v) ({
  ^bb0(%i: i32):
    "fold.yield"(%v) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {unroll = 2}
    : (i32, i32, vector<4xf32>) -> f32
  return
}

// -----

func.func @step_is_no_power_of_two(%begin: i32, %end: i32, %v: vector<4xf32>) {
  // expected-error @below {{WF311: fold.thread_reduce expects the attribute step to be a power of two up to 1073741824, got 96}}
  %made = "fold.thread_reduce"(%begin, %end, %v) ({
  ^bb0(%i: i32):
    "fold.yield"(%v) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {step = 96, unroll = 2}
    : (i32, i32, vector<4xf32>) -> f32
  return
}

// -----

func.func @no_accesses_at_a_time(%begin: i32, %end: i32, %v: vector<4xf32>) {
  // expected-error @below {{WF311: fold.thread_reduce expects the attribute unroll to be a power of two up to 32, got 0}}
  %made = "fold.thread_reduce"(%begin, %end, %v) ({
  ^bb0(%i: i32):
    "fold.yield"(%v) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {step = 128, unroll = 0}
    : (i32, i32, vector<4xf32>) -> f32
  return
}

// -----

func.func @too_many_accesses_at_a_time(%begin: i32, %end: i32, %v: vector<4xf32>) {
  // expected-error @below {{WF311: fold.thread_reduce expects the attribute unroll to be a power of two up to 32, got 64}}
  %made = "fold.thread_reduce"(%begin, %end, %v) ({
  ^bb0(%i: i32):
    "fold.yield"(%v) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {step = 128, unroll = 64}
    : (i32, i32, vector<4xf32>) -> f32
  return
}

// -----

func.func @result_of_another_type(%begin: i32, %end: i32, %v: vector<4xf32>) {
  // Either the vector stays as it is, or it is combined to the end.
  // expected-error @below {{WF310: fold.thread_reduce expects a result of type vector<4xf32> or f32, got vector<2xf32>}}
  %made = "fold.thread_reduce"(%begin, %end, %v) ({
  ^bb0(%i: i32):
    "fold.yield"(%v) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {step = 128, unroll = 2}
    : (i32, i32, vector<4xf32>) -> vector<2xf32>
  return
}

// -----

func.func @body_yields_a_scalar(%begin: i32, %end: i32, %v: vector<4xf32>) {
  // What the body yields is combined into init, so it has the same type.
  // expected-error @below {{WF313: fold.thread_reduce expects a region that yields vector<4xf32>, got f32}}
  %made = "fold.thread_reduce"(%begin, %end, %v) ({
  ^bb0(%i: i32):
    %z = arith.constant 0.0 : f32
    "fold.yield"(%z) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {step = 128, unroll = 2}
    : (i32, i32, vector<4xf32>) -> f32
  return
}

// -----

func.func @body_ends_otherwise(%begin: i32, %end: i32, %v: vector<4xf32>) {
  // expected-error @below {{WF313: fold.thread_reduce expects a region that yields vector<4xf32>, got no fold.yield}}
  %made = "fold.thread_reduce"(%begin, %end, %v) ({
  ^bb0(%i: i32):
    llvm.unreachable
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {step = 128, unroll = 2}
    : (i32, i32, vector<4xf32>) -> f32
  return
}

// -----

func.func @combine_on_vectors(%begin: i32, %end: i32, %v: vector<4xf32>) {
  // expected-error @below {{WF312: fold.thread_reduce expects a combine region with arguments f32, f32, got vector<4xf32>, vector<4xf32>}}
  %made = "fold.thread_reduce"(%begin, %end, %v) ({
  ^bb0(%i: i32):
    "fold.yield"(%v) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: vector<4xf32>, %b: vector<4xf32>):
    "fold.yield"(%a) : (vector<4xf32>) -> ()
  }) {step = 128, unroll = 2}
    : (i32, i32, vector<4xf32>) -> f32
  return
}

// -----

func.func @combine_yields_another_type(%begin: i32, %end: i32, %v: vector<4xf32>) {
  // expected-error @below {{WF313: fold.thread_reduce expects a region that yields f32, got vector<4xf32>}}
  %made = "fold.thread_reduce"(%begin, %end, %v) ({
  ^bb0(%i: i32):
    "fold.yield"(%v) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%v) : (vector<4xf32>) -> ()
  }) {step = 128, unroll = 2}
    : (i32, i32, vector<4xf32>) -> f32
  return
}

// -----

func.func @period_is_no_index(%begin: i32, %end: i32, %v: vector<4xf32>, %period: f32) {
  // expected-error @below {{WF310: fold.thread_reduce expects an i32 or i64 as operand 3, got f32}}
  %made = "fold.thread_reduce"(%begin, %end, %v, %period) ({
  ^bb0(%i: i32):
    "fold.yield"(%v) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {step = 1, unroll = 2}
    : (i32, i32, vector<4xf32>, f32) -> vector<4xf32>
  return
}

// -----

func.func @two_periods(%begin: i32, %end: i32, %v: vector<4xf32>, %period: i32) {
  // expected-error @below {{WF310: fold.thread_reduce expects one period at most, got 2}}
  %made = "fold.thread_reduce"(%begin, %end, %v, %period, %period) ({
  ^bb0(%i: i32):
    "fold.yield"(%v) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {step = 1, unroll = 2}
    : (i32, i32, vector<4xf32>, i32, i32) -> vector<4xf32>
  return
}

// -----

func.func @eight_lanes_summed(%begin: i32, %end: i32, %v: f32) {
  // expected-error @below {{WF311: fold.thread_reduce expects the attribute summed to be a power of two up to 4, got 8}}
  %made = "fold.thread_reduce"(%begin, %end, %v) ({
  ^bb0(%r: i32):
    "fold.yield"(%v) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 64, unroll = 1, summed = 8} : (i32, i32, f32) -> f32
  return
}

// -----

func.func @pairs_of_other_elements(%begin: i32, %end: i32, %zero: f32, %v: vector<2xf64>) {
  // expected-error @below {{WF313: fold.thread_reduce expects a region that yields f32, got f64}}
  %made = "fold.thread_reduce"(%begin, %end, %zero) ({
  ^bb0(%r: i32):
    "fold.yield"(%v) : (vector<2xf64>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 64, unroll = 1, joined = 32} : (i32, i32, f32) -> f32
  return
}
