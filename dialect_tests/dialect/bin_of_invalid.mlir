// Errors of fold.bin_of.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @edges_in_shared_memory(%x: f32, %l: !llvm.ptr<3>, %u: !llvm.ptr<1>, %f: f32, %n: i32) {
  // expected-error @below {{WF310: fold.bin_of expects a !llvm.ptr<1> as operand 1, got !llvm.ptr<3>}}
  %i = "fold.bin_of"(%x, %l, %u, %f, %f, %f, %n) {uniform = false, steps = 8}
    : (f32, !llvm.ptr<3>, !llvm.ptr<1>, f32, f32, f32, i32) -> i32
  return
}

// -----

func.func @wide_edges(%x: f32, %l: !llvm.ptr<1>, %f: f64, %n: i32) {
  // expected-error @below {{WF310: fold.bin_of expects a f32 as operand 3, got f64}}
  %i = "fold.bin_of"(%x, %l, %l, %f, %f, %f, %n) {uniform = false, steps = 8}
    : (f32, !llvm.ptr<1>, !llvm.ptr<1>, f64, f64, f64, i32) -> i32
  return
}

// -----

func.func @one_for_two(%x: vector<2xf32>, %l: !llvm.ptr<1>, %f: f32, %n: i32) {
  // expected-error @below {{WF310: fold.bin_of expects a result of type vector<2xi32>, got i32}}
  %i = "fold.bin_of"(%x, %l, %l, %f, %f, %f, %n) {uniform = false, steps = 8}
    : (vector<2xf32>, !llvm.ptr<1>, !llvm.ptr<1>, f32, f32, f32, i32) -> i32
  return
}
