// Which bin an element lies in: by a product and the edges next to it, or by halving.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-bin-search,canonicalize,cse)' | FileCheck %s

// Only an element close to an edge loads edges.
// CHECK-LABEL: func.func @guessed
func.func @guessed(%x: f32, %l: !llvm.ptr<1>, %u: !llvm.ptr<1>, %f: f32, %g: f32, %s: f32, %n: i32) -> i32 {
  // CHECK:      llvm.call_intrinsic "llvm.nvvm.f2i.rz"
  // CHECK:      scf.if %{{.*}} -> (i32) {
  // CHECK-NEXT:   scf.yield
  // CHECK-NEXT: } else {
  // CHECK:        scf.if %{{.*}} -> (i32) {
  // CHECK-COUNT-2:  llvm.load %{{.*}} invariant
  // CHECK:        } else {
  // CHECK-NEXT:     scf.yield
  %i = "fold.bin_of"(%x, %l, %u, %f, %g, %s, %n) {uniform = true, steps = 3}
    : (f32, !llvm.ptr<1>, !llvm.ptr<1>, f32, f32, f32, i32) -> i32
  return %i : i32
}

// CHECK-LABEL: func.func @searched
func.func @searched(%x: f32, %l: !llvm.ptr<1>, %u: !llvm.ptr<1>, %f: f32, %g: f32, %s: f32, %n: i32) -> i32 {
  // CHECK-COUNT-3: llvm.load %{{.*}} invariant
  // CHECK-NOT:  llvm.load
  // CHECK:      return
  %i = "fold.bin_of"(%x, %l, %u, %f, %g, %s, %n) {uniform = false, steps = 3}
    : (f32, !llvm.ptr<1>, !llvm.ptr<1>, f32, f32, f32, i32) -> i32
  return %i : i32
}
