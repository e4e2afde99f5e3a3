// Rows that wait in shared memory: the lowering of fold.hold to copies into a thread's slots, and of fold.held to loads.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-residency,canonicalize,cse)' | FileCheck %s

gpu.module @device {
  // The launch says how large it is.
  // CHECK: llvm.mlir.global external @held_0() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>

  // Two inputs in a CTA of 32 threads. The slots of the second one lie behind those of the first, 2 * 32 * 16 bytes.
  // CHECK-LABEL: func.func @two_inputs
  // CHECK-SAME:    (%[[X:[a-z0-9]*]]: !llvm.ptr<1>, %[[Y:[a-z0-9]*]]: !llvm.ptr<1>, %{{[a-z0-9]*}}: i32, %[[BEGIN:[a-z0-9]*]]: i32, %{{[a-z0-9]*}}: i32, %[[END:[a-z0-9]*]]: i32, %[[T:[a-z0-9]*]]: i32
  func.func @two_inputs(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %row: i32, %begin: i32, %first: i32, %end: i32, %t: i32,
                        %n: i32, %one: i32, %k: i32) -> (vector<4xf32>, vector<4xf16>) {
    // CHECK:      %[[SHARED:.*]] = llvm.mlir.addressof @held_0
    // CHECK:      %[[OFFSET:.*]] = arith.muli %[[T]], %c16_i32
    // CHECK:      %[[SLOT:.*]] = llvm.getelementptr %[[SHARED]][%[[OFFSET]]]
    // An access beyond the end of the row reads nothing, and zeros are written in its place.
    // CHECK:      %[[EXISTS:.*]] = arith.cmpi slt, %[[BEGIN]], %[[END]]
    // CHECK:      %[[BYTES:.*]] = arith.select %[[EXISTS]], %c16_i32, %c0_i32
    // CHECK:      nvvm.cp.async.shared.global %[[SLOT]], %{{.*}}, 16, cache = cg, %[[BYTES]]
    // The next slot of the thread.
    // CHECK:      %[[NEXT:.*]] = llvm.getelementptr %[[SLOT]][512]
    // CHECK:      nvvm.cp.async.shared.global %[[NEXT]], %{{.*}}, 16, cache = cg,
    %xs = "fold.hold"(%x, %row, %begin, %first, %end, %t, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, slots = 2, threads = 32,
       vector = 4, item = 4, whole = false} : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
    // Whole accesses ask nothing. Those of 8 bytes are cached in L1, too.
    // CHECK:      %[[BEHIND:.*]] = llvm.getelementptr %[[SHARED]][1024]
    // CHECK:      nvvm.cp.async.shared.global %{{[^,]*}}, %{{[^,]*}}, 8, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    // CHECK:      nvvm.cp.async.shared.global %{{[^,]*}}, %{{[^,]*}}, 8, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    %ys = "fold.hold"(%y, %row, %begin, %first, %end, %t, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, slots = 2, threads = 32,
       vector = 4, item = 2, whole = true} : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
    // One wait for all, where the first slot is read.
    // CHECK:      nvvm.cp.async.commit.group
    // CHECK-NEXT: nvvm.cp.async.wait.group 0
    // CHECK-NOT:  nvvm.cp.async
    // CHECK:      llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
    // CHECK:      llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<4xf16>
    // CHECK-NOT:  barrier
    %a = "fold.held"(%xs, %k) {threads = 32} : (!llvm.ptr<3>, i32) -> vector<4xf32>
    %b = "fold.held"(%ys, %k) {threads = 32} : (!llvm.ptr<3>, i32) -> vector<4xf16>
    return %a, %b : vector<4xf32>, vector<4xf16>
  }

  // Rows that begin anywhere, in accesses of 32 bytes, which are two parts each.
  // CHECK-LABEL: func.func @shifted
  func.func @shifted(%x: !llvm.ptr<1>, %row: i32, %begin: i32, %first: i32, %end: i32, %t: i32, %n: i32, %one: i32,
                     %extent: i32) -> !llvm.ptr<3> {
    // The first access may begin before the row: then its elements are loaded one by one, unless it lies in the array and
    // what is before the row can be read, too.
    // CHECK:      %[[BEFORE:.*]] = arith.cmpi slt, %arg2, %arg3
    // CHECK:      %[[INSIDE:.*]] = arith.cmpi sle, %{{.*}}, %arg8
    // CHECK:      %[[EARLY:.*]] = arith.andi %[[BEFORE]], %{{.*}} : i1
    // CHECK:      scf.if %[[EARLY]] {
    // CHECK:        llvm.load
    // CHECK:        llvm.store %{{.*}} : vector<4xi32>, !llvm.ptr<3>
    // CHECK:        llvm.store %{{.*}} : vector<4xi32>, !llvm.ptr<3>
    // CHECK:      } else {
    // CHECK-COUNT-2: nvvm.cp.async.shared.global
    // CHECK:      }
    // The other one may be cut by the end of the row: it reads as many bytes as there are.
    // CHECK:      arith.maxsi
    // CHECK:      arith.minsi
    // CHECK:      nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %{{.*}} : !llvm.ptr<3>, !llvm.ptr<1>, i32
    // CHECK:      nvvm.cp.async.shared.global
    // CHECK-NOT:  nvvm.cp.async
    %slots = "fold.hold"(%x, %row, %begin, %first, %end, %t, %n, %one, %extent)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted", step = 256, slots = 2, threads = 32,
       vector = 8, item = 4, whole = false} : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
    return %slots : !llvm.ptr<3>
  }

  // Twenty slots: the first one, three in a loop that unroll-loops makes straight-line code of, and eight at a time.
  // CHECK-LABEL: func.func @many
  func.func @many(%x: !llvm.ptr<1>, %row: i32, %begin: i32, %first: i32, %end: i32, %t: i32, %n: i32, %one: i32)
      -> !llvm.ptr<3> {
    // CHECK:      nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 4, cache = ca
    // CHECK:      scf.for %{{.*}} = %c1_i32 to %c4_i32 step %c1_i32
    // CHECK:        nvvm.cp.async.shared.global
    // CHECK:      } {fold.unrolled = 3 : i64}
    // CHECK:      scf.for %{{.*}} = %c4_i32 to %c20_i32 step %c1_i32
    // CHECK:        nvvm.cp.async.shared.global
    // CHECK:      } {fold.unrolled = 8 : i64}
    // CHECK-NOT:  nvvm.cp.async
    %slots = "fold.hold"(%x, %row, %begin, %first, %end, %t, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "strided", step = 32, slots = 20, threads = 32,
       vector = 1, item = 4, whole = false} : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
    return %slots : !llvm.ptr<3>
  }

  // What a kernel does once stays a loop over the slots behind the first one.
  // CHECK-LABEL: func.func @once
  func.func @once(%x: !llvm.ptr<1>, %row: i32, %begin: i32, %first: i32, %end: i32, %t: i32, %n: i32, %one: i32)
      -> !llvm.ptr<3> {
    // CHECK:      nvvm.cp.async.shared.global
    // CHECK:      scf.for %{{.*}} = %c1_i32 to %c9_i32 step %c1_i32
    // CHECK:        nvvm.cp.async.shared.global
    // CHECK-NOT:  fold.unrolled
    // CHECK:      return
    %slots = "fold.hold"(%x, %row, %begin, %first, %end, %t, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, slots = 9, threads = 32,
       vector = 4, item = 4, whole = false, once = true} : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
    return %slots : !llvm.ptr<3>
  }

  // As many slots as the row has accesses: four whole ones at a time, then one at a time.
  // CHECK-LABEL: func.func @walked
  func.func @walked(%x: !llvm.ptr<1>, %row: i32, %begin: i32, %first: i32, %end: i32, %t: i32, %n: i32, %one: i32)
      -> !llvm.ptr<3> {
    // CHECK:      %[[LIMIT:.*]] = arith.subi %arg4, %c387_i32
    // CHECK:      scf.for %{{.*}} = %arg2 to %[[LIMIT]] step %c512_i32
    // CHECK-COUNT-4: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    // CHECK:      scf.for %[[R:.*]] = %{{.*}} to %arg4 step %c128_i32
    // CHECK:        %[[FAR:.*]] = arith.subi %[[R]], %arg2
    // CHECK:        arith.shrui %[[FAR]], %c7_i32 exact
    // CHECK:        nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %{{.*}} : !llvm.ptr<3>, !llvm.ptr<1>, i32
    // CHECK-NOT:  nvvm.cp.async
    %slots = "fold.hold"(%x, %row, %begin, %first, %end, %t, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, slots = 20, threads = 32,
       vector = 4, item = 4, whole = false, walked = true}
      : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
    return %slots : !llvm.ptr<3>
  }

  // Slots of two inputs alternate: those of a thread are 1024 bytes apart, and the second input's begin at byte 512.
  // CHECK-LABEL: func.func @alternating
  func.func @alternating(%x: !llvm.ptr<1>, %row: i32, %begin: i32, %first: i32, %end: i32, %t: i32, %n: i32, %one: i32)
      -> vector<4xf32> {
    // CHECK:      llvm.getelementptr %{{.*}}[512]
    // CHECK:      %[[FAR:.*]] = arith.muli %{{.*}}, %c1024_i32
    // CHECK:      nvvm.cp.async.wait.group 0
    // CHECK:      llvm.load
    %slots = "fold.hold"(%x, %row, %begin, %first, %end, %t, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, slots = 20, threads = 32,
       vector = 4, item = 4, whole = false, walked = true, start = 512, pitch = 1024}
      : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
    %h = "fold.held"(%slots, %one) {threads = 32, pitch = 1024} : (!llvm.ptr<3>, i32) -> vector<4xf32>
    return %h : vector<4xf32>
  }

  // What a turn of a loop copies for the next one is not waited for: each turn begins with a wait for the one before.
  // CHECK-LABEL: func.func @in_turn
  func.func @in_turn(%x: !llvm.ptr<1>, %row: i32, %begin: i32, %first: i32, %end: i32, %t: i32, %n: i32, %one: i32)
      -> vector<4xf32> {
    %zero = arith.constant 0 : i32
    %none = arith.constant dense<0.0> : vector<4xf32>
    %slots = "fold.hold"(%x, %row, %begin, %first, %end, %t, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, slots = 1, threads = 32,
       vector = 4, item = 4, whole = false, start = 0} : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
    // CHECK:      scf.for
    // CHECK:        nvvm.cp.async.wait.group 0
    // CHECK:        nvvm.cp.async.shared.global
    // CHECK-NOT:    nvvm.cp.async.wait.group
    // CHECK:        llvm.load
    // CHECK:        scf.yield
    // CHECK:      nvvm.cp.async.wait.group 0
    %last, %h = scf.for %i = %zero to %n step %one iter_args(%own = %slots, %sum = %none)
        -> (!llvm.ptr<3>, vector<4xf32>) : i32 {
      %next = "fold.hold"(%x, %i, %begin, %first, %end, %t, %n, %one)
        {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, slots = 1, threads = 32,
         vector = 4, item = 4, whole = false, start = 0, later = true}
        : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
      %v = "fold.held"(%own, %zero) {threads = 32} : (!llvm.ptr<3>, i32) -> vector<4xf32>
      %both = arith.addf %sum, %v : vector<4xf32>
      scf.yield %next, %both : !llvm.ptr<3>, vector<4xf32>
    }
    return %h : vector<4xf32>
  }

  // Elements of two bytes that lie apart: loads and stores. There is nothing to wait for.
  // CHECK-LABEL: func.func @apart
  func.func @apart(%x: !llvm.ptr<1>, %row: i32, %begin: i32, %first: i32, %end: i32, %t: i32, %n: i32, %two: i32)
      -> f16 {
    // CHECK:      scf.if
    // CHECK:        llvm.store %{{.*}} {alignment = 2 : i64} : i16, !llvm.ptr<3>
    // CHECK-NOT:  nvvm.cp.async
    // CHECK:      llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<3> -> f16
    %slots = "fold.hold"(%x, %row, %begin, %first, %end, %t, %n, %two)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "strided", step = 32, slots = 1, threads = 32,
       vector = 1, item = 2, whole = false} : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
    %zero = arith.constant 0 : i32
    %h = "fold.held"(%slots, %zero) {threads = 32} : (!llvm.ptr<3>, i32) -> f16
    return %h : f16
  }

  // Threads read slots of each other: each waits for its own copies, and a barrier for those of the others. Slots that
  // nothing is copied into lie behind, 1 * 32 * 16 bytes further on.
  // CHECK-LABEL: func.func @exchanged
  // CHECK-SAME:    (%{{.*}}: !llvm.ptr<1>, %{{[^,]*}}: i32, %{{[^,]*}}: i32, %{{[^,]*}}: i32, %{{[^,]*}}: i32, %[[T:[a-z0-9]*]]: i32
  func.func @exchanged(%x: !llvm.ptr<1>, %row: i32, %begin: i32, %first: i32, %end: i32, %t: i32, %n: i32, %one: i32)
      -> (!llvm.ptr<3>, !llvm.ptr<3>) {
    // CHECK:      %[[SHARED:.*]] = llvm.mlir.addressof @held_0
    // CHECK:      %[[OFFSET:.*]] = arith.muli %[[T]], %c16_i32
    // CHECK:      nvvm.cp.async.shared.global
    // CHECK:      %[[BEHIND:.*]] = llvm.getelementptr %[[SHARED]][512]
    // CHECK:      llvm.getelementptr %[[BEHIND]][%[[OFFSET]]]
    // CHECK:      nvvm.cp.async.commit.group
    // CHECK-NEXT: nvvm.cp.async.wait.group 0
    // CHECK-NEXT: gpu.barrier
    // CHECK-NEXT: return
    %slots = "fold.hold"(%x, %row, %begin, %first, %end, %t, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "kept", access = "aligned", step = 32, slots = 1, threads = 32,
       vector = 8, item = 2, whole = true} : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
    %others = "fold.slots"(%t) {slots = 1, threads = 32, vector = 8, item = 2} : (i32) -> !llvm.ptr<3>
    "fold.arrived"() : () -> ()
    return %slots, %others : !llvm.ptr<3>, !llvm.ptr<3>
  }
}

// A target without asynchronous copies.
gpu.module @older attributes {fold.target = "sm_75"} {
  // CHECK-LABEL: func.func @loaded
  func.func @loaded(%x: !llvm.ptr<1>, %row: i32, %begin: i32, %first: i32, %end: i32, %t: i32, %n: i32, %one: i32)
      -> vector<4xf32> {
    // CHECK-NOT:  nvvm.cp.async
    // CHECK:      llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    // CHECK:      llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
    // CHECK:      llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
    %slots = "fold.hold"(%x, %row, %begin, %first, %end, %t, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, slots = 1, threads = 32,
       vector = 4, item = 4, whole = false} : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
    %zero = arith.constant 0 : i32
    %four = "fold.held"(%slots, %zero) {threads = 32} : (!llvm.ptr<3>, i32) -> vector<4xf32>
    return %four : vector<4xf32>
  }
}
