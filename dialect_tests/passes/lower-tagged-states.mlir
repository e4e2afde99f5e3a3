// States in tagged words: the lowering of fold.leave and fold.seen.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-tagged-states,canonicalize,cse)' | FileCheck %s

// A state of 64 bits has two words; the upper half of each says that it is a prefix.
// CHECK-LABEL: func.func @leave
func.func @leave(%words: !llvm.ptr<1>, %at: i32, %on: i1, %x: f64) {
  // CHECK:      scf.if
  // CHECK:        %[[BITS:.*]] = arith.bitcast %{{.*}} : f64 to i64
  // CHECK-COUNT-2: llvm.store %{{.*}} atomic syncscope("device") monotonic {alignment = 8 : i64} : i64
  "fold.leave"(%words, %at, %on, %x) {kind = 2} : (!llvm.ptr<1>, i32, i1, f64) -> ()
  return
}

// While one word is of the aggregate and the other of the prefix, there is no state.
// CHECK-LABEL: func.func @seen
func.func @seen(%words: !llvm.ptr<1>, %at: i32) -> (i32, f64) {
  // CHECK:      llvm.load %{{.*}} atomic syncscope("device") monotonic {alignment = 8 : i64}
  // CHECK:      llvm.load %{{.*}} atomic syncscope("device") monotonic {alignment = 8 : i64}
  // CHECK:      %[[ALIKE:.*]] = arith.cmpi eq
  // CHECK-NEXT: %[[KIND:.*]] = arith.select %[[ALIKE]], %{{.*}}, %c0_i32 : i32
  // CHECK:      return %[[KIND]]
  %kind, %state = "fold.seen"(%words, %at) : (!llvm.ptr<1>, i32) -> (i32, f64)
  return %kind, %state : i32, f64
}

// A truth value has a word of its own.
// CHECK-LABEL: func.func @truth
func.func @truth(%words: !llvm.ptr<1>, %at: i32, %on: i1, %x: i1) {
  // CHECK: arith.extui %{{.*}} : i1 to i64
  "fold.leave"(%words, %at, %on, %x) {kind = 1} : (!llvm.ptr<1>, i32, i1, i1) -> ()
  return
}
