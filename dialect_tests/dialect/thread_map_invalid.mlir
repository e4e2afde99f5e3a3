// Errors of fold.thread_map.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @begin_is_no_index(%p: !llvm.ptr<1>, %on: i1, %b: index, %e: i32) {
  // expected-error @below {{WF310: fold.thread_map expects an i32 or i64 as operand 0, got index}}
  "fold.thread_map"(%b, %e) ({
  ^bb0(%r: i32):
    %x = "fold.load"(%p, %r, %r, %r) {kept_rank = 0, reduced_rank = 1, axis = "reduced", access = "strided"}
      : (!llvm.ptr<1>, i32, i32, i32) -> f32
    "fold.element_store"(%x, %p, %r, %r, %r, %r, %on, %r)
      {kept_rank = 0, reduced_rank = 1, axis = "reduced", access = "strided", whole = false}
      : (f32, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32) -> ()
    "fold.yield"() : () -> ()
  }) {step = 8, unroll = 1} : (index, i32) -> ()
  return
}

// -----

func.func @first_is_no_index(%p: !llvm.ptr<1>, %on: i1, %b: i32, %e: i32) {
  // expected-error @below {{WF310: fold.thread_map expects an i32 or i64 as operand 2, got i1}}
  "fold.thread_map"(%b, %e, %on) ({
  ^bb0(%r: i32):
    %x = "fold.load"(%p, %r, %r, %r) {kept_rank = 0, reduced_rank = 1, axis = "reduced", access = "strided"}
      : (!llvm.ptr<1>, i32, i32, i32) -> f32
    "fold.element_store"(%x, %p, %r, %r, %r, %r, %on, %r)
      {kept_rank = 0, reduced_rank = 1, axis = "reduced", access = "strided", whole = false}
      : (f32, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32) -> ()
    "fold.yield"() : () -> ()
  }) {step = 8, unroll = 1} : (i32, i32, i1) -> ()
  return
}

// -----

func.func @three_ends_of_a_row(%p: !llvm.ptr<1>, %on: i1, %b: i32, %e: i32) {
  // expected-error @below {{WF310: fold.thread_map expects a first and a last index at most, got 3}}
  "fold.thread_map"(%b, %e, %b, %e, %e) ({
  ^bb0(%r: i32):
    %x = "fold.load"(%p, %r, %r, %r) {kept_rank = 0, reduced_rank = 1, axis = "reduced", access = "strided"}
      : (!llvm.ptr<1>, i32, i32, i32) -> f32
    "fold.element_store"(%x, %p, %r, %r, %r, %r, %on, %r)
      {kept_rank = 0, reduced_rank = 1, axis = "reduced", access = "strided", whole = false}
      : (f32, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32) -> ()
    "fold.yield"() : () -> ()
  }) {step = 8, unroll = 1} : (i32, i32, i32, i32, i32) -> ()
  return
}

// -----

func.func @no_step(%p: !llvm.ptr<1>, %on: i1, %b: i32, %e: i32) {
  // expected-error @below {{WF311: fold.thread_map expects the attribute step to be an integer}}
  "fold.thread_map"(%b, %e) ({
  ^bb0(%r: i32):
    %x = "fold.load"(%p, %r, %r, %r) {kept_rank = 0, reduced_rank = 1, axis = "reduced", access = "strided"}
      : (!llvm.ptr<1>, i32, i32, i32) -> f32
    "fold.element_store"(%x, %p, %r, %r, %r, %r, %on, %r)
      {kept_rank = 0, reduced_rank = 1, axis = "reduced", access = "strided", whole = false}
      : (f32, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32) -> ()
    "fold.yield"() : () -> ()
  }) {unroll = 1} : (i32, i32) -> ()
  return
}

// -----

func.func @three_at_a_time(%p: !llvm.ptr<1>, %on: i1, %b: i32, %e: i32) {
  // expected-error @below {{WF311: fold.thread_map expects the attribute unroll to be a power of two up to 32, got 3}}
  "fold.thread_map"(%b, %e) ({
  ^bb0(%r: i32):
    %x = "fold.load"(%p, %r, %r, %r) {kept_rank = 0, reduced_rank = 1, axis = "reduced", access = "strided"}
      : (!llvm.ptr<1>, i32, i32, i32) -> f32
    "fold.element_store"(%x, %p, %r, %r, %r, %r, %on, %r)
      {kept_rank = 0, reduced_rank = 1, axis = "reduced", access = "strided", whole = false}
      : (f32, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32) -> ()
    "fold.yield"() : () -> ()
  }) {step = 8, unroll = 3} : (i32, i32) -> ()
  return
}

// -----

func.func @yields_a_value(%p: !llvm.ptr<1>, %on: i1, %b: i32, %e: i32) {
  // expected-error @below {{WF313: fold.thread_map expects a region that yields nothing, got i32}}
  "fold.thread_map"(%b, %e) ({
  ^bb0(%r: i32):
    "fold.yield"(%r) : (i32) -> ()
  }) {step = 8, unroll = 1} : (i32, i32) -> ()
  return
}

// -----

func.func @takes_nothing(%p: !llvm.ptr<1>, %on: i1, %b: i32, %e: i32) {
  // expected-error @below {{WF310: fold.thread_map expects a body that takes an i32, got nothing}}
  "fold.thread_map"(%b, %e) ({
    "fold.yield"() : () -> ()
  }) {step = 8, unroll = 1} : (i32, i32) -> ()
  return
}

// -----

func.func @takes_another_type(%p: !llvm.ptr<1>, %on: i1, %b: i32, %e: i32) {
  // expected-error @below {{WF310: fold.thread_map expects a body that takes an i32, got i64}}
  "fold.thread_map"(%b, %e) ({
  ^bb0(%r: i64):
    %x = "fold.load"(%p, %r, %r, %r) {kept_rank = 0, reduced_rank = 1, axis = "reduced", access = "strided"}
      : (!llvm.ptr<1>, i64, i64, i64) -> f32
    "fold.element_store"(%x, %p, %r, %r, %r, %r, %on, %r)
      {kept_rank = 0, reduced_rank = 1, axis = "reduced", access = "strided", whole = false}
      : (f32, !llvm.ptr<1>, i64, i64, i64, i64, i1, i64) -> ()
    "fold.yield"() : () -> ()
  }) {step = 8, unroll = 1} : (i32, i32) -> ()
  return
}

// -----

func.func @writes_nothing(%p: !llvm.ptr<1>, %on: i1, %b: i32, %e: i32) {
  // expected-error @below {{WF310: fold.thread_map expects a fold.element_store in the body, got none}}
  "fold.thread_map"(%b, %e) ({
  ^bb0(%r: i32):
    "fold.yield"() : () -> ()
  }) {step = 8, unroll = 1} : (i32, i32) -> ()
  return
}

// -----

func.func @reads_a_period(%p: !llvm.ptr<1>, %on: i1, %b: i32, %e: i32) {
  // expected-error @below {{WF310: fold.thread_map expects loads whose access is aligned or shifted or strided or uniform or tile or tile_strided or bits or bits_strided or reversed, got period}}
  "fold.thread_map"(%b, %e) ({
  ^bb0(%r: i32):
    %x = "fold.load"(%p, %r, %r, %r) {kept_rank = 0, reduced_rank = 1, axis = "reduced", access = "period"}
      : (!llvm.ptr<1>, i32, i32, i32) -> f32
    "fold.element_store"(%x, %p, %r, %r, %r, %r, %on, %r)
      {kept_rank = 0, reduced_rank = 1, axis = "reduced", access = "strided", whole = false}
      : (f32, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32) -> ()
    "fold.yield"() : () -> ()
  }) {step = 8, unroll = 1} : (i32, i32) -> ()
  return
}

// -----

func.func @has_a_branch(%p: !llvm.ptr<1>, %on: i1, %b: i32, %e: i32) {
  // expected-error @below {{WF316: fold.thread_map expects a region of straight-line code, got scf.if, which has a region of its own}}
  "fold.thread_map"(%b, %e) ({
  ^bb0(%r: i32):
    scf.if %on {
    }
    "fold.yield"() : () -> ()
  }) {step = 8, unroll = 1} : (i32, i32) -> ()
  return
}
