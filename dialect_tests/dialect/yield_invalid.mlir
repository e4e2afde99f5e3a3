// fold.yield has no rule of its own: that it ends a block is MLIR's, and what it yields is checked by the op around
// it (WF313, see the files of those ops).

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @not_at_the_end(%x: f32) -> f32 {
  %r = "fold.warp_reduce"(%x) ({
  ^bb0(%a: f32, %b: f32):
    // expected-error @below {{'fold.yield' op must be the last operation in the parent block}}
    "fold.yield"(%a) : (f32) -> ()
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {lanes = 32, stride = 1, ordered = false} : (f32) -> f32
  return %r : f32
}

// -----

func.func @gives_no_result(%x: f32) {
  // expected-error @below {{WF310: fold.yield expects 0 result(s), got 1}}
  %r = "fold.yield"(%x) : (f32) -> f32
}
