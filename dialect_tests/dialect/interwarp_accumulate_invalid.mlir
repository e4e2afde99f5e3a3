// Errors of fold.interwarp_accumulate.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @lane_is_no_index(%lane: index, %slot: i32, %buffer: !llvm.ptr<3>) {
  // expected-error @below {{WF310: fold.interwarp_accumulate expects an i32 or i64 as operand 0, got index}}
  %made = "fold.interwarp_accumulate"(%lane, %slot, %buffer) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {rows = 8, slots = 1, lanes = 32, stride = 1, ordered = false}
    : (index, i32, !llvm.ptr<3>) -> f32
  return
}

// -----

func.func @slot_is_no_index(%lane: i32, %slot: f32, %buffer: !llvm.ptr<3>) {
  // expected-error @below {{WF310: fold.interwarp_accumulate expects an i32 or i64 as operand 1, got f32}}
  %made = "fold.interwarp_accumulate"(%lane, %slot, %buffer) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {rows = 8, slots = 1, lanes = 32, stride = 1, ordered = false}
    : (i32, f32, !llvm.ptr<3>) -> f32
  return
}

// -----

func.func @no_buffer(%lane: i32, %slot: i32) {
  // expected-error @below {{WF310: fold.interwarp_accumulate expects 1 buffer(s), got 0}}
  %made = "fold.interwarp_accumulate"(%lane, %slot) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {rows = 8, slots = 1, lanes = 32, stride = 1, ordered = false}
    : (i32, i32) -> f32
  return
}

// -----

func.func @not_in_shared_memory(%lane: i32, %slot: i32, %buffer: !llvm.ptr<1>) {
  // expected-error @below {{WF310: fold.interwarp_accumulate expects a !llvm.ptr<3> as operand 2, got !llvm.ptr<1>}}
  %made = "fold.interwarp_accumulate"(%lane, %slot, %buffer) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {rows = 8, slots = 1, lanes = 32, stride = 1, ordered = false}
    : (i32, i32, !llvm.ptr<1>) -> f32
  return
}

// -----

func.func @lanes_share_rows_that_are_no_power_of_two(%lane: i32, %slot: i32, %buffer: !llvm.ptr<3>) {
  // expected-error @below {{WF310: fold.interwarp_accumulate expects one lane for rows that are no power of two, got 6 row(s) for 32 lanes}}
  %made = "fold.interwarp_accumulate"(%lane, %slot, %buffer) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {rows = 6, slots = 1, lanes = 32, stride = 1, ordered = false}
    : (i32, i32, !llvm.ptr<3>) -> f32
  return
}

// -----

func.func @no_lanes(%lane: i32, %slot: i32, %buffer: !llvm.ptr<3>) {
  // expected-error @below {{WF311: fold.interwarp_accumulate expects the attribute lanes to be an integer}}
  %made = "fold.interwarp_accumulate"(%lane, %slot, %buffer) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {rows = 8, slots = 1, stride = 1, ordered = false}
    : (i32, i32, !llvm.ptr<3>) -> f32
  return
}

// -----

func.func @stride_beyond_the_warp(%lane: i32, %slot: i32, %buffer: !llvm.ptr<3>) {
  // expected-error @below {{WF311: fold.interwarp_accumulate expects the attribute stride to be a power of two up to 32, got 64}}
  %made = "fold.interwarp_accumulate"(%lane, %slot, %buffer) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {rows = 8, slots = 1, lanes = 32, stride = 64, ordered = false}
    : (i32, i32, !llvm.ptr<3>) -> f32
  return
}

// -----

func.func @no_slots(%lane: i32, %slot: i32, %buffer: !llvm.ptr<3>) {
  // expected-error @below {{WF311: fold.interwarp_accumulate expects the attribute slots to be an integer}}
  %made = "fold.interwarp_accumulate"(%lane, %slot, %buffer) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {rows = 8, lanes = 32, stride = 1, ordered = false}
    : (i32, i32, !llvm.ptr<3>) -> f32
  return
}

// -----

func.func @order_is_no_bool(%lane: i32, %slot: i32, %buffer: !llvm.ptr<3>) {
  // expected-error @below {{WF311: fold.interwarp_accumulate expects the attribute ordered to be true or false}}
  %made = "fold.interwarp_accumulate"(%lane, %slot, %buffer) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {rows = 8, slots = 1, lanes = 32, stride = 1, ordered = "yes"}
    : (i32, i32, !llvm.ptr<3>) -> f32
  return
}

// -----

func.func @combine_of_one_argument(%lane: i32, %slot: i32, %buffer: !llvm.ptr<3>) {
  // expected-error @below {{WF312: fold.interwarp_accumulate expects a combine region with arguments f32, f32, got f32}}
  %made = "fold.interwarp_accumulate"(%lane, %slot, %buffer) ({
  ^bb0(%a: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {rows = 8, slots = 1, lanes = 32, stride = 1, ordered = false}
    : (i32, i32, !llvm.ptr<3>) -> f32
  return
}

// -----

func.func @combine_yields_nothing(%lane: i32, %slot: i32, %buffer: !llvm.ptr<3>) {
  // expected-error @below {{WF313: fold.interwarp_accumulate expects a region that yields f32, got nothing}}
  %made = "fold.interwarp_accumulate"(%lane, %slot, %buffer) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"() : () -> ()
  }) {rows = 8, slots = 1, lanes = 32, stride = 1, ordered = false}
    : (i32, i32, !llvm.ptr<3>) -> f32
  return
}
