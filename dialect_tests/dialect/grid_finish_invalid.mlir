// Errors of fold.grid_finish.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @part_is_no_index(%part: index, %parts: i32, %kept: i32, %n_kept: i32,
     %on: i1, %x: f32, %partials: !llvm.ptr<1>, %counter: !llvm.ptr<1>) {
  // expected-error @below {{WF310: fold.grid_finish expects an i32 or i64 as operand 0, got index}}
  "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %x, %partials, %counter) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "last_block"}
    : (index, i32, i32, i32, i1, f32, !llvm.ptr<1>, !llvm.ptr<1>) -> ()
  return
}

// -----

func.func @parts_is_no_index(%part: i32, %parts: index, %kept: i32, %n_kept: i32,
     %on: i1, %x: f32, %partials: !llvm.ptr<1>, %counter: !llvm.ptr<1>) {
  // expected-error @below {{WF310: fold.grid_finish expects an i32 or i64 as operand 1, got index}}
  "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %x, %partials, %counter) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "last_block"}
    : (i32, index, i32, i32, i1, f32, !llvm.ptr<1>, !llvm.ptr<1>) -> ()
  return
}

// -----

func.func @kept_is_no_index(%part: i32, %parts: i32, %kept: index, %n_kept: i32,
     %on: i1, %x: f32, %partials: !llvm.ptr<1>, %counter: !llvm.ptr<1>) {
  // expected-error @below {{WF310: fold.grid_finish expects an i32 or i64 as operand 2, got index}}
  "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %x, %partials, %counter) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "last_block"}
    : (i32, i32, index, i32, i1, f32, !llvm.ptr<1>, !llvm.ptr<1>) -> ()
  return
}

// -----

func.func @n_kept_is_no_index(%part: i32, %parts: i32, %kept: i32, %n_kept: index,
     %on: i1, %x: f32, %partials: !llvm.ptr<1>, %counter: !llvm.ptr<1>) {
  // expected-error @below {{WF310: fold.grid_finish expects an i32 or i64 as operand 3, got index}}
  "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %x, %partials, %counter) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "last_block"}
    : (i32, i32, i32, index, i1, f32, !llvm.ptr<1>, !llvm.ptr<1>) -> ()
  return
}

// -----

func.func @on_is_no_predicate(%part: i32, %parts: i32, %kept: i32, %n_kept: i32,
     %on: i32, %x: f32, %partials: !llvm.ptr<1>, %counter: !llvm.ptr<1>) {
  // expected-error @below {{WF310: fold.grid_finish expects an i1 as operand 4, got i32}}
  "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %x, %partials, %counter) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "last_block"}
    : (i32, i32, i32, i32, i32, f32, !llvm.ptr<1>, !llvm.ptr<1>) -> ()
  return
}

// -----

func.func @no_finish(%part: i32, %parts: i32, %kept: i32, %n_kept: i32,
     %on: i1, %x: f32, %partials: !llvm.ptr<1>, %counter: !llvm.ptr<1>) {
  // expected-error @below {{WF311: fold.grid_finish expects the attribute finish to be one of last_block two_kernels atomic}}
  "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %x, %partials, %counter) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }, {
    "fold.yield"() : () -> ()
  })
    : (i32, i32, i32, i32, i1, f32, !llvm.ptr<1>, !llvm.ptr<1>) -> ()
  return
}

// -----

func.func @unknown_finish(%part: i32, %parts: i32, %kept: i32, %n_kept: i32,
     %on: i1, %x: f32, %partials: !llvm.ptr<1>, %counter: !llvm.ptr<1>) {
  // With one CTA a result there is no grid stage.
  // expected-error @below {{WF311: fold.grid_finish expects the attribute finish to be one of last_block two_kernels atomic}}
  "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %x, %partials, %counter) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "cta"}
    : (i32, i32, i32, i32, i1, f32, !llvm.ptr<1>, !llvm.ptr<1>) -> ()
  return
}

// -----

func.func @no_counter(%part: i32, %parts: i32, %kept: i32, %n_kept: i32,
     %on: i1, %x: f32, %partials: !llvm.ptr<1>) {
  // expected-error @below {{WF310: fold.grid_finish expects 2 pointer(s) for finish=last_block, got 1}}
  "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %x, %partials) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "last_block"}
    : (i32, i32, i32, i32, i1, f32, !llvm.ptr<1>) -> ()
  return
}

// -----

func.func @counter_without_use(%part: i32, %parts: i32, %kept: i32, %n_kept: i32,
     %on: i1, %x: f32, %partials: !llvm.ptr<1>, %counter: !llvm.ptr<1>) {
  // expected-error @below {{WF310: fold.grid_finish expects 1 pointer(s) for finish=two_kernels, got 2}}
  "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %x, %partials, %counter) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "two_kernels"}
    : (i32, i32, i32, i32, i1, f32, !llvm.ptr<1>, !llvm.ptr<1>) -> ()
  return
}

// -----

func.func @one_partial_for_two_values(%part: i32, %parts: i32, %kept: i32, %n_kept: i32,
     %on: i1, %x: tuple<f32, f32>, %partials: !llvm.ptr<1>) {
  // expected-error @below {{WF310: fold.grid_finish expects 2 pointer(s) for finish=atomic, got 1}}
  "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %x, %partials) ({
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %s = builtin.unrealized_conversion_cast %a, %b : f32, f32 to tuple<f32, f32>
    "fold.yield"(%s) : (tuple<f32, f32>) -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "atomic"}
    : (i32, i32, i32, i32, i1, tuple<f32, f32>, !llvm.ptr<1>) -> ()
  return
}

// -----

func.func @partials_in_shared_memory(%part: i32, %parts: i32, %kept: i32, %n_kept: i32,
     %on: i1, %x: f32, %partials: !llvm.ptr<3>, %counter: !llvm.ptr<1>) {
  // expected-error @below {{WF310: fold.grid_finish expects a !llvm.ptr<1> as operand 6, got !llvm.ptr<3>}}
  "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %x, %partials, %counter) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "last_block"}
    : (i32, i32, i32, i32, i1, f32, !llvm.ptr<3>, !llvm.ptr<1>) -> ()
  return
}

// -----

func.func @combine_of_another_type(%part: i32, %parts: i32, %kept: i32, %n_kept: i32,
     %on: i1, %x: f32, %partials: !llvm.ptr<1>, %counter: !llvm.ptr<1>) {
  // expected-error @below {{WF312: fold.grid_finish expects a combine region with arguments f32, f32, got f64, f64}}
  "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %x, %partials, %counter) ({
  ^bb0(%a: f64, %b: f64):
    "fold.yield"(%a) : (f64) -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "last_block"}
    : (i32, i32, i32, i32, i1, f32, !llvm.ptr<1>, !llvm.ptr<1>) -> ()
  return
}

// -----

func.func @combine_yields_nothing(%part: i32, %parts: i32, %kept: i32, %n_kept: i32,
     %on: i1, %x: f32, %partials: !llvm.ptr<1>, %counter: !llvm.ptr<1>) {
  // expected-error @below {{WF313: fold.grid_finish expects a region that yields f32, got nothing}}
  "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %x, %partials, %counter) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"() : () -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "last_block"}
    : (i32, i32, i32, i32, i1, f32, !llvm.ptr<1>, !llvm.ptr<1>) -> ()
  return
}

// -----

func.func @last_yields_a_value(%part: i32, %parts: i32, %kept: i32, %n_kept: i32,
     %on: i1, %x: f32, %partials: !llvm.ptr<1>, %counter: !llvm.ptr<1>) {
  // The last CTA stores its results itself.
  // expected-error @below {{WF313: fold.grid_finish expects a region that yields nothing, got f32}}
  "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %x, %partials, %counter) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }, {
    "fold.yield"(%x) : (f32) -> ()
  }) {finish = "last_block"}
    : (i32, i32, i32, i32, i1, f32, !llvm.ptr<1>, !llvm.ptr<1>) -> ()
  return
}

// -----

func.func @no_last(%part: i32, %parts: i32, %kept: i32, %n_kept: i32,
     %on: i1, %x: f32, %partials: !llvm.ptr<1>, %counter: !llvm.ptr<1>) {
  // expected-error @below {{WF313: fold.grid_finish expects a region that yields nothing, got no fold.yield}}
  "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %x, %partials, %counter) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }, {
  }) {finish = "last_block"}
    : (i32, i32, i32, i32, i1, f32, !llvm.ptr<1>, !llvm.ptr<1>) -> ()
  return
}
