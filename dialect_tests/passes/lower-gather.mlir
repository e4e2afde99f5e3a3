// Elements at indices along one more axis of an array: each is a load in a branch, and 0 beside the axis.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-gather,canonicalize,cse)' | FileCheck %s

// An element at an index is read where there is such an index. A negative one is a great number without a sign.
// CHECK-LABEL: func.func @gathered
// CHECK-SAME:    (%[[X:.*]]: !llvm.ptr<1>, %[[KEPT:.*]]: i32, %[[I:.*]]: i64, %[[SIZE:.*]]: i32, %[[STRIDE:.*]]: i32, %[[ROW:.*]]: i32)
func.func @gathered(%x: !llvm.ptr<1>, %kept: i32, %i: i64, %size: i32, %stride: i32, %row: i32) -> f32 {
  // CHECK-DAG:  %[[NONE:.*]] = arith.constant 0.000000e+00 : f32
  // CHECK-DAG:  %[[BEGIN:.*]] = arith.muli %[[KEPT]], %[[ROW]] : i32
  // CHECK-DAG:  %[[WIDE:.*]] = arith.extsi %[[SIZE]] : i32 to i64
  // CHECK:      %[[EXISTS:.*]] = arith.cmpi ult, %[[I]], %[[WIDE]] : i64
  // CHECK-NEXT: %[[V:.*]] = scf.if %[[EXISTS]] -> (f32) {
  // CHECK-NEXT:   %[[AT:.*]] = arith.trunci %[[I]] : i64 to i32
  // CHECK-NEXT:   %[[ALONG:.*]] = arith.muli %[[AT]], %[[STRIDE]] : i32
  // CHECK-NEXT:   %[[PLACE:.*]] = arith.addi %[[BEGIN]], %[[ALONG]] : i32
  // CHECK-NEXT:   llvm.getelementptr %[[X]][%[[PLACE]]]
  // CHECK-NEXT:   llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  // CHECK:      } else {
  // CHECK-NEXT:   scf.yield %[[NONE]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[V]]
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %v = "fold.gather_load"(%x, %kept, %zero, %zero, %one, %i, %size, %stride, %row)
    {kept_rank = 1, reduced_rank = 0, axis = "kept"}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i64, i32, i32, i32) -> f32
  return %v : f32
}

// Two elements of a fragment have an index each. They follow each other along the reduced axis, and the second one may lie
// beside the row: then its place is that of the last element, whatever is read there.
// CHECK-LABEL: func.func @a_fragment
// CHECK-SAME:    (%[[X:.*]]: !llvm.ptr<1>, %[[R:.*]]: i32, %[[END:.*]]: i32, %[[I:.*]]: vector<2xi64>,
func.func @a_fragment(%x: !llvm.ptr<1>, %r: i32, %end: i32, %i: vector<2xi64>, %size: i64, %stride: i64, %row: i32)
    -> vector<2xi32> {
  // CHECK:      %[[I0:.*]] = vector.extract %[[I]][0]
  // CHECK:      %[[I1:.*]] = vector.extract %[[I]][1]
  // CHECK:      %[[LAST:.*]] = arith.subi %[[END]], %c1_i32 : i32
  // CHECK:      arith.minsi %{{.*}}, %[[LAST]] : i32
  // CHECK:      arith.cmpi ult, %[[I0]], %{{.*}} : i64
  // CHECK:      scf.if
  // CHECK:      arith.minsi %{{.*}}, %[[LAST]] : i32
  // CHECK:      arith.cmpi ult, %[[I1]], %{{.*}} : i64
  // CHECK:      scf.if
  // CHECK:      vector.from_elements
  %zero = arith.constant 0 : i32
  %size32 = arith.trunci %size : i64 to i32
  %stride32 = arith.trunci %stride : i64 to i32
  %v = "fold.gather_load"(%x, %zero, %r, %zero, %end, %i, %size32, %stride32, %row)
    {kept_rank = 0, reduced_rank = 1, axis = "reduced"}
    : (!llvm.ptr<1>, i32, i32, i32, i32, vector<2xi64>, i32, i32, i32) -> vector<2xi32>
  return %v : vector<2xi32>
}
