// Loops that stand for straight-line code: what goes round becomes values, and other loops stay.

// RUN: warpfold-opt %s --split-input-file --pass-pipeline='builtin.module(unroll-loops,canonicalize)' | FileCheck %s

// A turn finds its own value first, and what it makes comes out at its place; the sum is carried on.
// CHECK-LABEL: func.func @squares
// CHECK-SAME:    (%[[X:.*]]: f32, %[[Y:.*]]: f32, %[[SUM:.*]]: f32)
func.func @squares(%x: f32, %y: f32, %sum: f32) -> (f32, f32, f32) {
  // CHECK-NOT:  scf.for
  // CHECK:      %[[FIRST:.*]] = arith.mulf %[[X]], %[[X]] : f32
  // CHECK-NEXT: %[[ONE:.*]] = arith.addf %[[SUM]], %[[FIRST]] : f32
  // CHECK-NEXT: %[[SECOND:.*]] = arith.mulf %[[Y]], %[[Y]] : f32
  // CHECK-NEXT: %[[BOTH:.*]] = arith.addf %[[ONE]], %[[SECOND]] : f32
  // CHECK-NEXT: return %[[BOTH]], %[[FIRST]], %[[SECOND]] : f32, f32, f32
  %zero = arith.constant 0 : i32
  %two = arith.constant 2 : i32
  %one = arith.constant 1 : i32
  %none = llvm.mlir.undef : f32
  %found:5 = scf.for %k = %zero to %two step %one
      iter_args(%so_far = %sum, %own = %x, %next = %y, %a = %none, %b = %none) -> (f32, f32, f32, f32, f32) : i32 {
    %square = arith.mulf %own, %own : f32
    %more = arith.addf %so_far, %square : f32
    scf.yield %more, %next, %own, %b, %square : f32, f32, f32, f32, f32
  } {fold.unrolled = 2 : i64}
  return %found#0, %found#3, %found#4 : f32, f32, f32
}

// -----

// The number of a turn is a constant then. Loops of 3 and of 2 turns, one in a branch.
// CHECK-LABEL: func.func @numbers
func.func @numbers(%to: !llvm.ptr<1>, %on: i1) {
  // CHECK-NOT:     scf.for
  // CHECK-COUNT-3: llvm.store
  // CHECK:         scf.if
  // CHECK-COUNT-2: llvm.store
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  scf.for %k = %zero to %three step %one : i32 {
    %at = llvm.getelementptr %to[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %k, %at : i32, !llvm.ptr<1>
  } {fold.unrolled = 3 : i64}
  scf.if %on {
    scf.for %k = %one to %three step %one : i32 {
      %at = llvm.getelementptr %to[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      llvm.store %two, %at : i32, !llvm.ptr<1>
    } {fold.unrolled = 2 : i64}
  }
  return
}

// -----

// A loop without the mark.
// CHECK-LABEL: func.func @loop
func.func @loop(%to: !llvm.ptr<1>) {
  // CHECK: scf.for
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %four = arith.constant 4 : i32
  scf.for %k = %zero to %four step %one : i32 {
    %at = llvm.getelementptr %to[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %k, %at : i32, !llvm.ptr<1>
  }
  return
}
