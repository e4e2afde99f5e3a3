// Work by tickets: the lowering of fold.ticket, fold.share, fold.arrive, fold.signal and fold.await.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-tickets,canonicalize,cse)' | FileCheck %s

gpu.module @device {
  // CHECK: llvm.mlir.global internal @ticket_2() {addr_space = 3 : i32, {{.*}}} : !llvm.array<1 x i32>
  // CHECK: llvm.mlir.global internal @ticket_1() {addr_space = 3 : i32, {{.*}}} : !llvm.array<1 x i32>
  // CHECK: llvm.mlir.global internal @ticket_0() {addr_space = 3 : i32, {{.*}}} : !llvm.array<1 x i32>

  // A word of shared memory, which is written before a barrier.
  // CHECK-LABEL: func.func @share
  // CHECK-SAME:    (%[[NUMBER:.*]]: i64)
  func.func @share(%number: i64) -> i64 {
    // CHECK-NOT:  gpu.barrier
    // CHECK:      scf.if
    // CHECK:        %[[WORD:.*]] = arith.trunci %[[NUMBER]] : i64 to i32
    // CHECK:        llvm.store %[[WORD]], %[[SHARED:.*]] {alignment = 4 : i64} : i32, !llvm.ptr<3>
    // CHECK:      gpu.barrier
    // CHECK-NEXT: %[[READ:.*]] = llvm.load %[[SHARED]]
    // CHECK-NEXT: %[[ALL:.*]] = arith.extui %[[READ]] : i32 to i64
    // CHECK-NEXT: return %[[ALL]] : i64
    %all = "fold.share"(%number) : (i64) -> i64
    return %all : i64
  }

  // The barrier comes before the atomic: it makes what all threads wrote known to the thread that releases it. The last
  // one to arrive acquires what the others released.
  // CHECK-LABEL: func.func @arrive
  // CHECK-SAME:    (%[[COUNTERS:.*]]: !llvm.ptr<1>, %[[NUMBER:.*]]: i32, %[[COUNT:.*]]: i32)
  func.func @arrive(%counters: !llvm.ptr<1>, %number: i32, %count: i32) -> i1 {
    // CHECK:      gpu.barrier
    // CHECK:      scf.if
    // CHECK:        %[[CELL:.*]] = llvm.getelementptr %[[COUNTERS]][%[[NUMBER]]]
    // CHECK:        %[[LAST:.*]] = arith.muli %[[COUNT]], %c2_i32 : i32
    // CHECK:        %[[OLD:.*]] = llvm.atomicrmw uinc_wrap %[[CELL]], %[[LAST]] syncscope("device") acq_rel
    // CHECK:        llvm.store %[[OLD]], %[[SHARED:.*]] {alignment = 4 : i64} : i32, !llvm.ptr<3>
    // CHECK:      gpu.barrier
    // CHECK-NEXT: %[[BEFORE:.*]] = llvm.load %[[SHARED]]
    // CHECK:      arith.cmpi eq, %[[BEFORE]], %{{.*}} : i32
    %last = "fold.arrive"(%counters, %number, %count) : (!llvm.ptr<1>, i32, i32) -> i1
    return %last : i1
  }

  // Where CTAs arrive once, the last one sets the counter to zero.
  // CHECK-LABEL: func.func @arrive_once
  // CHECK-SAME:    (%[[COUNTERS:.*]]: !llvm.ptr<1>, %[[NUMBER:.*]]: i32, %[[COUNT:.*]]: i32)
  func.func @arrive_once(%counters: !llvm.ptr<1>, %number: i32, %count: i32) -> i1 {
    // CHECK:      gpu.barrier
    // CHECK:        %[[LAST:.*]] = arith.subi %[[COUNT]], %c1_i32 : i32
    // CHECK:        llvm.atomicrmw uinc_wrap %{{.*}}, %[[LAST]] syncscope("device") acq_rel
    // CHECK:      gpu.barrier
    %last = "fold.arrive"(%counters, %number, %count) {once = true} : (!llvm.ptr<1>, i32, i32) -> i1
    return %last : i1
  }
}

// Where nothing waits for the counter, one warp arrives, without a barrier of the CTA, and the last one sets the counter to
// zero. Its lanes acquire what the first one does.
// CHECK-LABEL: func.func @arrive_alone
// CHECK-SAME:    (%[[COUNTERS:.*]]: !llvm.ptr<1>, %[[NUMBER:.*]]: i32, %[[COUNT:.*]]: i32)
func.func @arrive_alone(%counters: !llvm.ptr<1>, %number: i32, %count: i32) -> i1 {
  // CHECK-NOT:  gpu.barrier
  // CHECK:      %[[LAST:.*]] = arith.subi %[[COUNT]], %c1_i32 : i32
  // CHECK:      %[[OLD:.*]] = scf.if
  // CHECK:        llvm.atomicrmw uinc_wrap %{{.*}}, %[[LAST]] syncscope("device") acq_rel
  // CHECK:      %[[BEFORE:.*]], %{{.*}} = gpu.shuffle idx %[[OLD]], %c0_i32, %c32_i32 : i32
  // CHECK:      nvvm.bar.warp.sync
  // CHECK:      arith.cmpi eq, %[[BEFORE]], %[[LAST]] : i32
  %last = "fold.arrive"(%counters, %number, %count) {alone = true} : (!llvm.ptr<1>, i32, i32) -> i1
  return %last : i1
}

// The first thread takes the ticket. The last ticket sets the counter to zero.
// CHECK-LABEL: func.func @ticket
// CHECK-SAME:    (%[[COUNTER:.*]]: !llvm.ptr<1>, %[[COUNT:.*]]: i32)
func.func @ticket(%counter: !llvm.ptr<1>, %count: i32) -> i32 {
  // CHECK:      %[[TICKET:.*]] = scf.if %{{.*}} -> (i32) {
  // CHECK:        %[[LAST:.*]] = arith.subi %[[COUNT]], %c1_i32 : i32
  // CHECK:        %[[OLD:.*]] = llvm.atomicrmw uinc_wrap %[[COUNTER]], %[[LAST]] syncscope("device") monotonic
  // CHECK:        scf.yield %[[OLD]] : i32
  // CHECK:      } else {
  // CHECK:        scf.yield %c0_i32 : i32
  // CHECK:      return %[[TICKET]] : i32
  %number = "fold.ticket"(%counter, %count) : (!llvm.ptr<1>, i32) -> i32
  return %number : i32
}

// The barrier comes before the release: it makes what all threads wrote known to the thread that releases it.
// CHECK-LABEL: func.func @signal
// CHECK-SAME:    (%[[COUNTERS:.*]]: !llvm.ptr<1>, %[[NUMBER:.*]]: i32, %[[COUNT:.*]]: i32)
func.func @signal(%counters: !llvm.ptr<1>, %number: i32, %count: i32) {
  // CHECK:     gpu.barrier
  // CHECK:     scf.if
  // CHECK:       %[[CELL:.*]] = llvm.getelementptr %[[COUNTERS]][%[[NUMBER]]]
  // CHECK:       %[[LAST:.*]] = arith.muli %[[COUNT]], %c2_i32 : i32
  // CHECK:       llvm.atomicrmw uinc_wrap %[[CELL]], %[[LAST]] syncscope("device") release
  // CHECK-NOT: gpu.barrier
  // CHECK:     return
  "fold.signal"(%counters, %number, %count) : (!llvm.ptr<1>, i32, i32) -> ()
  return
}

// One thread waits and acquires; a barrier makes that known to the others.
// CHECK-LABEL: func.func @await
// CHECK-SAME:    (%[[COUNTERS:.*]]: !llvm.ptr<1>, %[[NUMBER:.*]]: i32, %[[COUNT:.*]]: i32)
func.func @await(%counters: !llvm.ptr<1>, %number: i32, %count: i32) {
  // CHECK:     scf.if
  // CHECK:       scf.while
  // CHECK:         %[[SEEN:.*]] = llvm.load %[[CELL:.*]] atomic syncscope("device") acquire
  // CHECK:         %[[WAITS:.*]] = arith.cmpi ule, %[[SEEN]], %[[COUNT]] : i32
  // CHECK:         scf.condition(%[[WAITS]])
  // CHECK:         nvvm.nanosleep
  // CHECK:       llvm.atomicrmw uinc_wrap %[[CELL]], %{{.*}} syncscope("device") monotonic
  // CHECK:     gpu.barrier
  // CHECK:     return
  "fold.await"(%counters, %number, %count) : (!llvm.ptr<1>, i32, i32) -> ()
  return
}
