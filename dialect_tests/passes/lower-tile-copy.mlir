// The copy to shared memory: the lowering of fold.tile_copy. Aligned accesses of 16 bytes by all threads, from the boundary
// before the run to the one after it; at the ends of the array, where such an access would leave its memory, single
// elements.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-tile-copy,canonicalize,cse)' | FileCheck %s

gpu.module @device {
  // The copies are buffers of words: 16 KiB, 2 KiB, 512 bytes and 4 KiB.
  // CHECK-DAG: llvm.mlir.global internal @tile_0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<4096 x i32>
  // CHECK-DAG: llvm.mlir.global internal @tile_1() {{.*}} : !llvm.array<512 x i32>
  // CHECK-DAG: llvm.mlir.global internal @tile_2() {{.*}} : !llvm.array<128 x i32>
  // CHECK-DAG: llvm.mlir.global internal @tile_3() {{.*}} : !llvm.array<1024 x i32>

  // CHECK-LABEL: func.func @floats
  // CHECK-SAME:    (%[[X:.*]]: !llvm.ptr<1>, %[[BEGIN:.*]]: i32, %[[LENGTH:.*]]: i32, %[[EXTENT:.*]]: i32, %[[THREAD:.*]]: i32)
  func.func @floats(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) -> (!llvm.ptr<3>, i32) {
    // CHECK:      %[[SHARED:.*]] = llvm.mlir.zero : !llvm.ptr<3>
    // CHECK:      %[[COPY:.*]] = llvm.mlir.addressof @tile_0 : !llvm.ptr<3>
    // The last CTA's run ends with the array.
    // CHECK:      %[[BEHIND:.*]] = arith.addi %[[BEGIN]], %[[LENGTH]] : i32
    // CHECK-NEXT: %[[END:.*]] = arith.minsi %[[BEHIND]], %[[EXTENT]] : i32
    // The floats from a boundary to the run: its address modulo 16, divided by 4. For an empty run it is 0.
    // CHECK:      %[[BYTES:.*]] = arith.andi %{{.*}}, %c15_i32 : i32
    // CHECK-NEXT: %[[FLOATS:.*]] = arith.shrui %[[BYTES]], %c2_i32 : i32
    // CHECK-NEXT: %[[SOME:.*]] = arith.cmpi slt, %[[BEGIN]], %[[END]] : i32
    // CHECK-NEXT: %[[LEAD:.*]] = arith.select %[[SOME]], %[[FLOATS]], %c0_i32 : i32
    // CHECK-NEXT: %[[ORIGIN:.*]] = arith.subi %[[BEGIN]], %[[LEAD]] : i32
    // Accesses from the origin on, the last one perhaps only in part of the run.
    // CHECK:      %[[SPAN:.*]] = arith.subi %[[END]], %[[ORIGIN]] : i32
    // CHECK-NEXT: %[[UP:.*]] = arith.addi %[[SPAN]], %c3_i32 : i32
    // CHECK-NEXT: %[[COUNT:.*]] = arith.shrui %[[UP]], %c2_i32 : i32
    // CHECK-NEXT: %[[WHOLE:.*]] = arith.shli %[[COUNT]], %c2_i32 : i32
    // CHECK-NEXT: %[[AFTER:.*]] = arith.addi %[[ORIGIN]], %[[WHOLE]] : i32
    // The first one begins before the array, or the last one ends behind it: these are left out of the loop. What lies
    // between the rows of neighbouring CTAs is the array's, and read by both.
    // CHECK-NEXT: %[[EARLY:.*]] = arith.cmpi slt, %[[ORIGIN]], %c0_i32 : i32
    // CHECK-NEXT: %[[LATE:.*]] = arith.cmpi sgt, %[[AFTER]], %[[EXTENT]] : i32
    // CHECK-NEXT: %[[FIRST:.*]] = arith.extui %[[EARLY]] : i1 to i32
    // CHECK-NEXT: %[[LESS:.*]] = arith.extui %[[LATE]] : i1 to i32
    // CHECK-NEXT: %[[LAST:.*]] = arith.subi %[[COUNT]], %[[LESS]] : i32
    // CHECK:      %[[GREATEST:.*]] = arith.subi %[[LAST]], %c1_i32 : i32
    // CHECK-NEXT: %[[OWN:.*]] = arith.addi %[[FIRST]], %[[THREAD]] : i32
    // 16 KiB are four accesses for each of 256 threads; neighbouring threads load neighbouring accesses. All are loaded
    // before the first is stored; an access beyond the end loads the last one again.
    // CHECK-NEXT: scf.for %[[A0:.*]] = %[[OWN]] to %[[LAST]] step %c1024_i32
    // CHECK-NEXT:   %[[A1:.*]] = arith.addi %[[A0]], %c256_i32 : i32
    // CHECK-NEXT:   %[[A2:.*]] = arith.addi %[[A0]], %c512_i32 : i32
    // CHECK-NEXT:   %[[A3:.*]] = arith.addi %[[A0]], %c768_i32 : i32
    // CHECK-NEXT:   arith.minsi %[[A0]], %[[GREATEST]] : i32
    // CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    // CHECK-NEXT:   %[[THERE:.*]] = arith.cmpi slt, %[[A0]], %[[LAST]] : i32
    // CHECK-NEXT:   scf.if %[[THERE]] {
    // CHECK-NEXT:     %[[TO:.*]] = llvm.getelementptr %[[COPY]][%[[A0]]] : {{.*}} vector<4xi32>
    // CHECK-NEXT:     llvm.store %{{.*}}, %[[TO]] {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
    // CHECK:        arith.cmpi slt, %[[A3]], %[[LAST]] : i32
    // CHECK:          llvm.store {{.*}} : vector<4xi32>, !llvm.ptr<3>
    // The access that begins before the array: four threads copy a float each. An element outside the run is replaced by
    // the nearest one of the run, so that nothing outside is read and nothing in the copy stays unwritten.
    // CHECK:      %[[FEW:.*]] = arith.cmpi slt, %[[THREAD]], %c4_i32 : i32
    // CHECK-NEXT: %[[BEFORE:.*]] = arith.andi %[[EARLY]], %[[FEW]] : i1
    // CHECK-NEXT: scf.if %[[BEFORE]] {
    // CHECK-NEXT:   %[[AT:.*]] = arith.addi %[[ORIGIN]], %[[THREAD]] : i32
    // CHECK-NEXT:   %[[FINAL:.*]] = arith.subi %[[END]], %c1_i32 : i32
    // CHECK-NEXT:   %[[BELOW:.*]] = arith.minsi %[[AT]], %[[FINAL]] : i32
    // CHECK-NEXT:   %[[NEAREST:.*]] = arith.maxsi %[[BELOW]], %[[BEGIN]] : i32
    // CHECK-NEXT:   llvm.getelementptr %[[X]][%[[NEAREST]]]
    // CHECK-NEXT:   llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr<1> -> i32
    // CHECK-NEXT:   llvm.getelementptr %[[COPY]][%[[THREAD]]]
    // CHECK-NEXT:   llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : i32, !llvm.ptr<3>
    // And the one that ends behind it, in the same way.
    // CHECK:      %[[FROM:.*]] = arith.subi %[[AFTER]], %c4_i32 : i32
    // CHECK-NEXT: %[[BEYOND:.*]] = arith.andi %[[LATE]], %[[FEW]] : i1
    // CHECK-NEXT: scf.if %[[BEYOND]] {
    // CHECK-NEXT:   arith.addi %[[FROM]], %[[THREAD]] : i32
    // Nothing behind the copy is read here, so nothing is written there.
    // CHECK-NOT:  llvm.store {{.*}} : vector<4xi32>
    // The results are address 0 of SHARED memory and the index of the array element that would lie there: a number, since
    // ptxas would compute an address anew for every result. The address of the copy is counted in floats, too.
    // CHECK:      %[[PLACE:.*]] = llvm.ptrtoint %[[COPY]] : !llvm.ptr<3> to i32
    // CHECK-NEXT: %[[BEFORE_COPY:.*]] = arith.shrui %[[PLACE]], %c2_i32 : i32
    // CHECK-NEXT: %[[THERE:.*]] = arith.subi %[[ORIGIN]], %[[BEFORE_COPY]] : i32
    // The barrier is not this op's: several copies share one.
    // CHECK-NOT:  gpu.barrier
    // CHECK:      return %[[SHARED]], %[[THERE]]
    %copy, %origin = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 4, bytes = 16384, threads = 256}
      : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
    return %copy, %origin : !llvm.ptr<3>, i32
  }

  // A copy that all threads make with one access each has one in flight. Sixteen bytes are sixteen elements, and as many
  // threads copy the ends.
  // CHECK-LABEL: func.func @bytes
  // CHECK-SAME:    ({{.*}}, %[[THREAD:[a-z0-9]+]]: i64)
  func.func @bytes(%x: !llvm.ptr<1>, %begin: i64, %length: i64, %extent: i64, %thread: i64) -> i64 {
    // The offset within 16 bytes takes the low half of the address; an index has 64 bits here.
    // CHECK:         %[[PLACE:.*]] = arith.andi %{{.*}}, %c15_i32 : i32
    // CHECK-NEXT:    arith.extui %[[PLACE]] : i32 to i64
    // CHECK:         scf.for {{.*}} step %c128_i64
    // CHECK-COUNT-1: llvm.load %{{.*}} -> vector<4xi32>
    // CHECK-NOT:     llvm.load %{{.*}} -> vector<4xi32>
    // CHECK:         arith.cmpi slt, %[[THREAD]], %c16_i64 : i64
    // CHECK:         llvm.load %{{.*}} invariant {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    // CHECK:         llvm.store %{{.*}}, %{{.*}} {alignment = 1 : i64} : i8, !llvm.ptr<3>
    // CHECK:         return
    %copy, %origin = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 1, bytes = 2048, threads = 128}
      : (!llvm.ptr<1>, i64, i64, i64, i64) -> (!llvm.ptr<3>, i64)
    return %origin : i64
  }

  // Elements as long as an access: there is nothing before a boundary, and one thread copies an end.
  // CHECK-LABEL: func.func @wide_elements
  // CHECK:         arith.shrui %{{.*}}, %c4_i32 : i32
  // CHECK:         arith.cmpi slt, %{{.*}}, %c1_i32 : i32
  // CHECK:         llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> i128
  func.func @wide_elements(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) -> i32 {
    %copy, %origin = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 16, bytes = 512, threads = 32}
      : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
    return %origin : i32
  }

  // Threads that read vectors read up to 32 bytes behind the last access. These are zeros: two threads write 16 bytes
  // each, after the accesses, of which there are COUNT.
  // CHECK-LABEL: func.func @vectors_of_halves
  // CHECK-SAME:    ({{.*}}, %[[THREAD:[a-z0-9]+]]: i32)
  func.func @vectors_of_halves(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) -> i32 {
    // CHECK:      %[[COPY:.*]] = llvm.mlir.addressof @tile_3 : !llvm.ptr<3>
    // CHECK:      %[[COUNT:.*]] = arith.shrui %{{.*}}, %c3_i32 : i32
    // CHECK:      scf.for
    // CHECK:      llvm.store {{.*}} : vector<4xi32>, !llvm.ptr<3>
    // CHECK:      %[[BOTH:.*]] = arith.cmpi slt, %[[THREAD]], %c2_i32 : i32
    // CHECK-NEXT: scf.if %[[BOTH]] {
    // CHECK-NEXT:   %[[AT:.*]] = arith.addi %[[COUNT]], %[[THREAD]] : i32
    // CHECK-NEXT:   %[[BEHIND:.*]] = llvm.getelementptr %[[COPY]][%[[AT]]] : {{.*}} vector<4xi32>
    // CHECK-NEXT:   llvm.store %cst, %[[BEHIND]] {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
    // CHECK-NEXT: }
    // The ends of the array follow. The address of the copy is counted in halves.
    // CHECK:      llvm.load %{{.*}} invariant {alignment = 2 : i64} : !llvm.ptr<1> -> i16
    // CHECK:      %[[PLACE:.*]] = llvm.ptrtoint %[[COPY]] : !llvm.ptr<3> to i32
    // CHECK-NEXT: arith.shrui %[[PLACE]], %c1_i32 : i32
    %copy, %origin = "fold.tile_copy"(%x, %begin, %length, %extent, %thread)
      {item = 2, bytes = 4096, threads = 256, beyond = 32}
      : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
    return %origin : i32
  }

  // A run of the CTA's own: an access that would leave the run is copied element by element. The others go by cp.async,
  // for which the thread waits behind the last copy.
  // CHECK-LABEL: func.func @rows_of_its_own
  // CHECK-SAME:    (%[[X:[a-z0-9]+]]: !llvm.ptr<1>, %{{[a-z0-9]+}}: !llvm.ptr<1>, %[[BEGIN:[a-z0-9]+]]: i32
  func.func @rows_of_its_own(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) {
    // CHECK:      %[[END:.*]] = arith.minsi
    // CHECK:      arith.cmpi slt, %{{.*}}, %[[BEGIN]] : i32
    // CHECK-NEXT: arith.cmpi sgt, %{{.*}}, %[[END]] : i32
    // CHECK:      scf.for
    // CHECK:        nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg
    // CHECK-NOT:  nvvm.cp.async.wait.group
    // CHECK:      scf.for
    // CHECK:        nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg
    // CHECK:      nvvm.cp.async.commit.group
    // CHECK-NEXT: nvvm.cp.async.wait.group 0
    // CHECK-NEXT: return
    %x_tile:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 4, bytes = 512, threads = 32, own = true}
      : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
    %y_tile:2 = "fold.tile_copy"(%y, %begin, %length, %extent, %thread) {item = 4, bytes = 512, threads = 32, own = true}
      : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
    return
  }
  // A large tile lies in dynamic shared memory, whose size comes with the launch; this one behind 512 bytes of another.
  // CHECK-LABEL: func.func @a_large_tile
  // CHECK:         %[[HELD:.*]] = llvm.mlir.addressof @held_0 : !llvm.ptr<3>
  // CHECK:         llvm.getelementptr %[[HELD]][128] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
  // CHECK-NOT:     @tile_
  func.func @a_large_tile(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) {
    %tile:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread)
      {item = 4, bytes = 65536, threads = 32, own = true, dynamic = 512}
      : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
    return
  }
}

// Parts of rows: 64 halves of 271 rows are nine accesses each, from the boundary at or before the part on.
// CHECK-LABEL: gpu.module @parts
gpu.module @parts attributes {fold.target = "sm_90a"} {
  // CHECK-LABEL: func.func @halves
  // CHECK-SAME:    (%[[X:.*]]: !llvm.ptr<1>, %[[FIRST:.*]]: i32, %[[COUNT:.*]]: i32, %[[BEGIN:.*]]: i32, %[[END:.*]]: i32, %[[STRIDE:.*]]: i32, %[[EXTENT:.*]]: i32, %[[THREAD:.*]]: i32)
  func.func @halves(%x: !llvm.ptr<1>, %first: i32, %count: i32, %begin: i32, %end: i32, %stride: i32, %extent: i32, %thread: i32) -> !llvm.ptr<3> {
    // CHECK:      %[[TILE:.*]] = llvm.mlir.addressof @held_0 : !llvm.ptr<3>
    // CHECK-NEXT: %[[LEFT:.*]] = arith.subi %[[END]], %[[BEGIN]] : i32
    // CHECK-NEXT: scf.for %[[I:.*]] = %[[THREAD]] to %c2439_i32 step %c512_i32
    // CHECK-NEXT:   %[[PART:.*]] = arith.divui %[[I]], %c9_i32 : i32
    // CHECK-NEXT:   %[[WHOLE:.*]] = arith.muli %[[PART]], %c9_i32 : i32
    // CHECK-NEXT:   %[[ACCESS:.*]] = arith.subi %[[I]], %[[WHOLE]] : i32
    // CHECK-NEXT:   %[[ROW:.*]] = arith.addi %[[FIRST]], %[[PART]] : i32
    // A row before the first one is none either.
    // CHECK-NEXT:   arith.cmpi ult, %[[ROW]], %[[COUNT]] : i32
    // CHECK:          %[[BYTES:.*]] = arith.andi %{{.*}}, %c15_i32 : i32
    // CHECK-NEXT:     %[[LEAD:.*]] = arith.shrui %[[BYTES]], %c1_i32 : i32
    // CHECK:          %[[START:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
    // After eight parts one access is left out.
    // CHECK-NEXT:     %[[SKEW:.*]] = arith.shrui %[[PART]], %c3_i32 : i32
    // CHECK-NEXT:     arith.addi %[[WHOLE]], %[[SKEW]] : i32
    // CHECK:          %[[TO:.*]] = llvm.getelementptr %[[TILE]]
    // CHECK:          %[[WANTED:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : i32
    // CHECK:          %[[NBYTES:.*]] = arith.select %[[WANTED]], %c16_i32, %c0_i32 : i32
    // CHECK-NEXT:     nvvm.cp.async.shared.global %[[TO]], %{{.*}}, 16, cache = cg, %[[NBYTES]]
    // An access that leaves the array is copied element by element.
    // CHECK:          scf.for
    // CHECK:            arith.cmpi ult, %{{.*}}, %[[EXTENT]] : i32
    // CHECK:      nvvm.cp.async.commit.group
    // CHECK-NEXT: nvvm.cp.async.wait.group 0
    // CHECK-NEXT: "fold.arrived"
    %copy = "fold.tile_rows"(%x, %first, %count, %begin, %end, %stride, %extent, %thread) {item = 2, parts = 271, length = 64, skew = 8, threads = 512, dynamic = 0} : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
    "fold.arrived"() : () -> ()
    return %copy : !llvm.ptr<3>
  }
}

// Targets without cp.async load the accesses and store them.
// CHECK-LABEL: gpu.module @old
gpu.module @old attributes {fold.target = "sm_75"} {
  // CHECK-LABEL: func.func @halves
  func.func @halves(%x: !llvm.ptr<1>, %n: i32) -> !llvm.ptr<3> {
    // CHECK:      %[[READ:.*]] = llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    // CHECK-NEXT: llvm.store %[[READ]], %{{.*}} {alignment = 16 : i64}
    // CHECK-NOT:  nvvm.cp.async
    %copy = "fold.tile_rows"(%x, %n, %n, %n, %n, %n, %n, %n) {item = 2, parts = 271, length = 64, skew = 8, threads = 512, dynamic = 0} : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
    return %copy : !llvm.ptr<3>
  }
}

// CHECK-LABEL: gpu.module @ring
gpu.module @ring attributes {fold.target = "sm_90a"} {
  // CHECK-LABEL: func.func @to_a_place
  // CHECK-SAME: (%[[X:.*]]: !llvm.ptr<1>, %[[N:.*]]: i32, %[[PLACE:.*]]: i32)
  func.func @to_a_place(%x: !llvm.ptr<1>, %n: i32, %place: i32) -> i32 {
    // CHECK:      %[[WORDS:.*]] = arith.muli %[[PLACE]], %c256_i32 : i32
    // CHECK:      %[[AT:.*]] = arith.addi %[[WORDS]], %c512_i32 : i32
    // CHECK:      llvm.getelementptr %{{.*}}[%[[AT]]] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    // CHECK:      nvvm.cp.async.shared.global
    // The copy is a group of its own, for which the CTA waits later.
    // CHECK:      nvvm.cp.async.commit.group
    // CHECK-NOT:  nvvm.cp.async.wait.group 0
    // CHECK:      nvvm.cp.async.wait.group 3
    %copy, %origin = "fold.tile_copy"(%x, %n, %n, %n, %n, %place) {item = 4, bytes = 1024, threads = 64, own = true, dynamic = 2048} : (!llvm.ptr<1>, i32, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
    "fold.tile_arrived"() {later = 3} : () -> ()
    return %origin : i32
  }
}

// Where copies are loads and stores, there is nothing to wait for.
// CHECK-LABEL: gpu.module @old_ring
gpu.module @old_ring attributes {fold.target = "sm_75"} {
  // CHECK-LABEL: func.func @to_a_place
  func.func @to_a_place(%x: !llvm.ptr<1>, %n: i32, %place: i32) -> i32 {
    // CHECK-NOT:  nvvm.cp.async
    // CHECK:      llvm.store
    // CHECK-NOT:  nvvm.cp.async
    // CHECK:      return
    %copy, %origin = "fold.tile_copy"(%x, %n, %n, %n, %n, %place) {item = 4, bytes = 1024, threads = 64, own = true, dynamic = 2048} : (!llvm.ptr<1>, i32, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
    "fold.tile_arrived"() {later = 3} : () -> ()
    return %origin : i32
  }
}
