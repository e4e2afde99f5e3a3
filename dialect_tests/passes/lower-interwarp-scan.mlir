// The warp stage of a scan: the lowering of fold.interwarp_scan. Every thread combines the states of all warps in order,
// and keeps what it had before that of its own warp.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-interwarp-scan,canonicalize,cse)' | FileCheck %s

// CHECK-LABEL: func.func @four_warps
// CHECK-SAME:    (%[[WARP:.*]]: i32, %{{.*}}: i32, %{{.*}}: !llvm.ptr<3>)
func.func @four_warps(%warp: i32, %slot: i32, %buffer: !llvm.ptr<3>) -> (f32, f32) {
  // CHECK:      %[[S0:.*]] = llvm.load
  // CHECK:      %[[S1:.*]] = llvm.load
  // CHECK:      %[[S2:.*]] = llvm.load
  // CHECK:      %[[S3:.*]] = llvm.load
  // CHECK-NEXT: %[[TWO:.*]] = arith.addf %[[S0]], %[[S1]] : f32
  // CHECK-NEXT: %[[HERE:.*]] = arith.cmpi eq, %[[WARP]], %c2_i32 : i32
  // CHECK-NEXT: %[[BEFORE:.*]] = arith.select %[[HERE]], %[[TWO]], %[[S0]] : f32
  // CHECK-NEXT: %[[THREE:.*]] = arith.addf %[[TWO]], %[[S2]] : f32
  // CHECK-NEXT: %[[LAST:.*]] = arith.cmpi eq, %[[WARP]], %c3_i32 : i32
  // CHECK-NEXT: %[[OWN:.*]] = arith.select %[[LAST]], %[[THREE]], %[[BEFORE]] : f32
  // CHECK-NEXT: %[[FOUR:.*]] = arith.addf %[[THREE]], %[[S3]] : f32
  // CHECK-NEXT: return %[[OWN]], %[[FOUR]]
  %before, %total = "fold.interwarp_scan"(%warp, %slot, %buffer) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {rows = 4, slots = 1} : (i32, i32, !llvm.ptr<3>) -> (f32, f32)
  return %before, %total : f32, f32
}
