// Errors of fold.period_reduce.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @thread_is_no_index(%thread: index, %on: i1, %mine: vector<4xf32>, %n: i32) {
  // expected-error @below {{WF310: fold.period_reduce expects an i32 or i64 as operand 0, got index}}
  %column = "fold.period_reduce"(%thread, %on, %mine, %n, %n, %n) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {threads = 256} : (index, i1, vector<4xf32>, i32, i32, i32) -> f32
  return
}

// -----

func.func @rows_are_no_index(%thread: i32, %on: i1, %mine: vector<4xf32>, %n: f32) {
  // expected-error @below {{WF310: fold.period_reduce expects an i32 or i64 as operand 3, got f32}}
  %column = "fold.period_reduce"(%thread, %on, %mine, %n, %thread, %thread) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {threads = 256} : (i32, i1, vector<4xf32>, f32, i32, i32) -> f32
  return
}

// -----

func.func @on_is_no_truth_value(%thread: i32, %mine: vector<4xf32>) {
  // expected-error @below {{WF310: fold.period_reduce expects an i1 as operand 1, got i32}}
  %column = "fold.period_reduce"(%thread, %thread, %mine, %thread, %thread, %thread) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {threads = 256} : (i32, i32, vector<4xf32>, i32, i32, i32) -> f32
  return
}

// -----

func.func @one_state_a_thread(%thread: i32, %on: i1, %mine: vector<4xf32>) {
  // expected-error @below {{WF310: fold.period_reduce expects a result of type f32, got vector<4xf32>}}
  %columns = "fold.period_reduce"(%thread, %on, %mine, %thread, %thread, %thread) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {threads = 256} : (i32, i1, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
  return
}

// -----

func.func @threads_of_no_cta(%thread: i32, %on: i1, %mine: vector<4xf32>) {
  // expected-error @below {{WF311: fold.period_reduce expects the attribute threads to be a power of two up to 1024, got 100}}
  %column = "fold.period_reduce"(%thread, %on, %mine, %thread, %thread, %thread) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {threads = 100} : (i32, i1, vector<4xf32>, i32, i32, i32) -> f32
  return
}

// -----

func.func @combine_of_other_states(%thread: i32, %on: i1, %mine: vector<4xf32>) {
  // expected-error @below {{WF312: fold.period_reduce expects a combine region with arguments f32, f32, got f64, f64}}
  %column = "fold.period_reduce"(%thread, %on, %mine, %thread, %thread, %thread) ({
  ^bb0(%a: f64, %b: f64):
    "fold.yield"(%a) : (f64) -> ()
  }) {threads = 256} : (i32, i1, vector<4xf32>, i32, i32, i32) -> f32
  return
}
