// A thread's walk that writes elements: the lowering of fold.thread_map to a loop over groups of whole accesses, and to
// groups of which some accesses may be cut or may not exist.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-thread-map,canonicalize,cse)' | FileCheck %s

// Accesses of four elements, two in flight, 128 elements apart: a group takes 256 elements.
// CHECK-LABEL: func.func @aligned
// CHECK-SAME:    %[[BEGIN:[a-z0-9]*]]: i32, %[[END:[a-z0-9]*]]: i32, %[[WIDTH:[a-z0-9]*]]: i32
func.func @aligned(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %begin: i32, %end: i32, %n: i32, %row: i32, %on: i1, %one: i32,
                   %mean: !llvm.ptr<1>) {
  // The last element of a whole group is 131 elements behind its first one.
  // CHECK:      %[[LIMIT:.*]] = arith.subi %[[END]], %c131_i32
  // CHECK:      scf.for %[[R:.*]] = %[[BEGIN]] to %[[LIMIT]] step %c256_i32
  // CHECK:        %[[NEXT:.*]] = arith.addi %[[R]], %c128_i32
  // The loads ask for no bounds. All of them come before the first store.
  // CHECK:        "fold.load"(%{{.*}}, %{{.*}}, %[[R]],
  // CHECK:        "fold.load"(%{{.*}}, %{{.*}}, %[[NEXT]],
  // CHECK:        "fold.element_store"(%{{.*}}, %{{.*}}, %{{.*}}, %[[R]], {{.*}} whole = true}
  // CHECK-NEXT:   "fold.element_store"(%{{.*}}, %{{.*}}, %{{.*}}, %[[NEXT]], {{.*}} whole = true}
  // CHECK-NEXT: }
  // CHECK:      %[[FIRST:.*]] = arith.addi %[[BEGIN]],
  // CHECK-NEXT: %[[SOME:.*]] = arith.cmpi slt, %[[FIRST]], %[[END]]
  // CHECK-NEXT: scf.if %[[SOME]] {
  // CHECK-NEXT:   %[[SECOND:.*]] = arith.addi %[[FIRST]], %c128_i32
  // CHECK-NEXT:   "fold.element_load"(%{{.*}}, %{{.*}}, %[[FIRST]], %[[BEGIN]], %[[END]],
  // What is the same for the whole row is read as it is.
  // CHECK-NEXT:   "fold.load"
  // CHECK:        %[[EXISTS:.*]] = arith.cmpi slt, %[[SECOND]], %[[END]]
  // CHECK-NEXT:   %[[EXISTING:.*]] = arith.select %[[EXISTS]], %[[SECOND]], %[[FIRST]]
  // CHECK-NEXT:   "fold.element_load"(%{{.*}}, %{{.*}}, %[[EXISTING]],
  // CHECK:        "fold.element_store"(%{{.*}}, %{{.*}}, %{{.*}}, %[[FIRST]], {{.*}} whole = false}
  // CHECK-NEXT:   "fold.element_store"(%{{.*}}, %{{.*}}, %{{.*}}, %[[SECOND]], {{.*}} whole = false}
  // CHECK-NEXT: }
  // CHECK-NEXT: return
  %zero = arith.constant 0 : i32
  "fold.thread_map"(%begin, %end) ({
  ^bb0(%r: i32):
    %four = "fold.load"(%x, %row, %r, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned"}
      : (!llvm.ptr<1>, i32, i32, i32, i32) -> vector<4xf32>
    %m = "fold.load"(%mean, %row, %zero, %one) {kept_rank = 1, reduced_rank = 0, axis = "kept", access = "strided"}
      : (!llvm.ptr<1>, i32, i32, i32) -> f32
    %means = vector.broadcast %m : f32 to vector<4xf32>
    %centred = arith.subf %four, %means : vector<4xf32>
    "fold.element_store"(%centred, %y, %row, %r, %zero, %end, %on, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", whole = false}
      : (vector<4xf32>, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32, i32) -> ()
    "fold.yield"() : () -> ()
  }) {step = 128, unroll = 2} : (i32, i32) -> ()
  return
}

// Rows that begin anywhere: a group in which the row may begin, the whole groups, a group in which it may end.
// CHECK-LABEL: func.func @shifted
// CHECK-SAME:    %[[BEGIN:[a-z0-9]*]]: i32, %[[FIRST:[a-z0-9]*]]: i32, %[[END:[a-z0-9]*]]: i32
func.func @shifted(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %begin: i32, %first: i32, %end: i32, %n: i32, %row: i32,
                   %on: i1, %one: i32, %extent: i32) {
  // An access may begin before the end of a row without elements.
  // CHECK:      %[[SOME:.*]] = arith.cmpi slt, %[[FIRST]], %[[END]]
  // CHECK:      %[[CUT:.*]] = arith.cmpi slt, %[[BEGIN]], %[[FIRST]]
  // CHECK:      %[[CUT_ONE:.*]] = arith.andi %[[SOME]], %[[CUT]]
  // CHECK:      %[[BEFORE:.*]] = arith.cmpi slt, %[[BEGIN]], %[[END]]
  // CHECK:      %[[BOTH:.*]] = arith.andi %[[CUT_ONE]], %[[BEFORE]]
  // CHECK:      scf.if %[[BOTH]] {
  // CHECK:        "fold.element_load"(%{{.*}}, %{{.*}}, %[[BEGIN]], %[[FIRST]], %[[END]],
  // CHECK:      }
  // CHECK:      %[[AFTER:.*]] = arith.addi %[[BEGIN]], %c64_i32
  // CHECK:      %[[NEXT:.*]] = arith.select %[[CUT]], %[[AFTER]], %[[BEGIN]]
  // CHECK:      scf.for %{{.*}} = %[[NEXT]] to
  // CHECK:        "fold.load"
  // CHECK:      scf.if
  // CHECK:        "fold.element_load"
  // CHECK-NOT:    "fold.load"
  "fold.thread_map"(%begin, %end, %first) ({
  ^bb0(%r: i32):
    %eight = "fold.load"(%x, %row, %r, %n, %one, %extent)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted"}
      : (!llvm.ptr<1>, i32, i32, i32, i32, i32) -> vector<8xf16>
    "fold.element_store"(%eight, %y, %row, %r, %first, %end, %on, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted", whole = false}
      : (vector<8xf16>, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32, i32) -> ()
    "fold.yield"() : () -> ()
  }) {step = 64, unroll = 1} : (i32, i32, i32) -> ()
  return
}

// Columns, one access after another: all accesses are whole, so the loop is all there is.
// CHECK-LABEL: func.func @columns
func.func @columns(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %begin: i32, %end: i32, %n: i32, %column: i32, %on: i1,
                   %one: i32) {
  // CHECK:     scf.for
  // CHECK:       "fold.element_store"{{.*}} whole = true}
  // CHECK-NOT: scf.if
  // CHECK:     return
  %zero = arith.constant 0 : i32
  "fold.thread_map"(%begin, %end) ({
  ^bb0(%r: i32):
    %four = "fold.load"(%x, %column, %r, %one, %n)
      {kept_rank = 1, reduced_rank = 1, axis = "kept", access = "aligned"}
      : (!llvm.ptr<1>, i32, i32, i32, i32) -> vector<4xf32>
    "fold.element_store"(%four, %y, %column, %r, %zero, %end, %on, %one, %n)
      {kept_rank = 1, reduced_rank = 1, axis = "kept", access = "aligned", whole = false}
      : (vector<4xf32>, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32, i32) -> ()
    "fold.yield"() : () -> ()
  }) {step = 8, unroll = 1} : (i32, i32) -> ()
  return
}

// Rolled: the groups at both ends of a row are the two turns of a loop. A group reads all its accesses, and then a loop
// completes and writes them.
// CHECK-LABEL: func.func @rolled
// CHECK-SAME:    %[[BEGIN:[a-z0-9]*]]: i32, %[[FIRST:[a-z0-9]*]]: i32, %[[END:[a-z0-9]*]]: i32
func.func @rolled(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %begin: i32, %first: i32, %end: i32, %n: i32, %row: i32, %on: i1,
                  %one: i32, %extent: i32) {
  // CHECK:      scf.for %[[TURN:.*]] = %c0_i32 to %c2_i32 step %c1_i32 iter_args(%[[AT:.*]] = %[[BEGIN]])
  // CHECK:        scf.if
  // CHECK:          %[[ONE:.*]] = "fold.element_load"(%{{.*}}, %{{.*}}, %[[AT]], %[[FIRST]], %[[END]], {{.*}} at_once = true
  // CHECK:          %[[OTHER:.*]] = "fold.element_load"{{.*}} at_once = true
  // CHECK:          scf.for {{.*}} iter_args({{.*}} %[[OWN:.*]] = %[[ONE]], {{.*}} = %[[OTHER]])
  // CHECK:            %[[WHOLE:.*]] = "fold.element_rest"(%[[OWN]],
  // CHECK-NEXT:       "fold.element_store"(%[[WHOLE]], {{.*}} whole = false}
  // Whole groups follow in the first turn alone: in the second their loop ends before it begins.
  // CHECK:        %[[NEXT:.*]] = arith.addi %[[AT]], %c128_i32
  // CHECK:        %[[IS_FIRST:.*]] = arith.cmpi eq, %[[TURN]], %c0_i32
  // CHECK:        %[[LIMIT:.*]] = arith.select %[[IS_FIRST]], %{{.*}}, %[[AT]]
  // CHECK:        scf.for %{{.*}} = %[[NEXT]] to %[[LIMIT]] step %c128_i32
  // CHECK-COUNT-2:  "fold.load"
  "fold.thread_map"(%begin, %end, %first) ({
  ^bb0(%r: i32):
    %eight = "fold.load"(%x, %row, %r, %n, %one, %extent)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted"}
      : (!llvm.ptr<1>, i32, i32, i32, i32, i32) -> vector<8xf16>
    "fold.element_store"(%eight, %y, %row, %r, %first, %end, %on, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted", whole = false}
      : (vector<8xf16>, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32, i32) -> ()
    "fold.yield"() : () -> ()
  }) {step = 64, unroll = 2, rolled = true} : (i32, i32, i32) -> ()
  return
}

// Weights from a boundary on, beside a row that begins between two: a loop for each of four distances, of which each reads
// the aligned accesses around the weights, as far as the row has them. At its ends they are read one by one.
// CHECK-LABEL: func.func @leading
// CHECK-SAME:    %[[BEGIN:[a-z0-9]*]]: i32, %[[FIRST:[a-z0-9]*]]: i32, %[[END:[a-z0-9]*]]: i32, %[[LAST:[a-z0-9]*]]: i32
func.func @leading(%w: !llvm.ptr<1>, %y: !llvm.ptr<1>, %begin: i32, %first: i32, %end: i32, %last: i32, %n: i32,
                   %row: i32, %on: i1, %one: i32) {
  // CHECK:      scf.if
  // CHECK:        "fold.element_load"
  // CHECK:        "fold.element_store"{{.*}} whole = false}
  // CHECK:      %[[OWN:.*]] = arith.subi %[[END]], %c3_i32
  // CHECK:      %[[READ:.*]] = arith.subi %[[LAST]], %c6_i32
  // CHECK-NEXT: %[[LIMIT:.*]] = arith.minsi %[[OWN]], %[[READ]]
  // CHECK:      %[[NEG:.*]] = arith.subi %c0_i32, %[[BEGIN]]
  // CHECK-NEXT: %[[LEAD:.*]] = arith.andi %[[NEG]], %c3_i32
  // CHECK-NEXT: %[[NONE:.*]] = arith.cmpi eq, %[[LEAD]], %c0_i32
  // CHECK-NEXT: scf.if %[[NONE]] {
  // CHECK-NEXT:   scf.for %[[R:.*]] = %{{.*}} to %[[LIMIT]] step %c128_i32
  // CHECK-NEXT:     %[[AT:.*]] = llvm.getelementptr %{{.*}}[%[[R]]]
  // CHECK-NEXT:     llvm.load %[[AT]] invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
  // CHECK-NOT:      llvm.load
  // CHECK:          "fold.element_store"{{.*}} whole = true}
  // CHECK:      } else {
  // CHECK:        arith.cmpi eq, %[[LEAD]], %c1_i32
  // CHECK:          arith.addi %{{.*}}, %c-3_i32
  // CHECK-COUNT-2:  llvm.load
  // CHECK:          "fold.element_store"
  // CHECK:        arith.cmpi eq, %[[LEAD]], %c2_i32
  // CHECK:          "fold.element_store"
  // CHECK:          "fold.element_store"
  // CHECK:      scf.if
  // CHECK:        "fold.element_load"
  "fold.thread_map"(%begin, %end, %first, %last) ({
  ^bb0(%r: i32):
    %four = "fold.load"(%w, %row, %r, %one, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "strided", leads}
      : (!llvm.ptr<1>, i32, i32, i32, i32) -> vector<4xf32>
    "fold.element_store"(%four, %y, %row, %r, %first, %end, %on, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted", whole = false}
      : (vector<4xf32>, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32, i32) -> ()
    "fold.yield"() : () -> ()
  }) {step = 128, unroll = 1} : (i32, i32, i32, i32) -> ()
  return
}
