// Errors of fold.thread_scan.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @begins_is_no_index(%begins: f32, %x: vector<4xf32>) {
  // expected-error @below {{WF310: fold.thread_scan expects an i32 or i64 as operand 0, got f32}}
  %r = "fold.thread_scan"(%begins, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) : (f32, vector<4xf32>) -> vector<4xf32>
  return
}

// -----

func.func @result_of_another_type(%begins: i32, %x: vector<4xf32>) {
  // expected-error @below {{WF310: fold.thread_scan expects a result of type vector<4xf32>, got f32}}
  %r = "fold.thread_scan"(%begins, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) : (i32, vector<4xf32>) -> f32
  return
}
