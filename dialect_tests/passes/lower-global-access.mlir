// Access to global memory. A walk along the reduced axis is peeled into loops that each know more than the whole walk, so
// that the long middle loop has wide aligned loads and no comparison at all.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-global-access,canonicalize,cse)' | FileCheck %s

// --- the walk ---

// Aligned vectors of four elements, two in flight, 128 elements apart. Three loops:
//   pairs of accesses      while all elements of both are below the end   (end - 128 - 3), for all lanes of a warp
//   one more pair          of which the second, or both, may be beyond the end
//   one masked access      for the last one to three elements
// CHECK-LABEL: func.func @aligned_vectors
// CHECK-SAME:    (%[[X:.*]]: !llvm.ptr<1>, %[[FIRST:.*]]: i32, %[[END:.*]]: i32, %{{.*}}: i32)
func.func @aligned_vectors(%x: !llvm.ptr<1>, %first: i32, %end: i32, %one: i32) -> vector<4xf32> {
  // CHECK:      %[[TWO_FIT:.*]] = arith.subi %[[END]], %c131_i32 : i32
  // The last lane is the last to begin: no lane makes a pair that this one does not.
  // CHECK-NEXT: %[[LAST_LANE:.*]] = arith.ori %[[FIRST]], %c124_i32 : i32
  // CHECK-NEXT: %[[LATER:.*]] = arith.subi %[[LAST_LANE]], %[[FIRST]] : i32
  // CHECK-NEXT: %[[ALL_FIT:.*]] = arith.subi %[[TWO_FIT]], %[[LATER]] : i32
  // CHECK-NEXT: %[[PAIRS:.*]] = "fold.thread_reduce"(%[[FIRST]], %[[ALL_FIT]], %cst{{.*}}) ({
  // CHECK:        llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  // All elements count here: the mask is gone.
  // CHECK-NEXT:   "fold.yield"
  // CHECK:      {step = 128 : i64, unroll = 2 : i64}
  // The pairs stop at the next multiple of 256 after the first element.
  // CHECK:      %[[WHOLE:.*]] = arith.andi %{{.*}}, %c-256_i32 : i32
  // CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[FIRST]], %[[WHOLE]] : i32
  // CHECK-NEXT: %[[ONE_FITS:.*]] = arith.subi %[[END]], %c3_i32 : i32
  // CHECK:      %[[LAST:.*]] = arith.andi %{{.*}}, %c-4_i32 : i32
  // One step at most is left: a branch, no loop.
  // CHECK-NEXT: %[[REST:.*]] = "fold.thread_reduce"(%[[NEXT]], %[[ONE_FITS]], %[[PAIRS]]) ({
  // CHECK-NEXT: ^bb0(%[[R:.*]]: i32):
  // Both loads are in flight at once. A load beyond the end reads the last access of the row again, and does not count.
  // CHECK-NEXT:   %[[AT:.*]] = arith.minsi %[[R]], %[[LAST]] : i32
  // CHECK-NEXT:   llvm.getelementptr %[[X]][%[[AT]]]
  // CHECK-NEXT:   %[[V:.*]] = llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK-NEXT:   %[[THERE:.*]] = arith.cmpi slt, %[[R]], %[[ONE_FITS]] : i32
  // CHECK-NEXT:   %[[ALL:.*]] = vector.broadcast %[[THERE]] : i1 to vector<4xi1>
  // CHECK-NEXT:   arith.select %[[ALL]], %[[V]], %cst{{.*}} : vector<4xi1>, vector<4xf32>
  // They are combined like any group of accesses; those that do not count are the identity.
  // CHECK:      {once = true, step = 128 : i64, unroll = 2 : i64}
  // The tail: four single loads at indices clamped into the row, so that nothing outside it is touched. Elements at or
  // beyond the end are then replaced by the identity. The access begins in the row, so that no element is compared with
  // the first one.
  // CHECK:      "fold.thread_reduce"(%{{.*}}, %[[END]], %[[REST]]) ({
  // CHECK-NEXT: ^bb0(%[[R:.*]]: i32):
  // CHECK-NEXT:   %[[MOST:.*]] = arith.subi %[[END]], %c1_i32 : i32
  // CHECK-NEXT:   %[[AT:.*]] = arith.minsi %[[R]], %[[MOST]] : i32
  // CHECK-NOT:    arith.maxsi
  // CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  // Element j of the access counts if j < END - R.
  // CHECK:        %[[LEFT:.*]] = arith.subi %[[END]], %[[R]] : i32
  // CHECK-NEXT:   %[[BOUND:.*]] = vector.broadcast %[[LEFT]] : i32 to vector<4xi32>
  // CHECK-NEXT:   %[[LIVE:.*]] = arith.cmpi sgt, %[[BOUND]], %cst : vector<4xi32>
  // CHECK-NEXT:   arith.select %[[LIVE]], %{{.*}}, %cst{{.*}} : vector<4xi1>, vector<4xf32>
  // CHECK:      {once = true, step = 128 : i64, unroll = 1 : i64}
  %zeros = arith.constant dense<0.0> : vector<4xf32>
  %s = "fold.thread_reduce"(%first, %end, %zeros) ({
  ^bb0(%r: i32):
    %all = "fold.load"(%x, %r, %r, %one) {kept_rank = 0, reduced_rank = 1, axis = "reduced", access = "aligned"}
      : (!llvm.ptr<1>, i32, i32, i32) -> vector<4xf32>
    %live = "fold.live"(%r, %first, %end) : (i32, i32, i32) -> vector<4xi1>
    %used = arith.select %live, %all, %zeros : vector<4xi1>, vector<4xf32>
    "fold.yield"(%used) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 128, unroll = 2} : (i32, i32, vector<4xf32>) -> vector<4xf32>
  return %s : vector<4xf32>
}

// Rows that begin anywhere: how far a row lies past a boundary of four elements (LEAD) is computed from its address, and
// the walk begins that much earlier, so that every access is an aligned one:
//
//   memory      |  .  .  0  1 |  2  3  4  5 | ...  |  n-2 n-1 .  . |      boundaries of 16 bytes
//   accesses    |   the first |  the next   |      |   the last    |      LEAD = 2 elements before the row
//
// The dots are elements of other rows: they are read, and do not count. Beside the array's first and last row lies what
// does not belong to the array: there the elements of such an access are read one by one. Five loops:
//   the first pair of accesses,  masked, read whole if the row is INSIDE
//                                masked, read one by one if it is not
//   pairs                        while all elements of both are below the end: no mask
//   the last pair,               masked, read whole if the row is INSIDE
//                                masked, read one by one if it is not
// CHECK-LABEL: func.func @shifted_rows
// CHECK-SAME:    (%[[X:.*]]: !llvm.ptr<1>, %[[KEPT:.*]]: i32, %[[FIRST:.*]]: i32, %[[END:.*]]: i32, %[[PITCH:.*]]: i32, %{{.*}}: i32, %[[EXTENT:.*]]: i32)
func.func @shifted_rows(%x: !llvm.ptr<1>, %kept: i32, %first: i32, %end: i32, %row: i32, %one: i32, %extent: i32)
    -> vector<4xf32> {
  // CHECK:      %[[ROW:.*]] = arith.muli %[[KEPT]], %[[PITCH]] : i32
  // CHECK:      %[[ADDRESS:.*]] = llvm.ptrtoint %{{.*}} : !llvm.ptr<1> to i64
  // CHECK-NEXT: %[[ELEMENT:.*]] = arith.shrui %[[ADDRESS]], %c2_i64 : i64
  // CHECK-NEXT: %[[LEAD:.*]] = arith.andi %[[ELEMENT]], %c3_i64 : i64
  // CHECK-NEXT: %[[LEAD32:.*]] = arith.trunci %[[LEAD]] : i64 to i32
  // CHECK-NEXT: %[[EARLY:.*]] = arith.subi %[[FIRST]], %[[LEAD32]] : i32
  // The last access begins at the boundary before the row's last element.
  // CHECK-NEXT: %[[MOST:.*]] = arith.subi %[[END]], %c1_i32 : i32
  // CHECK-NEXT: %[[LENGTH:.*]] = arith.subi %[[MOST]], %[[EARLY]] : i32
  // CHECK-NEXT: %[[WHOLE:.*]] = arith.andi %[[LENGTH]], %c-4_i32 : i32
  // CHECK-NEXT: %[[LAST:.*]] = arith.addi %[[EARLY]], %[[WHOLE]] : i32
  // Inside: from the array's first element on, up to its extent.
  // CHECK-DAG:  %[[LAST_AT:.*]] = arith.addi %[[ROW]], %[[LAST]] : i32
  // CHECK-DAG:  %[[AFTER:.*]] = arith.addi %[[LAST_AT]], %c4_i32 : i32
  // CHECK-DAG:  %[[EARLY_AT:.*]] = arith.addi %[[ROW]], %[[EARLY]] : i32
  // CHECK:      %[[LOW:.*]] = arith.cmpi sge, %[[EARLY_AT]], %c0_i32 : i32
  // CHECK-NEXT: %[[HIGH:.*]] = arith.cmpi sle, %[[AFTER]], %[[EXTENT]] : i32
  // CHECK-NEXT: %[[INSIDE:.*]] = arith.andi %[[LOW]], %[[HIGH]] : i1
  // CHECK:      %[[NEXT:.*]] = arith.addi %[[EARLY]], %c256_i32 : i32
  // One step, or none if the row is not inside: then the loop ends where it begins.
  // CHECK:      %[[UNTIL:.*]] = arith.select %[[INSIDE]], %[[END]], %[[EARLY]] : i32
  // CHECK-NEXT: %[[HEAD:.*]] = "fold.thread_reduce"(%[[EARLY]], %[[UNTIL]], %cst{{.*}}) ({
  // CHECK-NEXT: ^bb0(%[[R:.*]]: i32):
  // CHECK-NEXT:   %[[AT:.*]] = arith.minsi %[[R]], %[[LAST]] : i32
  // CHECK:        llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  // Element j of the access counts if FIRST - R <= j < END - R: a row may begin and end in it.
  // CHECK-NEXT:   arith.subi %[[END]], %[[R]] : i32
  // CHECK:        %[[TO:.*]] = arith.cmpi sgt, %{{.*}}, %cst : vector<4xi32>
  // CHECK-NEXT:   arith.subi %[[FIRST]], %[[R]] : i32
  // CHECK:        %[[FROM:.*]] = arith.cmpi sle, %{{.*}}, %cst : vector<4xi32>
  // CHECK-NEXT:   %[[LIVE:.*]] = arith.andi %[[FROM]], %[[TO]] : vector<4xi1>
  // CHECK-NEXT:   arith.select %[[LIVE]], %{{.*}}, %cst{{.*}} : vector<4xi1>, vector<4xf32>
  // CHECK:      {chain = true, once = true, step = 128 : i64, unroll = 2 : i64}
  // CHECK:      %[[NOT_INSIDE:.*]] = arith.select %[[INSIDE]], %[[EARLY]], %{{.*}} : i32
  // CHECK-NEXT: %[[HEAD_TOO:.*]] = "fold.thread_reduce"(%[[EARLY]], %[[NOT_INSIDE]], %[[HEAD]]) ({
  // CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  // CHECK:      {step = 128 : i64, unroll = 1 : i64}
  // CHECK:      %[[MIDDLE:.*]] = "fold.thread_reduce"(%[[NEXT]], %{{.*}}, %[[HEAD_TOO]]) ({
  // CHECK:        llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK-NEXT:   "fold.yield"
  // CHECK:      {step = 128 : i64, unroll = 2 : i64}
  // CHECK:      %[[TAIL:.*]] = "fold.thread_reduce"(%{{.*}}, %{{.*}}, %[[MIDDLE]]) ({
  // CHECK:        llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK:      {chain = true, once = true, step = 128 : i64, unroll = 2 : i64}
  // CHECK:      "fold.thread_reduce"(%{{.*}}, %{{.*}}, %[[TAIL]]) ({
  // CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  %zeros = arith.constant dense<0.0> : vector<4xf32>
  %s = "fold.thread_reduce"(%first, %end, %zeros) ({
  ^bb0(%r: i32):
    %all = "fold.load"(%x, %kept, %r, %row, %one, %extent)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted"}
      : (!llvm.ptr<1>, i32, i32, i32, i32, i32) -> vector<4xf32>
    %live = "fold.live"(%r, %first, %end) : (i32, i32, i32) -> vector<4xi1>
    %used = arith.select %live, %all, %zeros : vector<4xi1>, vector<4xf32>
    "fold.yield"(%used) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 128, unroll = 2} : (i32, i32, vector<4xf32>) -> vector<4xf32>
  return %s : vector<4xf32>
}

// Columns that begin anywhere, four a thread: a vector lies in two aligned accesses, and its words are taken out of them
// by its offset in the first (its address modulo 16). Such accesses also hold up to three elements on either side of the
// vector. At the first and the last index of the reduced axis these may be outside the array: threads for which they are
// read the elements one by one. Six loops:
//   the first element of the axis, if this thread has it:  a vector, if its accesses are inside the array
//   the same                                               one by one, if not
//   pairs                                                  before the last element of the axis
//   the accesses that are left
//   the last element of the axis, if this thread has it:   a vector, or one by one
// CHECK-LABEL: func.func @unaligned_columns
// CHECK-SAME:    (%{{.*}}: !llvm.ptr<1>, %[[KEPT:.*]]: i32, %[[FIRST:.*]]: i32, %[[END:.*]]: i32, %{{.*}}: i32, %[[PITCH:.*]]: i32, %[[BEFORE:.*]]: i32, %[[BEHIND:.*]]: i32, %[[N_KEPT:.*]]: i32, %[[N_REDUCED:.*]]: i32)
// CHECK:      %[[BEFORE_LAST:.*]] = arith.subi %[[N_REDUCED]], %c1_i32 : i32
// CHECK:      %[[ITS_LAST:.*]] = arith.addi %[[KEPT]], %c3_i32 : i32
// CHECK-NEXT: %[[LAST:.*]] = arith.subi %[[N_KEPT]], %c1_i32 : i32
// A vector ends with the axis: there is no column beyond.
// CHECK-NEXT: %[[THERE:.*]] = arith.minsi %[[ITS_LAST]], %[[LAST]] : i32
// CHECK:      %[[LAST_ROW:.*]] = arith.muli %[[BEFORE_LAST]], %[[PITCH]] : i32
// CHECK-NEXT: %[[OF_AXES:.*]] = arith.addi %[[LAST]], %[[LAST_ROW]] : i32
// CHECK-NEXT: %[[GREATEST:.*]] = arith.addi %[[BEHIND]], %[[OF_AXES]] : i32
// CHECK-NEXT: %[[FROM_FIRST:.*]] = arith.addi %[[BEFORE]], %[[KEPT]] : i32
// CHECK-NEXT: %[[BEGINS:.*]] = arith.cmpi sge, %[[FROM_FIRST]], %c3_i32 : i32
// CHECK-NEXT: %[[AROUND:.*]] = arith.addi %[[THERE]], %c3_i32 : i32
// CHECK-NEXT: %[[ENDS:.*]] = arith.cmpi sle, %[[AROUND]], %[[GREATEST]] : i32
// CHECK-NEXT: %[[INSIDE:.*]] = arith.andi %[[BEGINS]], %[[ENDS]] : i1
// CHECK:      %[[HAS_FIRST:.*]] = arith.cmpi eq, %[[FIRST]], %c0_i32 : i32
// CHECK:      %[[WHOLE:.*]] = arith.select %[[INSIDE]], %{{.*}}, %[[FIRST]] : i32
// CHECK-NEXT: %[[ONE:.*]] = "fold.thread_reduce"(%[[FIRST]], %[[WHOLE]], %cst) ({
// CHECK-COUNT-2: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK:      {once = true, step = 8 : i64, unroll = 1 : i64}
// CHECK:      %[[APART:.*]] = arith.select %[[INSIDE]], %[[FIRST]], %{{.*}} : i32
// CHECK-NEXT: %[[HEAD:.*]] = "fold.thread_reduce"(%[[FIRST]], %[[APART]], %[[ONE]]) ({
// A column beyond the last one reads the last one again; it is never stored.
// CHECK:        arith.minsi %[[KEPT]], %[[LAST]] : i32
// CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK:      {once = true, step = 8 : i64, unroll = 1 : i64}
// CHECK:      arith.minsi %[[END]], %[[BEFORE_LAST]] : i32
// CHECK:      %[[PAIRS:.*]] = "fold.thread_reduce"(%{{.*}}, %{{.*}}, %[[HEAD]]) ({
// CHECK:        arith.andi %{{.*}}, %c-16_i64 : i64
// CHECK:        llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// The second access holds the last column that counts: for an aligned vector it is the first access again.
// CHECK:        arith.andi %{{.*}}, %c-16_i64 : i64
// CHECK:        llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// Two words further on if bit 3 of the address is set, then one if bit 2 is set.
// CHECK:        arith.andi %{{.*}}, %c8_i32 : i32
// CHECK:        arith.andi %{{.*}}, %c4_i32 : i32
// CHECK:        %[[WORDS:.*]] = vector.from_elements
// CHECK-NEXT:   vector.bitcast %[[WORDS]] : vector<4xi32> to vector<4xf32>
// CHECK-NEXT:   "fold.yield"
// CHECK:      {step = 8 : i64, unroll = 2 : i64}
// CHECK:      %[[REST:.*]] = "fold.thread_reduce"(%{{.*}}, %{{.*}}, %[[PAIRS]]) ({
// CHECK:      {once = true, step = 8 : i64, unroll = 2 : i64}
// CHECK:      %[[TAIL:.*]] = "fold.thread_reduce"(%{{.*}}, %{{.*}}, %[[REST]]) ({
// CHECK-COUNT-2: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK:      {once = true, step = 8 : i64, unroll = 1 : i64}
// CHECK:      "fold.thread_reduce"(%{{.*}}, %{{.*}}, %[[TAIL]]) ({
// CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK:      {once = true, step = 8 : i64, unroll = 1 : i64}
func.func @unaligned_columns(%x: !llvm.ptr<1>, %kept: i32, %first: i32, %end: i32, %one: i32, %pitch: i32, %before: i32,
                             %behind: i32, %n_kept: i32, %n_reduced: i32) -> vector<4xf32> {
  %zeros = arith.constant dense<0.0> : vector<4xf32>
  %s = "fold.thread_reduce"(%first, %end, %zeros) ({
  ^bb0(%r: i32):
    %all = "fold.load"(%x, %kept, %r, %one, %pitch, %before, %behind, %n_kept, %n_reduced)
      {kept_rank = 1, reduced_rank = 1, axis = "kept", access = "unaligned"}
      : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32, i32) -> vector<4xf32>
    %live = "fold.live"(%r, %first, %end) : (i32, i32, i32) -> i1
    %used = arith.select %live, %all, %zeros : vector<4xf32>
    "fold.yield"(%used) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 8, unroll = 2} : (i32, i32, vector<4xf32>) -> vector<4xf32>
  return %s : vector<4xf32>
}

// Vectors out of a copy in shared memory: a row is walked from its own beginning, wherever that lies between two words.
// So the three words that hold the eight bytes are read, and the bytes are shifted out of each two neighbours. What
// lies behind the row can be read, since it belongs to the copy: no access is ever split. Three loops:
//   pairs of accesses      while all elements of both are below the end
//   one more pair          of which the second, or both, may be beyond the end
//   one masked access      for the last one to seven elements, in words like the others
// CHECK-LABEL: func.func @words_of_a_copy
// CHECK-SAME:    (%[[COPY:.*]]: !llvm.ptr<3>, %[[KEPT:.*]]: i32, %[[FIRST:.*]]: i32, %[[END:.*]]: i32, %[[PITCH:.*]]: i32, %{{.*}}: i32, %[[ORIGIN:.*]]: i32)
// CHECK:      %[[TWO_FIT:.*]] = arith.subi %[[END]], %c135_i32 : i32
// CHECK:      %[[PAIRS:.*]] = "fold.thread_reduce"(%[[FIRST]], %{{.*}}, %cst{{.*}}) ({
// CHECK-NEXT: ^bb0(%[[R:.*]]: i32):
// AT is the address of the first byte in shared memory; its word begins at AT without the two lowest bits.
// CHECK-NEXT:   %[[LESS:.*]] = arith.subi %c0_i32, %[[ORIGIN]] : i32
// CHECK-NEXT:   %[[BEFORE:.*]] = arith.muli %[[KEPT]], %[[PITCH]] : i32
// CHECK-NEXT:   %[[ROW:.*]] = arith.addi %[[LESS]], %[[BEFORE]] : i32
// CHECK-NEXT:   %[[AT:.*]] = arith.addi %[[ROW]], %[[R]] : i32
// CHECK-NEXT:   %[[BOUNDARY:.*]] = arith.andi %[[AT]], %c-4_i32 : i32
// CHECK-NEXT:   %[[WORD:.*]] = llvm.getelementptr %[[COPY]][%[[BOUNDARY]]] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
// Never `invariant`: threads of this CTA wrote it.
// CHECK-NEXT:   %[[W0:.*]] = llvm.load %[[WORD]] {alignment = 4 : i64} : !llvm.ptr<3> -> i32
// CHECK-NEXT:   llvm.getelementptr %[[WORD]][1]
// CHECK-NEXT:   %[[W1:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
// CHECK-NEXT:   llvm.getelementptr %[[WORD]][2]
// CHECK-NEXT:   %[[W2:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
// The shift takes the number of bits modulo 32: eight times the two lowest bits of AT.
// CHECK-NEXT:   %[[BITS:.*]] = arith.shli %[[AT]], %c3_i32 : i32
// CHECK-NEXT:   %[[LOW:.*]] = llvm.intr.fshr(%[[W1]], %[[W0]], %[[BITS]])
// CHECK-NEXT:   %[[HIGH:.*]] = llvm.intr.fshr(%[[W2]], %[[W1]], %[[BITS]])
// CHECK-NEXT:   %[[BOTH:.*]] = vector.from_elements %[[LOW]], %[[HIGH]] : vector<2xi32>
// CHECK-NEXT:   %[[EIGHT:.*]] = vector.bitcast %[[BOTH]] : vector<2xi32> to vector<8xi8>
// CHECK-NEXT:   "fold.yield"(%[[EIGHT]])
// CHECK:      {step = 128 : i64, unroll = 2 : i64}
// CHECK:      %[[REST:.*]] = "fold.thread_reduce"(%{{.*}}, %{{.*}}, %[[PAIRS]]) ({
// CHECK-COUNT-2: llvm.intr.fshr
// CHECK:      {once = true, step = 128 : i64, unroll = 2 : i64}
// CHECK:      "fold.thread_reduce"(%{{.*}}, %[[END]], %[[REST]]) ({
// CHECK-NEXT: ^bb0(%[[R:.*]]: i32):
// CHECK-NOT:    arith.minsi
// CHECK-COUNT-3: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
// CHECK-NOT:    llvm.load
// CHECK:        arith.subi %[[END]], %[[R]] : i32
// CHECK:        arith.select %{{.*}} : vector<8xi1>, vector<8xi8>
// CHECK:      {once = true, step = 128 : i64, unroll = 1 : i64}
// CHECK-NOT:  "fold.thread_reduce"
// CHECK:      return
func.func @words_of_a_copy(%copy: !llvm.ptr<3>, %kept: i32, %first: i32, %end: i32, %row: i32, %one: i32, %origin: i32)
    -> vector<8xi8> {
  %zeros = arith.constant dense<0> : vector<8xi8>
  %s = "fold.thread_reduce"(%first, %end, %zeros) ({
  ^bb0(%r: i32):
    %all = "fold.load"(%copy, %kept, %r, %row, %one, %origin)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "tile"}
      : (!llvm.ptr<3>, i32, i32, i32, i32, i32) -> vector<8xi8>
    %live = "fold.live"(%r, %first, %end) : (i32, i32, i32) -> vector<8xi1>
    %used = arith.select %live, %all, %zeros : vector<8xi1>, vector<8xi8>
    "fold.yield"(%used) : (vector<8xi8>) -> ()
  }, {
  ^bb0(%a: i8, %b: i8):
    %c = arith.maxsi %a, %b : i8
    "fold.yield"(%c) : (i8) -> ()
  }) {step = 128, unroll = 2} : (i32, i32, vector<8xi8>) -> vector<8xi8>
  return %s : vector<8xi8>
}

// Single elements need no mask: groups of four accesses, then the accesses that are left.
// CHECK-LABEL: func.func @single_elements
func.func @single_elements(%x: !llvm.ptr<1>, %begin: i32, %end: i32, %stride: i32) -> f64 {
  // CHECK:     "fold.thread_reduce"
  // CHECK:     {step = 32 : i64, unroll = 4 : i64}
  // CHECK:     "fold.thread_reduce"
  // CHECK:     {step = 32 : i64, unroll = 1 : i64}
  // CHECK-NOT: "fold.thread_reduce"
  // CHECK:     return
  %zero = arith.constant 0.0 : f64
  %s = "fold.thread_reduce"(%begin, %end, %zero) ({
  ^bb0(%r: i32):
    %v = "fold.load"(%x, %r, %r, %stride) {kept_rank = 0, reduced_rank = 1, axis = "reduced", access = "strided"}
      : (!llvm.ptr<1>, i32, i32, i32) -> f64
    "fold.yield"(%v) : (f64) -> ()
  }, {
  ^bb0(%a: f64, %b: f64):
    %c = arith.addf %a, %b : f64
    "fold.yield"(%c) : (f64) -> ()
  }) {step = 32, unroll = 4} : (i32, i32, f64) -> f64
  return %s : f64
}

// --- addresses ---

// Two dims on both axes: a flat index becomes coordinates by one division with the inner size, by its reciprocal, and
// each coordinate has its stride. An array that collapses to one dim has none of this.
// CHECK-LABEL: func.func @strided
// CHECK-SAME:    (%{{.*}}: !llvm.ptr<1>, %[[KEPT:.*]]: i32, %[[R:.*]]: i32, %[[KS:.*]]: i32, %[[RS:.*]]: i32, %[[K0:.*]]: i32, %[[K1:.*]]: i32, %[[R0:.*]]: i32, %[[R1:.*]]: i32)
func.func @strided(%x: !llvm.ptr<1>, %kept: i32, %r: i32, %kept_size: i32, %reduced_size: i32,
                   %k0: i32, %k1: i32, %r0: i32, %r1: i32) -> f32 {
  // CHECK-DAG:  %[[RLEAST:.*]] = arith.maxui %[[RS]], %{{.*}} : i32
  // CHECK-DAG:  %[[RM:.*]] = arith.divui %{{.*}}, %[[RLEAST]] : i32
  // CHECK-DAG:  %[[KLEAST:.*]] = arith.maxui %[[KS]], %{{.*}} : i32
  // CHECK-DAG:  %[[KM:.*]] = arith.divui %{{.*}}, %[[KLEAST]] : i32
  // CHECK:      %{{.*}}, %[[KG:.*]] = arith.mului_extended %[[KEPT]], %[[KM]] : i32
  // CHECK-NEXT: %[[KW:.*]] = arith.muli %[[KG]], %[[KS]] : i32
  // CHECK-NEXT: %[[KR:.*]] = arith.subi %[[KEPT]], %[[KW]] : i32
  // CHECK-NEXT: %[[KLOW:.*]] = arith.cmpi uge, %[[KR]], %[[KS]] : i32
  // CHECK:      %[[KO:.*]] = arith.select %[[KLOW]], %{{.*}}, %[[KG]] : i32
  // CHECK:      %[[KI:.*]] = arith.select %[[KLOW]], %{{.*}}, %[[KR]] : i32
  // CHECK:      %{{.*}}, %[[RG:.*]] = arith.mului_extended %[[R]], %[[RM]] : i32
  // CHECK:      %[[RO:.*]] = arith.select %{{.*}}, %{{.*}}, %[[RG]] : i32
  // CHECK:      %[[RI:.*]] = arith.select
  // CHECK:      arith.muli %[[KO]], %[[K0]] : i32
  // CHECK:      arith.muli %[[KI]], %[[K1]] : i32
  // CHECK:      arith.muli %[[RO]], %[[R0]] : i32
  // CHECK:      arith.muli %[[RI]], %[[R1]] : i32
  // CHECK:      llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  %v = "fold.load"(%x, %kept, %r, %kept_size, %reduced_size, %k0, %k1, %r0, %r1)
    {kept_rank = 2, reduced_rank = 2, axis = "reduced", access = "strided"}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32, i32) -> f32
  return %v : f32
}

// An element of a copy: the offset in the array less the origin, which is subtracted first, as it is loop invariant.
// CHECK-LABEL: func.func @of_a_copy
// CHECK-SAME:    (%[[COPY:.*]]: !llvm.ptr<3>, %[[KEPT:.*]]: i32, %[[R:.*]]: i32, %[[K0:.*]]: i32, %[[R0:.*]]: i32, %[[ORIGIN:.*]]: i32)
func.func @of_a_copy(%copy: !llvm.ptr<3>, %kept: i32, %r: i32, %k0: i32, %r0: i32, %origin: i32) -> f32 {
  // CHECK:      %[[LESS:.*]] = arith.subi %c0_i32, %[[ORIGIN]] : i32
  // CHECK-NEXT: %[[UNIT:.*]] = arith.muli %[[KEPT]], %[[K0]] : i32
  // CHECK-NEXT: %[[ROW:.*]] = arith.addi %[[LESS]], %[[UNIT]] : i32
  // CHECK-NEXT: %[[PLACE:.*]] = arith.muli %[[R]], %[[R0]] : i32
  // CHECK-NEXT: %[[AT:.*]] = arith.addi %[[ROW]], %[[PLACE]] : i32
  // CHECK-NEXT: llvm.getelementptr %[[COPY]][%[[AT]]]
  // CHECK-NEXT: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
  %v = "fold.load"(%copy, %kept, %r, %k0, %r0, %origin)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "tile_strided"}
    : (!llvm.ptr<3>, i32, i32, i32, i32, i32) -> f32
  return %v : f32
}

// Two halves of a large array are a word out of two. The place in shared memory has 32 bits, and a half two bytes.
// CHECK-LABEL: func.func @a_word_of_a_copy
// CHECK-SAME:    (%[[COPY:.*]]: !llvm.ptr<3>, %[[KEPT:.*]]: i64, %[[R:.*]]: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64)
func.func @a_word_of_a_copy(%copy: !llvm.ptr<3>, %kept: i64, %r: i64, %row: i64, %one: i64, %origin: i64)
    -> vector<2xf16> {
  // CHECK:      %[[AT:.*]] = arith.addi %{{.*}}, %[[R]] : i64
  // CHECK-NEXT: %[[PLACE:.*]] = arith.trunci %[[AT]] : i64 to i32
  // CHECK-NEXT: %[[BYTE:.*]] = arith.muli %[[PLACE]], %c2_i32 : i32
  // CHECK-NEXT: arith.andi %[[BYTE]], %c-4_i32 : i32
  // CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
  // CHECK-NEXT: %[[BITS:.*]] = arith.shli %[[BYTE]], %c3_i32 : i32
  // CHECK-NEXT: llvm.intr.fshr(%{{.*}}, %{{.*}}, %[[BITS]])
  // CHECK:      vector.bitcast %{{.*}} : vector<1xi32> to vector<2xf16>
  %v = "fold.load"(%copy, %kept, %r, %row, %one, %origin)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "tile"}
    : (!llvm.ptr<3>, i64, i64, i64, i64, i64) -> vector<2xf16>
  return %v : vector<2xf16>
}

// A vector along the kept axis: four neighbouring results.
// CHECK-LABEL: func.func @kept_axis
func.func @kept_axis(%x: !llvm.ptr<1>, %kept: i64, %r: i64, %one: i64, %row: i64) -> vector<4xf32> {
  // CHECK-COUNT-1: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK-NOT:     llvm.load
  // CHECK:         return
  %v = "fold.load"(%x, %kept, %r, %one, %row) {kept_rank = 1, reduced_rank = 1, axis = "kept", access = "aligned"}
    : (!llvm.ptr<1>, i64, i64, i64, i64) -> vector<4xf32>
  return %v : vector<4xf32>
}

// A row that is walked backwards: one load at the address of its last element, and the elements in the reverse order.
// CHECK-LABEL: func.func @backwards
func.func @backwards(%x: !llvm.ptr<1>, %kept: i32, %r: i32, %pitch: i32, %minus: i32) -> vector<4xf32> {
  // CHECK:      %[[THREE:.*]] = arith.constant 3 : i32
  // CHECK:      arith.addi %{{.*}}, %[[THREE]] : i32
  // CHECK:      %[[V:.*]] = llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK-NEXT: %[[A:.*]] = vector.extract %[[V]][0]
  // CHECK-NEXT: %[[B:.*]] = vector.extract %[[V]][1]
  // CHECK-NEXT: %[[C:.*]] = vector.extract %[[V]][2]
  // CHECK-NEXT: %[[D:.*]] = vector.extract %[[V]][3]
  // CHECK-NEXT: vector.from_elements %[[D]], %[[C]], %[[B]], %[[A]] : vector<4xf32>
  %v = "fold.load"(%x, %kept, %r, %pitch, %minus) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "reversed"}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> vector<4xf32>
  return %v : vector<4xf32>
}

// Rows with gaps between them, of eight bytes at least: a part of eight is taken out of the words before the end of its row
// and, if there is an end in it, out of those that lie the gap farther on. All four parts of words are asked for in one
// branch; an access near the ends of the array has single elements.
// CHECK-LABEL: func.func @split
func.func @split(%x: !llvm.ptr<1>, %r: i32, %first: i32, %end: i32, %size: i32, %pitch: i32, %one: i32, %all: i32)
    -> vector<16xi8> {
  // CHECK:         arith.cmpi sge, %{{.*}}, %c4_i32 : i32
  // CHECK:         arith.mului_extended
  // CHECK:         %[[GAP:.*]] = arith.subi %{{.*}}, %{{.*}} : i32
  // CHECK:         scf.if
  // CHECK-COUNT-3: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  // CHECK:         scf.if
  // CHECK-COUNT-3: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  // CHECK:         } else {
  // CHECK-COUNT-4: llvm.intr.fshr
  // CHECK:         vector.from_elements
  %kept = arith.constant 0 : i32
  %v = "fold.element_load"(%x, %kept, %r, %first, %end, %size, %pitch, %one, %all)
    {kept_rank = 0, reduced_rank = 2, axis = "reduced", access = "split", part = 8}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32, i32) -> vector<16xi8>
  return %v : vector<16xi8>
}

// Partials of other CTAs: volatile, never `invariant` (which would allow the read-only cache).
// CHECK-LABEL: func.func @coherent
func.func @coherent(%x: !llvm.ptr<1>, %kept: i32, %part: i32, %one: i32, %n_kept: i32) -> f32 {
  // CHECK-NOT: invariant
  // CHECK:     llvm.load volatile
  %v = "fold.load"(%x, %kept, %part, %one, %n_kept) {kept_rank = 1, reduced_rank = 1, axis = "kept", access = "coherent"}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> f32
  return %v : f32
}

// Truth values are bytes in memory: sixteen of them in one load, and any byte but zero is true.
// CHECK-LABEL: func.func @truth_values
func.func @truth_values(%x: !llvm.ptr<1>, %r: i32, %one: i32) -> vector<16xi1> {
  // CHECK: %[[BYTES:.*]] = llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<16xi8>
  // CHECK: arith.cmpi ne, %[[BYTES]], %cst : vector<16xi8>
  %v = "fold.load"(%x, %r, %r, %one) {kept_rank = 0, reduced_rank = 1, axis = "reduced", access = "aligned"}
    : (!llvm.ptr<1>, i32, i32, i32) -> vector<16xi1>
  return %v : vector<16xi1>
}

// --- numbers and results ---

// Each element's number: base + coordinate times index stride, in the type of the index. Beyond the first a stride more.
// CHECK-LABEL: func.func @positions
// CHECK-SAME:    (%[[R:.*]]: i32, %[[BASE:.*]]: i32, %[[STRIDE:.*]]: i32)
func.func @positions(%r: i32, %base: i32, %stride: i32) -> vector<2xi64> {
  // CHECK:      %[[P0:.*]] = arith.muli %[[R]], %[[STRIDE]] : i32
  // CHECK-NEXT: %[[N0:.*]] = arith.addi %[[BASE]], %[[P0]] : i32
  // CHECK-NEXT: %[[L0:.*]] = arith.extsi %[[N0]] : i32 to i64
  // CHECK-NEXT: %[[N1:.*]] = arith.addi %[[N0]], %[[STRIDE]] : i32
  // CHECK-NEXT: %[[L1:.*]] = arith.extsi %[[N1]] : i32 to i64
  // CHECK-NEXT: vector.from_elements %[[L0]], %[[L1]] : vector<2xi64>
  %i = "fold.position"(%r, %r, %base, %stride) {kept_rank = 0, reduced_rank = 1, axis = "reduced"}
    : (i32, i32, i32, i32) -> vector<2xi64>
  return %i : vector<2xi64>
}

// Numbers along both axes, of neighbouring rows: those of the rows lie a stride apart, and the elements' is added.
// CHECK-LABEL: func.func @positions_of_rows
// CHECK-SAME:    (%[[K:.*]]: i32, %[[R:.*]]: i32, %[[BASE:.*]]: i32, %[[ROW:.*]]: i32, %[[ELEMENT:.*]]: i32)
func.func @positions_of_rows(%k: i32, %r: i32, %base: i32, %row: i32, %element: i32) -> vector<2xi32> {
  // CHECK:      %[[P0:.*]] = arith.muli %[[K]], %[[ROW]] : i32
  // CHECK-NEXT: %[[N0:.*]] = arith.addi %[[BASE]], %[[P0]] : i32
  // CHECK-NEXT: %[[P1:.*]] = arith.muli %[[R]], %[[ELEMENT]] : i32
  // CHECK-NEXT: %[[N1:.*]] = arith.addi %[[N0]], %[[P1]] : i32
  // CHECK-NEXT: %[[N2:.*]] = arith.addi %[[N1]], %[[ROW]] : i32
  // CHECK-NEXT: vector.from_elements %[[N1]], %[[N2]] : vector<2xi32>
  %i = "fold.position"(%k, %r, %base, %row, %element) {kept_rank = 1, reduced_rank = 1, axis = "kept"}
    : (i32, i32, i32, i32, i32) -> vector<2xi32>
  return %i : vector<2xi32>
}

// CHECK-LABEL: func.func @results
func.func @results(%v: vector<4xf32>, %out: !llvm.ptr<1>, %kept: i32, %on: i1, %stride: i32) {
  // Contiguous and aligned: one store.
  // CHECK:         scf.if
  // CHECK-COUNT-1: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
  "fold.store"(%v, %out, %kept, %on, %stride) {kept_rank = 1, reduced_rank = 0, vector = true}
    : (vector<4xf32>, !llvm.ptr<1>, i32, i1, i32) -> ()
  // Otherwise one store a result, each at its own address.
  // CHECK-COUNT-4: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
  // CHECK-NOT:     llvm.store
  // CHECK:         return
  "fold.store"(%v, %out, %kept, %on, %stride) {kept_rank = 1, reduced_rank = 0, vector = false}
    : (vector<4xf32>, !llvm.ptr<1>, i32, i1, i32) -> ()
  return
}

// Results of 32 bytes: two lanes exchange halves, and write the sector of the even lane together, then that of the odd
// one. Values that are widened afterwards are exchanged narrow, as a word each.
// CHECK-LABEL: func.func @results_of_two_lanes
// CHECK-SAME:    (%[[V:.*]]: vector<4xi32>, %[[OUT:.*]]: !llvm.ptr<1>, %[[KEPT:.*]]: i32, %[[ON:.*]]: i1, %{{.*}}: i32)
func.func @results_of_two_lanes(%v: vector<4xi32>, %out: !llvm.ptr<1>, %kept: i32, %on: i1, %stride: i32) {
  // CHECK:         %[[LANE:.*]] = gpu.lane_id
  // CHECK:         %[[ODD:.*]] = arith.cmpi ne, %{{.*}}, %c0_i32 : i32
  // CHECK:         %[[OTHER:.*]] = arith.trunci %{{.*}} : i32 to i1
  // CHECK-COUNT-2: gpu.shuffle xor %{{.*}}, %c1_i32, %c32_i32 : i32
  // CHECK-NOT:     gpu.shuffle
  // CHECK-DAG:     %[[EVEN_IS:.*]] = arith.select %[[ODD]], %[[OTHER]], %[[ON]] : i1
  // CHECK-DAG:     %[[ODD_IS:.*]] = arith.select %[[ODD]], %[[ON]], %[[OTHER]] : i1
  // CHECK:         scf.if %[[EVEN_IS]]
  // CHECK:           llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<2xi64>, !llvm.ptr<1>
  // CHECK:         scf.if %[[ODD_IS]]
  // CHECK:           llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<2xi64>, !llvm.ptr<1>
  // CHECK-NOT:     llvm.store
  // CHECK:         return
  %wide = arith.extsi %v : vector<4xi32> to vector<4xi64>
  "fold.store"(%wide, %out, %kept, %on, %stride) {kept_rank = 1, reduced_rank = 0, vector = true, paired = true}
    : (vector<4xi64>, !llvm.ptr<1>, i32, i1, i32) -> ()
  return
}

// The last vector may reach beyond the kept axis: each result but the first is stored only if it lies on the axis.
// CHECK-LABEL: func.func @some_results
// CHECK-SAME:    (%{{.*}}: vector<2xf32>, %{{.*}}: !llvm.ptr<1>, %[[KEPT:.*]]: i32, %{{.*}}: i1, %{{.*}}: i32, %[[N_KEPT:.*]]: i32)
// CHECK:         llvm.store
// CHECK:         %[[SECOND:.*]] = arith.addi %[[KEPT]], %c1_i32 : i32
// CHECK-NEXT:    %[[IS_ONE:.*]] = arith.cmpi slt, %[[SECOND]], %[[N_KEPT]] : i32
// CHECK-NEXT:    scf.if %[[IS_ONE]] {
// CHECK:           llvm.store
func.func @some_results(%v: vector<2xf32>, %out: !llvm.ptr<1>, %kept: i32, %on: i1, %stride: i32, %n_kept: i32) {
  "fold.store"(%v, %out, %kept, %on, %stride, %n_kept) {kept_rank = 1, reduced_rank = 0, vector = false, bounded = true}
    : (vector<2xf32>, !llvm.ptr<1>, i32, i1, i32, i32) -> ()
  return
}

// Contiguous results on such an axis: a thread whose vector ends before the axis stores it as a vector.
// CHECK-LABEL: func.func @whole_or_some_results
// CHECK-SAME:    (%[[V:.*]]: vector<2xf32>, %{{.*}}: !llvm.ptr<1>, %[[KEPT:.*]]: i32, %{{.*}}: i1, %{{.*}}: i32, %[[N_KEPT:.*]]: i32)
// CHECK:         %[[SECOND:.*]] = arith.addi %[[KEPT]], %c1_i32 : i32
// CHECK-NEXT:    %[[FITS:.*]] = arith.cmpi slt, %[[SECOND]], %[[N_KEPT]] : i32
// CHECK-NEXT:    scf.if %[[FITS]] {
// CHECK:           llvm.store %[[V]], %{{.*}} {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr<1>
// CHECK:         } else {
// CHECK:           llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
func.func @whole_or_some_results(%v: vector<2xf32>, %out: !llvm.ptr<1>, %kept: i32, %on: i1, %one: i32, %n_kept: i32) {
  "fold.store"(%v, %out, %kept, %on, %one, %n_kept) {kept_rank = 1, reduced_rank = 0, vector = true, bounded = true}
    : (vector<2xf32>, !llvm.ptr<1>, i32, i1, i32, i32) -> ()
  return
}

// Staggered rows, four columns an access, two rows in flight. An access may begin before the first column and end behind
// the last one; the elements of the neighbouring rows do no harm where there are such rows. Four loops:
//   the first row, if it is this thread's:   one by one, at existing columns
//   pairs of rows before the last            whole accesses
//   the row that is left of these, if any    beyond the end: the thread's last row again, not counted
//   the last row, if it is this thread's:    one by one
// CHECK-LABEL: func.func @staggered
// CHECK-SAME:    (%[[X:.*]]: !llvm.ptr<1>, %[[START:.*]]: i32, %[[BEGIN:.*]]: i32, %[[FIRST:.*]]: i32, %[[END:.*]]: i32, %{{.*}}: i32, %[[ROW:.*]]: i32, %[[N_KEPT:.*]]: i32, %[[N:.*]]: i32)
func.func @staggered(%x: !llvm.ptr<1>, %start: i32, %begin: i32, %first: i32, %end: i32, %one: i32, %row: i32,
                     %n_kept: i32, %n: i32) -> vector<4xf32> {
  // CHECK:      %[[BEFORE:.*]] = arith.subi %[[N]], %c1_i32 : i32
  // CHECK:      %[[IS_FIRST:.*]] = arith.cmpi eq, %[[BEGIN]], %c0_i32 : i32
  // CHECK:      %[[HEAD:.*]] = "fold.thread_reduce"(%[[BEGIN]], %{{.*}}, %cst{{.*}}) ({
  // CHECK:        %[[LAST:.*]] = arith.subi %[[N_KEPT]], %c1_i32 : i32
  // CHECK-NEXT:   %[[NO_MORE:.*]] = arith.minsi %[[START]], %[[LAST]] : i32
  // CHECK-NEXT:   arith.maxsi %[[NO_MORE]], %c0_i32 : i32
  // CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  // CHECK:      {once = true, step = 8 : i64, unroll = 1 : i64}
  // CHECK:      %[[NEXT:.*]] = arith.select %[[IS_FIRST]], %{{.*}}, %[[BEGIN]] : i32
  // CHECK:      %[[BOUND:.*]] = arith.minsi %[[END]], %[[BEFORE]] : i32
  // CHECK:      %[[PAIRS:.*]] = "fold.thread_reduce"(%[[NEXT]], %{{.*}}, %[[HEAD]]) ({
  // CHECK:        llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK-NEXT:   "fold.yield"
  // CHECK:      {step = 8 : i64, unroll = 2 : i64}
  // CHECK:      %[[REST:.*]] = "fold.thread_reduce"(%{{.*}}, %{{.*}}, %[[PAIRS]]) ({
  // CHECK-NEXT: ^bb0(%[[R:.*]]: i32):
  // CHECK-NEXT:   arith.minsi %[[R]], %{{.*}} : i32
  // CHECK:        llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK:        arith.cmpi slt, %[[R]], %[[BOUND]] : i32
  // CHECK:      {once = true, step = 8 : i64, unroll = 2 : i64}
  // CHECK:      %[[TAIL:.*]] = "fold.thread_reduce"(%{{.*}}, %[[END]], %[[REST]]) ({
  // CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  // CHECK:      {once = true, step = 8 : i64, unroll = 1 : i64}
  // CHECK:      return %[[TAIL]]
  %zeros = arith.constant dense<0.0> : vector<4xf32>
  %s = "fold.thread_reduce"(%begin, %end, %zeros) ({
  ^bb0(%r: i32):
    %four = "fold.load"(%x, %start, %r, %one, %row, %n_kept, %n)
      {kept_rank = 1, reduced_rank = 1, axis = "kept", access = "staggered"}
      : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32) -> vector<4xf32>
    %live = "fold.live"(%r, %first, %end) : (i32, i32, i32) -> i1
    %used = arith.select %live, %four, %zeros : vector<4xf32>
    "fold.yield"(%used) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 8, unroll = 2} : (i32, i32, vector<4xf32>) -> vector<4xf32>
  return %s : vector<4xf32>
}

// Rows that are read as one, four elements an access, a period apart. The row begins at %first and ends at %end; accesses
// begin at the boundary before, `lead` elements early. Four loops:
//   the access in which the row begins, if it is this thread's:  one by one
//   pairs of whole accesses                                      their number is computed
//   the accesses that are left
//   the access that the row ends in, if it is this thread's:     one by one
// CHECK-LABEL: func.func @periods
// CHECK-SAME:    (%[[X:.*]]: !llvm.ptr<1>, %[[KEPT:.*]]: i32, %[[SLOT:.*]]: i32, %[[FIRST:.*]]: i32, %[[END:.*]]: i32, %[[STRIDE:.*]]: i32, %[[PERIOD:.*]]: i32)
func.func @periods(%x: !llvm.ptr<1>, %kept: i32, %slot: i32, %first: i32, %end: i32, %stride: i32, %period: i32)
    -> vector<4xf32> {
  // CHECK:      %[[ADDRESS:.*]] = llvm.ptrtoint %{{.*}} : !llvm.ptr<1> to i64
  // CHECK-NEXT: %[[ELEMENT:.*]] = arith.shrui %[[ADDRESS]], %c2_i64 : i64
  // CHECK-NEXT: %[[LEAD:.*]] = arith.andi %[[ELEMENT]], %c3_i64 : i64
  // CHECK:      %[[BEGIN:.*]] = arith.subi %[[SLOT]], %{{.*}} : i32
  // CHECK:      %[[HEAD:.*]] = "fold.thread_reduce"(%[[BEGIN]], %{{.*}}, %cst{{.*}}, %[[PERIOD]]) ({
  // CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  // CHECK:      {once = true, step = 1 : i64, unroll = 1 : i64}
  // CHECK:      %[[CUT:.*]] = arith.cmpi slt, %[[BEGIN]], %[[FIRST]] : i32
  // CHECK:      %[[NEXT:.*]] = arith.select %[[CUT]], %{{.*}}, %[[BEGIN]] : i32
  // CHECK:      %[[WHOLE:.*]] = arith.divui %{{.*}}, %[[PERIOD]] : i32
  // CHECK-NEXT: %[[EVEN:.*]] = arith.andi %[[WHOLE]], %c-2_i32 : i32
  // CHECK:      %[[PAIRS:.*]] = "fold.thread_reduce"(%[[NEXT]], %{{.*}}, %[[HEAD]], %[[PERIOD]]) ({
  // CHECK:        llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK-NEXT:   "fold.yield"
  // CHECK:      {step = 1 : i64, unroll = 2 : i64}
  // An access beyond the end reads the last whole access again, and does not count.
  // CHECK:      %[[LAST:.*]] = arith.subi %[[AFTER:.*]], %[[PERIOD]] : i32
  // CHECK:      %[[REST:.*]] = "fold.thread_reduce"(%{{.*}}, %{{.*}}, %[[PAIRS]], %[[PERIOD]]) ({
  // CHECK-NEXT: ^bb0(%[[R:.*]]: i32):
  // CHECK-NEXT:   arith.minsi %[[R]], %[[LAST]] : i32
  // CHECK:        llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK:        arith.cmpi slt, %[[R]], %[[AFTER]] : i32
  // CHECK:      {once = true, step = 1 : i64, unroll = 2 : i64}
  // CHECK:      %[[TAIL:.*]] = "fold.thread_reduce"(%[[AFTER]], %[[END]], %[[REST]], %[[PERIOD]]) ({
  // CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  // CHECK:      {once = true, step = 1 : i64, unroll = 1 : i64}
  // CHECK:      return %[[TAIL]]
  %zeros = arith.constant dense<0.0> : vector<4xf32>
  %lead = "fold.lead"(%x, %kept, %stride) {kept_rank = 1, reduced_rank = 0, lanes = 4, bytes = 4}
    : (!llvm.ptr<1>, i32, i32) -> i32
  %begin = arith.subi %slot, %lead : i32
  %s = "fold.thread_reduce"(%begin, %end, %zeros, %period) ({
  ^bb0(%r: i32):
    %all = "fold.load"(%x, %kept, %r, %stride, %stride)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "period"}
      : (!llvm.ptr<1>, i32, i32, i32, i32) -> vector<4xf32>
    %live = "fold.live"(%r, %first, %end) : (i32, i32, i32) -> vector<4xi1>
    %used = arith.select %live, %all, %zeros : vector<4xi1>, vector<4xf32>
    "fold.yield"(%used) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 1, unroll = 2} : (i32, i32, vector<4xf32>, i32) -> vector<4xf32>
  return %s : vector<4xf32>
}

// If no thread makes more accesses than it has in flight, there are no full groups: one step of two accesses, and the
// access that the end cuts. So a kernel for few elements has no loop.
// CHECK-LABEL: func.func @one_step
// CHECK-SAME:    (%[[X:.*]]: !llvm.ptr<1>, %[[FIRST:.*]]: i32, %[[END:.*]]: i32, %{{.*}}: i32)
func.func @one_step(%x: !llvm.ptr<1>, %first: i32, %end: i32, %one: i32) -> vector<4xf32> {
  // CHECK:      %[[ONE_FITS:.*]] = arith.subi %[[END]], %c3_i32 : i32
  // CHECK:      %[[BOTH:.*]] = "fold.thread_reduce"(%[[FIRST]], %[[ONE_FITS]], %cst{{.*}}) ({
  // CHECK:        llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK:        arith.cmpi slt, %{{.*}}, %[[ONE_FITS]] : i32
  // CHECK:      {once = true, step = 128 : i64, unroll = 2 : i64}
  // CHECK:      %[[TAIL:.*]] = "fold.thread_reduce"(%{{.*}}, %[[END]], %[[BOTH]]) ({
  // CHECK:      {once = true, step = 128 : i64, unroll = 1 : i64}
  // CHECK:      return %[[TAIL]]
  %zeros = arith.constant dense<0.0> : vector<4xf32>
  %s = "fold.thread_reduce"(%first, %end, %zeros) ({
  ^bb0(%r: i32):
    %all = "fold.load"(%x, %first, %r, %one, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned"}
      : (!llvm.ptr<1>, i32, i32, i32, i32) -> vector<4xf32>
    %live = "fold.live"(%r, %first, %end) : (i32, i32, i32) -> vector<4xi1>
    %used = arith.select %live, %all, %zeros : vector<4xi1>, vector<4xf32>
    "fold.yield"(%used) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {once = true, step = 128, unroll = 2} : (i32, i32, vector<4xf32>) -> vector<4xf32>
  return %s : vector<4xf32>
}

// The accesses of blocks are whole. Those of the last thread with results may reach beyond the array: it reads the last
// whole access of the array in their place, and the elements after it one by one.
// CHECK-LABEL: func.func @blocks
// CHECK-SAME:    (%[[X:.*]]: !llvm.ptr<1>, %[[FIRST:.*]]: i32, %[[TOTAL:.*]]: i32)
func.func @blocks(%x: !llvm.ptr<1>, %first: i32, %total: i32) -> (vector<4xf32>, vector<4xf32>) {
  // CHECK:      %[[AFTER:.*]] = arith.addi %[[FIRST]], %c8_i32 : i32
  // CHECK:      %[[INSIDE:.*]] = arith.cmpi sle, %[[AFTER]], %[[TOTAL]] : i32
  // CHECK-NEXT: %[[BOTH:.*]]:2 = scf.if %[[INSIDE]] -> (vector<4xi32>, vector<4xi32>) {
  // CHECK:        llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
  // CHECK:        llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
  // CHECK:      } else {
  // CHECK-NEXT:   %[[WHOLE:.*]] = arith.andi %[[TOTAL]], %c-4_i32 : i32
  // CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  // CHECK-COUNT-2: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
  // CHECK:        arith.select
  // CHECK:      }
  // CHECK:      vector.bitcast %[[BOTH]]#0 : vector<4xi32> to vector<4xf32>
  %accesses:2 = "fold.block_load"(%x, %first, %total) : (!llvm.ptr<1>, i32, i32) -> (vector<4xf32>, vector<4xf32>)
  return %accesses#0, %accesses#1 : vector<4xf32>, vector<4xf32>
}

// -----

// --- lanes that meet in each step ---

// All 32 lanes make the same steps of 128 elements: groups of two steps as long as these are whole for all lanes, then one
// group in which lanes beyond the end join the identity, then the access that the end cuts, which the first lane has.
// CHECK-LABEL: func.func @lanes_that_meet_in_steps
// CHECK-SAME:    (%{{.*}}: !llvm.ptr<1>, %{{.*}}: i32, %[[BEGIN:.*]]: i32, %[[END:.*]]: i32, %{{.*}}: i32, %{{.*}}: i32, %[[BESIDE:.*]]: i32)
// CHECK:         %[[LIMIT:.*]] = arith.subi %[[END]], %c255_i32 : i32
// CHECK:         "fold.thread_reduce"(%[[BEGIN]], %[[LIMIT]]
// CHECK:         }) {joined = 32 : i64, step = 128 : i64, unroll = 2 : i64}
// CHECK:         %[[WHOLE:.*]] = arith.subi %[[END]], %c3_i32 : i32
// CHECK:         "fold.thread_reduce"(%{{.*}}, %[[WHOLE]]
// CHECK:           arith.cmpi slt, %{{.*}}, %[[WHOLE]] : i32
// CHECK:         }) {joined = 32 : i64, once = true, step = 128 : i64, unroll = 2 : i64}
// CHECK:         %[[LAST:.*]] = arith.subi %[[END]], %c1_i32 : i32
// CHECK-NEXT:    %[[CUT:.*]] = arith.andi %[[LAST]], %c-4_i32 : i32
// CHECK-NEXT:    %[[SOME:.*]] = arith.cmpi sge, %[[CUT]], %[[WHOLE]] : i32
// CHECK-NEXT:    %[[FROM:.*]] = arith.select %[[SOME]], %[[CUT]], %[[END]] : i32
// CHECK:         "fold.thread_reduce"(%[[FROM]], %[[END]]
// CHECK-COUNT-4:   llvm.load
// CHECK:         }) {joined = 32 : i64, once = true, step = 128 : i64, unroll = 1 : i64}
func.func @lanes_that_meet_in_steps(%x: !llvm.ptr<1>, %row: i32, %begin: i32, %end: i32, %pitch: i32, %one: i32,
                                    %beside: i32) -> f32 {
  %zero = arith.constant 0.0 : f32
  %state = "fold.thread_reduce"(%begin, %end, %zero) ({
  ^bb0(%r: i32):
    %own = arith.addi %r, %beside : i32
    %v = "fold.load"(%x, %row, %own, %pitch, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned"}
      : (!llvm.ptr<1>, i32, i32, i32, i32) -> vector<4xf32>
    %live = "fold.live"(%own, %begin, %end) : (i32, i32, i32) -> vector<4xi1>
    %zeros = arith.constant dense<0.0> : vector<4xf32>
    %counted = arith.select %live, %v, %zeros : vector<4xi1>, vector<4xf32>
    "fold.yield"(%counted) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 128, unroll = 2, joined = 32} : (i32, i32, f32) -> f32
  return %state : f32
}

// -----

// Rolled: the accesses at both ends of a row that begins anywhere are the two turns of a loop, with the groups between
// in the first. A pair that lies in the array's memory is combined by a loop again, see lower-thread-reduce.
// CHECK-LABEL: func.func @both_ends
func.func @both_ends(%x: !llvm.ptr<1>, %kept: i32, %begin: i32, %first: i32, %end: i32, %stride: i32, %extent: i32)
    -> f32 {
  // CHECK:      scf.for %{{.*}} = %c0_i32 to %c2_i32 step %c1_i32 iter_args(%[[AT:.*]] = %{{.*}}, %[[STATE:.*]] = %cst
  // CHECK:        %[[CUT:.*]] = "fold.thread_reduce"(%[[AT]], %{{.*}}, %[[STATE]]) ({
  // CHECK:        {chain = true, early = true, once = true, rolled = true, step = 128 : i64, unroll = 2 : i64}
  // CHECK:        %[[APART:.*]] = "fold.thread_reduce"(%[[AT]], %{{.*}}, %[[CUT]]) ({
  // CHECK:        {early = true, step = 128 : i64, unroll = 1 : i64}
  // CHECK:        %[[ALL:.*]] = "fold.thread_reduce"(%{{.*}}, %{{.*}}, %[[APART]]) ({
  // CHECK:        {early = true, step = 128 : i64, unroll = 2 : i64}
  // CHECK:        scf.yield %{{.*}}, %[[ALL]]
  %zeros = arith.constant dense<0.0> : vector<2xf32>
  %s = "fold.thread_reduce"(%begin, %end, %zeros) ({
  ^bb0(%r: i32):
    %all = "fold.load"(%x, %kept, %r, %stride, %stride, %extent)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted"}
      : (!llvm.ptr<1>, i32, i32, i32, i32, i32) -> vector<2xf32>
    %live = "fold.live"(%r, %first, %end) : (i32, i32, i32) -> vector<2xi1>
    %used = arith.select %live, %all, %zeros : vector<2xi1>, vector<2xf32>
    "fold.yield"(%used) : (vector<2xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 128, unroll = 2, early = true, rolled = true} : (i32, i32, vector<2xf32>) -> f32
  return %s : f32
}

// Single elements that follow each other through two dims: the first one's coordinates are divided, those of the next one
// are counted up. Where a row of the inner dim ends, the next element is BACK elements before the row behind it.
// CHECK-LABEL: func.func @elements_of_two_dims
// CHECK-SAME:    %[[REDUCED:.*]]: i32, %[[FIRST:.*]]: i32, %[[END:.*]]: i32, %[[SIZE:.*]]: i32, %[[OUTER:.*]]: i32, %[[INNER:.*]]: i32)
func.func @elements_of_two_dims(
    %x: !llvm.ptr<1>, %kept: i32, %reduced: i32, %first: i32, %end: i32, %size: i32, %outer: i32, %inner: i32)
    -> vector<2xf32> {
  // CHECK:      scf.if
  // CHECK:        %[[COLUMN:.*]] = arith.select
  // CHECK:        %[[ROW:.*]] = arith.select
  // CHECK:        arith.muli %[[ROW]], %[[OUTER]] : i32
  // CHECK:        %[[STEPS:.*]] = arith.subi %[[SIZE]], %c1_i32 : i32
  // CHECK-NEXT:   %[[BACK:.*]] = arith.muli %[[STEPS]], %[[INNER]] : i32
  // CHECK-NEXT:   %[[NEXT:.*]] = arith.addi %[[COLUMN]], %c1_i32 : i32
  // CHECK-NEXT:   %[[ENDS:.*]] = arith.cmpi eq, %[[NEXT]], %[[SIZE]] : i32
  // CHECK-NEXT:   %[[OVER:.*]] = arith.subi %[[OUTER]], %[[BACK]] : i32
  // CHECK-NEXT:   %[[STEP:.*]] = arith.select %[[ENDS]], %[[OVER]], %[[INNER]] : i32
  // CHECK-NEXT:   arith.addi %{{.*}}, %[[STEP]] : i32
  // CHECK-COUNT-2: llvm.load
  // No end of the row cuts the access, so that there is nothing else to read.
  // CHECK:      } else {
  // CHECK-NOT:    llvm.load
  // CHECK:      return
  %v = "fold.element_load"(%x, %kept, %reduced, %first, %end, %size, %outer, %inner)
    {kept_rank = 0, reduced_rank = 2, axis = "reduced", access = "strided", uncut = true}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> vector<2xf32>
  return %v : vector<2xf32>
}
