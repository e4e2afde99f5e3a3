// Errors of fold.cluster_reduce.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @rank_is_no_index(%rank: index, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF310: fold.cluster_reduce expects an i32 or i64 as operand 0, got index}}
  %made = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {ctas = 2, rows = 4, slots = 1, lanes = 32, stride = 1, ordered = false}
    : (index, i32, i32, i32, i1, f32) -> f32
  return
}

// -----

func.func @row_is_no_index(%rank: i32, %row: index, %lane: i32, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF310: fold.cluster_reduce expects an i32 or i64 as operand 1, got index}}
  %made = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {ctas = 2, rows = 4, slots = 1, lanes = 32, stride = 1, ordered = false}
    : (i32, index, i32, i32, i1, f32) -> f32
  return
}

// -----

func.func @lane_is_no_index(%rank: i32, %row: i32, %lane: index, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF310: fold.cluster_reduce expects an i32 or i64 as operand 2, got index}}
  %made = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {ctas = 2, rows = 4, slots = 1, lanes = 32, stride = 1, ordered = false}
    : (i32, i32, index, i32, i1, f32) -> f32
  return
}

// -----

func.func @slot_is_no_index(%rank: i32, %row: i32, %lane: i32, %slot: index, %on: i1, %x: f32) {
  // expected-error @below {{WF310: fold.cluster_reduce expects an i32 or i64 as operand 3, got index}}
  %made = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {ctas = 2, rows = 4, slots = 1, lanes = 32, stride = 1, ordered = false}
    : (i32, i32, i32, index, i1, f32) -> f32
  return
}

// -----

func.func @on_is_no_truth_value(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i32, %x: f32) {
  // expected-error @below {{WF310: fold.cluster_reduce expects an i1 as operand 4, got i32}}
  %made = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {ctas = 2, rows = 4, slots = 1, lanes = 32, stride = 1, ordered = false}
    : (i32, i32, i32, i32, i32, f32) -> f32
  return
}

// -----

func.func @another_result(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF310: fold.cluster_reduce expects a result of type f32, got f64}}
  %made = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {ctas = 2, rows = 4, slots = 1, lanes = 32, stride = 1, ordered = false}
    : (i32, i32, i32, i32, i1, f32) -> f64
  return
}

// -----

func.func @one_cta(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF310: fold.cluster_reduce expects a cluster of more than one CTA, got 1}}
  %made = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {ctas = 1, rows = 4, slots = 1, lanes = 32, stride = 1, ordered = false}
    : (i32, i32, i32, i32, i1, f32) -> f32
  return
}

// -----

func.func @too_many_ctas(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF311: fold.cluster_reduce expects the attribute ctas to be a power of two up to 16, got 32}}
  %made = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {ctas = 32, rows = 4, slots = 1, lanes = 32, stride = 1, ordered = false}
    : (i32, i32, i32, i32, i1, f32) -> f32
  return
}

// -----

func.func @three_rows(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF311: fold.cluster_reduce expects the attribute rows to be a power of two up to 32, got 3}}
  %made = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {ctas = 2, rows = 3, slots = 1, lanes = 32, stride = 1, ordered = false}
    : (i32, i32, i32, i32, i1, f32) -> f32
  return
}

// -----

func.func @no_slots(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF311: fold.cluster_reduce expects the attribute slots to be an integer}}
  %made = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {ctas = 2, rows = 4, lanes = 32, stride = 1, ordered = false}
    : (i32, i32, i32, i32, i1, f32) -> f32
  return
}

// -----

func.func @too_many_lanes(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF311: fold.cluster_reduce expects the attribute lanes to be a power of two up to 32, got 64}}
  %made = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {ctas = 2, rows = 4, slots = 1, lanes = 64, stride = 1, ordered = false}
    : (i32, i32, i32, i32, i1, f32) -> f32
  return
}

// -----

func.func @no_stride(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF311: fold.cluster_reduce expects the attribute stride to be an integer}}
  %made = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {ctas = 2, rows = 4, slots = 1, lanes = 32, ordered = false}
    : (i32, i32, i32, i32, i1, f32) -> f32
  return
}

// -----

func.func @lanes_beyond_the_warp(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF310: fold.cluster_reduce expects lanes times stride of at most 32, got 64}}
  %made = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {ctas = 2, rows = 4, slots = 1, lanes = 16, stride = 4, ordered = false}
    : (i32, i32, i32, i32, i1, f32) -> f32
  return
}

// -----

func.func @ordered_is_no_truth_value(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF311: fold.cluster_reduce expects the attribute ordered to be true or false}}
  %made = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {ctas = 2, rows = 4, slots = 1, lanes = 32, stride = 1, ordered = 1 : i32}
    : (i32, i32, i32, i32, i1, f32) -> f32
  return
}

// -----

func.func @one_argument(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF312: fold.cluster_reduce expects a combine region with arguments f32, f32, got f32}}
  %made = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {ctas = 2, rows = 4, slots = 1, lanes = 32, stride = 1, ordered = false}
    : (i32, i32, i32, i32, i1, f32) -> f32
  return
}

// -----

func.func @another_yield(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF313: fold.cluster_reduce expects a region that yields f32, got i32}}
  %made = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%row) : (i32) -> ()
  }) {ctas = 2, rows = 4, slots = 1, lanes = 32, stride = 1, ordered = false}
    : (i32, i32, i32, i32, i1, f32) -> f32
  return
}

// -----

func.func @everywhere_is_no_truth_value(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF311: fold.cluster_reduce expects the attribute everywhere to be true or false}}
  %made = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {ctas = 2, rows = 4, slots = 1, lanes = 32, stride = 1, ordered = false, everywhere = "all"}
    : (i32, i32, i32, i32, i1, f32) -> f32
  return
}

// -----

func.func @met_is_no_truth_value(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF311: fold.cluster_reduce expects the attribute met to be true or false}}
  %made = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {ctas = 2, rows = 1, slots = 1, lanes = 32, stride = 1, ordered = false, everywhere = true, met = 1 : i32}
    : (i32, i32, i32, i32, i1, f32) -> f32
  return
}

// -----

func.func @more_are_counted_than_come(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF310: fold.cluster_reduce expects 1 to 4 states that are counted, got 5}}
  %made = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {ctas = 2, rows = 1, slots = 4, lanes = 8, stride = 4, ordered = false, counted = 5}
    : (i32, i32, i32, i32, i1, f32) -> f32
  return
}

// -----

func.func @halves_are_not_counted(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f16) {
  // expected-error @below {{WF310: fold.cluster_reduce expects counted values of 4 or 8 bytes, got 2}}
  %made = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
  ^bb0(%a: f16, %b: f16):
    "fold.yield"(%a) : (f16) -> ()
  }) {ctas = 2, rows = 1, slots = 1, lanes = 32, stride = 1, ordered = false, counted = 1}
    : (i32, i32, i32, i32, i1, f16) -> f16
  return
}

// -----

// An mbarrier counts the bytes of one round.
func.func @a_loop_counts_again(%rank: i32, %row: i32, %lane: i32, %slot: i32, %on: i1, %x: f32, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    // expected-error @below {{WF310: fold.cluster_reduce expects states that are counted once, got a scf.for around it}}
    %made = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %x) ({
    ^bb0(%a: f32, %b: f32):
      "fold.yield"(%a) : (f32) -> ()
    }) {ctas = 2, rows = 1, slots = 1, lanes = 32, stride = 1, ordered = false, counted = 1}
      : (i32, i32, i32, i32, i1, f32) -> f32
  }
  return
}
