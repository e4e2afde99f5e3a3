// fold.interwarp_accumulate: the warp level, second half. The lanes pick up the states that fold.shared_store left and
// combine them; every warp does the same work, so that all threads have the result.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @eight_warps
func.func @eight_warps(%lane: i32, %slot: i32, %buffer: !llvm.ptr<3>) -> f32 {
  // The 32 lanes share eight rows.
  // CHECK: "fold.interwarp_accumulate"(%{{.*}}, %{{.*}}, %{{.*}}) ({
  // CHECK: }) {lanes = 32 : i64, ordered = false, rows = 8 : i64, slots = 1 : i64, stride = 1 : i64} : (i32, i32, !llvm.ptr<3>) -> f32
  %r = "fold.interwarp_accumulate"(%lane, %slot, %buffer) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {rows = 8, slots = 1, lanes = 32, stride = 1, ordered = false} : (i32, i32, !llvm.ptr<3>) -> f32
  return %r : f32
}

// CHECK-LABEL: func.func @value_and_index
func.func @value_and_index(%lane: i32, %slot: i32, %values: !llvm.ptr<3>, %indices: !llvm.ptr<3>) -> tuple<f32, i64> {
  // A buffer for each value of the state; lanes of one result lie 8 apart.
  // CHECK: lanes = 4 : i64, ordered = true, rows = 16 : i64, slots = 8 : i64, stride = 8 : i64
  // CHECK-SAME: (i32, i32, !llvm.ptr<3>, !llvm.ptr<3>) -> tuple<f32, i64>
  %r = "fold.interwarp_accumulate"(%lane, %slot, %values, %indices) ({
  ^bb0(%v: f32, %i: i64, %w: f32, %j: i64):
    %c = builtin.unrealized_conversion_cast %v, %i : f32, i64 to tuple<f32, i64>
    "fold.yield"(%c) : (tuple<f32, i64>) -> ()
  }) {rows = 16, slots = 8, lanes = 4, stride = 8, ordered = true}
    : (i32, i32, !llvm.ptr<3>, !llvm.ptr<3>) -> tuple<f32, i64>
  return %r : tuple<f32, i64>
}
