// Errors of fold.warp_reduce.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @result_of_another_type(%x: f32) {
  // expected-error @below {{WF310: fold.warp_reduce expects a result of type f32, got f64}}
  %made = "fold.warp_reduce"(%x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {lanes = 32, stride = 1, ordered = false}
    : (f32) -> f64
  return
}

// -----

func.func @no_lanes(%x: f32) {
  // expected-error @below {{WF311: fold.warp_reduce expects the attribute lanes to be an integer}}
  %made = "fold.warp_reduce"(%x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {stride = 1, ordered = false}
    : (f32) -> f32
  return
}

// -----

func.func @lanes_are_no_power_of_two(%x: f32) {
  // expected-error @below {{WF311: fold.warp_reduce expects the attribute lanes to be a power of two up to 32, got 24}}
  %made = "fold.warp_reduce"(%x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {lanes = 24, stride = 1, ordered = false}
    : (f32) -> f32
  return
}

// -----

func.func @more_lanes_than_a_warp_has(%x: f32) {
  // expected-error @below {{WF311: fold.warp_reduce expects the attribute lanes to be a power of two up to 32, got 64}}
  %made = "fold.warp_reduce"(%x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {lanes = 64, stride = 1, ordered = false}
    : (f32) -> f32
  return
}

// -----

func.func @no_stride(%x: f32) {
  // expected-error @below {{WF311: fold.warp_reduce expects the attribute stride to be an integer}}
  %made = "fold.warp_reduce"(%x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {lanes = 32, ordered = false}
    : (f32) -> f32
  return
}

// -----

func.func @beyond_the_warp(%x: f32) {
  // 32 lanes that lie 2 apart would need two warps.
  // expected-error @below {{WF310: fold.warp_reduce expects lanes times stride of at most 32, got 64}}
  %made = "fold.warp_reduce"(%x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {lanes = 32, stride = 2, ordered = false}
    : (f32) -> f32
  return
}

// -----

func.func @no_order(%x: f32) {
  // expected-error @below {{WF311: fold.warp_reduce expects the attribute ordered to be true or false}}
  %made = "fold.warp_reduce"(%x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {lanes = 32, stride = 1}
    : (f32) -> f32
  return
}

// -----

func.func @combine_of_another_type(%x: f32) {
  // expected-error @below {{WF312: fold.warp_reduce expects a combine region with arguments f32, f32, got i32, i32}}
  %made = "fold.warp_reduce"(%x) ({
  ^bb0(%a: i32, %b: i32):
    "fold.yield"(%a) : (i32) -> ()
  }) {lanes = 32, stride = 1, ordered = false}
    : (f32) -> f32
  return
}

// -----

func.func @combine_yields_two_values(%x: f32) {
  // A state of several values is one tuple.
  // expected-error @below {{WF313: fold.warp_reduce expects a region that yields f32, got f32, f32}}
  %made = "fold.warp_reduce"(%x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a, %b) : (f32, f32) -> ()
  }) {lanes = 32, stride = 1, ordered = false}
    : (f32) -> f32
  return
}
