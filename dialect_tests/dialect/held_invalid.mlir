// Errors of fold.held.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @slots_are_global(%s: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF310: fold.held expects a !llvm.ptr<3> as operand 0, got !llvm.ptr<1>}}
  %x = "fold.held"(%s, %i) {threads = 32} : (!llvm.ptr<1>, i32) -> f32
  return
}

// -----

func.func @number_is_no_index(%s: !llvm.ptr<3>, %i: index) {
  // expected-error @below {{WF310: fold.held expects an i32 or i64 as operand 1, got index}}
  %x = "fold.held"(%s, %i) {threads = 32} : (!llvm.ptr<3>, index) -> f32
  return
}

// -----

func.func @no_threads(%s: !llvm.ptr<3>, %i: i32) {
  // expected-error @below {{WF311: fold.held expects the attribute threads to be an integer}}
  %x = "fold.held"(%s, %i) {} : (!llvm.ptr<3>, i32) -> f32
  return
}

// -----

func.func @too_many_threads(%s: !llvm.ptr<3>, %i: i32) {
  // expected-error @below {{WF311: fold.held expects the attribute threads to be a power of two up to 1024, got 2048}}
  %x = "fold.held"(%s, %i) {threads = 2048} : (!llvm.ptr<3>, i32) -> f32
  return
}

// -----

func.func @three_elements(%s: !llvm.ptr<3>, %i: i32) {
  // expected-error @below {{WF317: fold.held expects states of scalars, or of vectors of a power of two of them, got vector<3xf32>}}
  %x = "fold.held"(%s, %i) {threads = 32} : (!llvm.ptr<3>, i32) -> vector<3xf32>
  return
}
