// Errors of fold.warp_scan.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @results_of_other_types(%lane: i32, %x: f32) {
  // expected-error @below {{WF310: fold.warp_scan expects results of type f32, f32, got f32, f64}}
  %before, %total = "fold.warp_scan"(%lane, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {lanes = 32, stride = 1} : (i32, f32) -> (f32, f64)
  return
}

// -----

func.func @beyond_the_warp(%lane: i32, %x: f32) {
  // expected-error @below {{WF310: fold.warp_scan expects lanes times stride of at most 32, got 64}}
  %before, %total = "fold.warp_scan"(%lane, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {lanes = 32, stride = 2} : (i32, f32) -> (f32, f32)
  return
}
