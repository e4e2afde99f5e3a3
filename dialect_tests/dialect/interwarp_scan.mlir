// fold.interwarp_scan: the warp level of a scan, of the states that fold.shared_store has left.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @eight_warps
func.func @eight_warps(%warp: i32, %slot: i32, %buffer: !llvm.ptr<3>) -> (f32, f32) {
  // CHECK: "fold.interwarp_scan"(%{{.*}}, %{{.*}}, %{{.*}}) ({
  // CHECK: }) {rows = 8 : i64, slots = 1 : i64} : (i32, i32, !llvm.ptr<3>) -> (f32, f32)
  %before, %total = "fold.interwarp_scan"(%warp, %slot, %buffer) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {rows = 8, slots = 1} : (i32, i32, !llvm.ptr<3>) -> (f32, f32)
  return %before, %total : f32, f32
}
