// Errors of fold.cta_reduce.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @position_is_no_index(%position: index, %slot: i32, %x: f32) {
  // expected-error @below {{WF310: fold.cta_reduce expects an i32 or i64 as operand 0, got index}}
  %made = "fold.cta_reduce"(%position, %slot, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {method = "serial", rows = 8, lanes = 4, slots = 1, ordered = false} : (index, i32, f32) -> f32
  return
}

// -----

func.func @slot_is_no_index(%position: i32, %slot: f32, %x: f32) {
  // expected-error @below {{WF310: fold.cta_reduce expects an i32 or i64 as operand 1, got f32}}
  %made = "fold.cta_reduce"(%position, %slot, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {method = "serial", rows = 8, lanes = 4, slots = 1, ordered = false} : (i32, f32, f32) -> f32
  return
}

// -----

func.func @another_result(%position: i32, %slot: i32, %x: f32) {
  // expected-error @below {{WF310: fold.cta_reduce expects a result of type f32, got f64}}
  %made = "fold.cta_reduce"(%position, %slot, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {method = "serial", rows = 8, lanes = 4, slots = 1, ordered = false} : (i32, i32, f32) -> f64
  return
}

// -----

func.func @one_array_for_two_values(%position: i32, %slot: i32, %x: tuple<f32, i64>, %p: !llvm.ptr<1>) {
  // expected-error @below {{WF310: fold.cta_reduce expects no scratch, or 2 pointer(s), got 1}}
  %made = "fold.cta_reduce"(%position, %slot, %x, %p) ({
  ^bb0(%a: f32, %i: i64, %b: f32, %j: i64):
    %state = builtin.unrealized_conversion_cast %a, %i : f32, i64 to tuple<f32, i64>
    "fold.yield"(%state) : (tuple<f32, i64>) -> ()
  }) {method = "serial", rows = 8, lanes = 4, slots = 1, ordered = false} : (i32, i32, tuple<f32, i64>, !llvm.ptr<1>) -> tuple<f32, i64>
  return
}

// -----

func.func @not_in_global_memory(%position: i32, %slot: i32, %x: f32, %p: !llvm.ptr<3>) {
  // expected-error @below {{WF310: fold.cta_reduce expects a !llvm.ptr<1> as operand 3, got !llvm.ptr<3>}}
  %made = "fold.cta_reduce"(%position, %slot, %x, %p) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {method = "serial", rows = 8, lanes = 4, slots = 1, ordered = false} : (i32, i32, f32, !llvm.ptr<3>) -> f32
  return
}

// -----

func.func @no_such_method(%position: i32, %slot: i32, %x: f32) {
  // expected-error @below {{WF311: fold.cta_reduce expects the attribute method to be one of serial interleaved sequential warp_sync unrolled}}
  %made = "fold.cta_reduce"(%position, %slot, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {method = "shuffle", rows = 8, lanes = 4, slots = 1, ordered = false} : (i32, i32, f32) -> f32
  return
}

// -----

func.func @more_rows_than_threads(%position: i32, %slot: i32, %x: f32) {
  // A CTA has at most 1024 threads.
  // expected-error @below {{WF311: fold.cta_reduce expects the attribute rows to be a power of two up to 1024, got 2048}}
  %made = "fold.cta_reduce"(%position, %slot, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {method = "serial", rows = 2048, lanes = 4, slots = 1, ordered = false} : (i32, i32, f32) -> f32
  return
}

// -----

func.func @more_lanes_than_a_warp(%position: i32, %slot: i32, %x: f32) {
  // expected-error @below {{WF311: fold.cta_reduce expects the attribute lanes to be a power of two up to 32, got 64}}
  %made = "fold.cta_reduce"(%position, %slot, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {method = "serial", rows = 64, lanes = 64, slots = 1, ordered = false} : (i32, i32, f32) -> f32
  return
}

// -----

func.func @nothing_to_combine(%position: i32, %slot: i32, %x: f32) {
  // expected-error @below {{WF310: fold.cta_reduce expects more than one row, and no fewer than lanes, got 1 for 1 lane(s)}}
  %made = "fold.cta_reduce"(%position, %slot, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {method = "serial", rows = 1, lanes = 1, slots = 1, ordered = false} : (i32, i32, f32) -> f32
  return
}

// -----

func.func @fewer_rows_than_lanes(%position: i32, %slot: i32, %x: f32) {
  // expected-error @below {{WF310: fold.cta_reduce expects more than one row, and no fewer than lanes, got 8 for 16 lane(s)}}
  %made = "fold.cta_reduce"(%position, %slot, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {method = "serial", rows = 8, lanes = 16, slots = 1, ordered = false} : (i32, i32, f32) -> f32
  return
}

// -----

func.func @no_slots(%position: i32, %slot: i32, %x: f32) {
  // expected-error @below {{WF311: fold.cta_reduce expects the attribute slots to be an integer}}
  %made = "fold.cta_reduce"(%position, %slot, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {method = "serial", rows = 8, lanes = 4, ordered = false} : (i32, i32, f32) -> f32
  return
}

// -----

func.func @ordered_is_no_bool(%position: i32, %slot: i32, %x: f32) {
  // expected-error @below {{WF311: fold.cta_reduce expects the attribute ordered to be true or false}}
  %made = "fold.cta_reduce"(%position, %slot, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {method = "serial", rows = 8, lanes = 4, slots = 1, ordered = 1} : (i32, i32, f32) -> f32
  return
}

// -----

func.func @combine_of_another_type(%position: i32, %slot: i32, %x: f32) {
  // expected-error @below {{WF312: fold.cta_reduce expects a combine region with arguments f32, f32, got f64, f64}}
  %made = "fold.cta_reduce"(%position, %slot, %x) ({
  ^bb0(%a: f64, %b: f64):
    "fold.yield"(%a) : (f64) -> ()
  }) {method = "serial", rows = 8, lanes = 4, slots = 1, ordered = false} : (i32, i32, f32) -> f32
  return
}
