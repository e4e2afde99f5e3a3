// Errors of fold.interwarp_scan.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @two_buffers_of_one_value(%warp: i32, %slot: i32, %mem: !llvm.ptr<3>) {
  // expected-error @below {{WF310: fold.interwarp_scan expects 1 buffer(s), got 2}}
  %before, %total = "fold.interwarp_scan"(%warp, %slot, %mem, %mem) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {rows = 8, slots = 1} : (i32, i32, !llvm.ptr<3>, !llvm.ptr<3>) -> (f32, f32)
  return
}

// -----

func.func @buffer_in_global_memory(%warp: i32, %slot: i32, %mem: !llvm.ptr<1>) {
  // expected-error @below {{WF310: fold.interwarp_scan expects a !llvm.ptr<3> as operand 2, got !llvm.ptr<1>}}
  %before, %total = "fold.interwarp_scan"(%warp, %slot, %mem) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {rows = 8, slots = 1} : (i32, i32, !llvm.ptr<1>) -> (f32, f32)
  return
}

// -----

func.func @more_rows_than_a_cta_has(%warp: i32, %slot: i32, %mem: !llvm.ptr<3>) {
  // expected-error @below {{WF311: fold.interwarp_scan expects the attribute slots to be a number from 1 to 1024, got 1056}}
  %before, %total = "fold.interwarp_scan"(%warp, %slot, %mem) ({
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {rows = 1, slots = 1056} : (i32, i32, !llvm.ptr<3>) -> (f32, f32)
  return
}
