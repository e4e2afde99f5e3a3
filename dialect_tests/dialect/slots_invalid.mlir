// Errors of fold.slots.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @thread_is_no_index(%t: index) {
  // expected-error @below {{WF310: fold.slots expects an i32 or i64 as operand 0, got index}}
  %p = "fold.slots"(%t) {slots = 4, threads = 256, vector = 8, item = 2} : (index) -> !llvm.ptr<3>
  return
}

// -----

func.func @place_is_global(%t: i32) {
  // expected-error @below {{WF310: fold.slots expects a result of type !llvm.ptr<3>, got !llvm.ptr<1>}}
  %p = "fold.slots"(%t) {slots = 4, threads = 256, vector = 8, item = 2} : (i32) -> !llvm.ptr<1>
  return
}

// -----

func.func @no_slots(%t: i32) {
  // expected-error @below {{WF310: fold.slots expects one slot at least, got 0}}
  %p = "fold.slots"(%t) {slots = 0, threads = 256, vector = 8, item = 2} : (i32) -> !llvm.ptr<3>
  return
}

// -----

func.func @too_many_threads(%t: i32) {
  // expected-error @below {{WF311: fold.slots expects the attribute threads to be a power of two up to 1024, got 2048}}
  %p = "fold.slots"(%t) {slots = 4, threads = 2048, vector = 8, item = 2} : (i32) -> !llvm.ptr<3>
  return
}
