// Scattered sums: atomics to the counters of a CTA, and from these to those of the grid.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-tally,canonicalize,cse)' | FileCheck %s

gpu.module @kernels {
  // CHECK:       llvm.mlir.global internal @counters_0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<32 x i32>
  // CHECK-LABEL: gpu.func @counts
  gpu.func @counts(%one: i32, %i: i32, %on: i1, %start: i32, %cells: !llvm.ptr<1>, %n: i32) kernel {
    // Two copies of 16 counters are cleared before any thread counts.
    // CHECK:      scf.for
    // CHECK:        llvm.store %{{.*}} : i32, !llvm.ptr<3>
    // CHECK:      gpu.barrier
    %b = "fold.counters"() {count = 16, copies = 2, bits = 32} : () -> !llvm.ptr<3>
    // A negative index is a great number without a sign.
    // CHECK:      arith.cmpi ult
    // CHECK:      scf.if
    // CHECK:        llvm.atomicrmw add %{{.*}} syncscope("block") monotonic {alignment = 4 : i64} : !llvm.ptr<3>, i32
    %left = "fold.tally"(%one, %i, %on, %b, %start, %n) : (i32, i32, i1, !llvm.ptr<3>, i32, i32) -> i64
    // Counters that stayed zero need no atomic.
    // CHECK:      gpu.barrier
    // CHECK:      scf.for
    // CHECK-COUNT-2: llvm.load {{.*}} !llvm.ptr<3> -> i32
    // CHECK:        scf.if
    // CHECK:          arith.extui %{{.*}} : i32 to i64
    // CHECK:          llvm.atomicrmw add %{{.*}} syncscope("device") monotonic {alignment = 8 : i64} : !llvm.ptr<1>, i64
    "fold.spill"(%b, %cells, %n) {count = 16, copies = 2, bits = 32} : (!llvm.ptr<3>, !llvm.ptr<1>, i32) -> ()
    gpu.return
  }

  // Without counters of the CTA an element is added to those of the grid, which have 64 bits.
  // CHECK-LABEL: gpu.func @at_once
  gpu.func @at_once(%one: i32, %i: i32, %on: i1, %start: i32, %cells: !llvm.ptr<1>, %n: i32) kernel {
    // CHECK: arith.extui %{{.*}} : i32 to i64
    // CHECK: llvm.atomicrmw add %{{.*}} syncscope("device") monotonic {alignment = 8 : i64} : !llvm.ptr<1>, i64
    %left = "fold.tally"(%one, %i, %on, %cells, %start, %n) : (i32, i32, i1, !llvm.ptr<1>, i32, i32) -> i64
    gpu.return
  }
}
