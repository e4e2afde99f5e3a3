// fold.thread_map: a thread walks its elements and writes what the body makes of them. It yields nothing.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @rows
func.func @rows(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %row: i32, %on: i1, %begin: i32, %end: i32, %n: i32, %one: i32) {
  // The body takes a reduced index. Every access begins before the end; the last one may reach beyond it.
  // CHECK:      "fold.thread_map"(%{{.*}}, %{{.*}}) ({
  // CHECK-NEXT: ^bb0(%[[R:.*]]: i32):
  // CHECK-NEXT:   %[[X:.*]] = "fold.load"(%{{.*}}, %{{.*}}, %[[R]], %{{.*}}, %{{.*}})
  // CHECK-NEXT:   "fold.element_store"(%[[X]], %{{.*}}, %{{.*}}, %[[R]],
  // CHECK-NEXT:   "fold.yield"() : () -> ()
  // CHECK-NEXT: }) {step = 1024 : i64, unroll = 4 : i64} : (i32, i32) -> ()
  %first = arith.constant 0 : i32
  "fold.thread_map"(%begin, %end) ({
  ^bb0(%r: i32):
    %four = "fold.load"(%x, %row, %r, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned"}
      : (!llvm.ptr<1>, i32, i32, i32, i32) -> vector<4xf32>
    "fold.element_store"(%four, %y, %row, %r, %first, %end, %on, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", whole = false}
      : (vector<4xf32>, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32, i32) -> ()
    "fold.yield"() : () -> ()
  }) {step = 1024, unroll = 4} : (i32, i32) -> ()
  return
}

// CHECK-LABEL: func.func @shifted_rows
func.func @shifted_rows(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %row: i64, %on: i1, %begin: i64, %end: i64, %first: i64,
                        %n: i64, %one: i64, %extent: i64) {
  // The accesses begin at a boundary, so that the first one may begin before the row, which begins at the third operand.
  // CHECK: {step = 8 : i64, unroll = 1 : i64} : (i64, i64, i64) -> ()
  "fold.thread_map"(%begin, %end, %first) ({
  ^bb0(%r: i64):
    %eight = "fold.load"(%x, %row, %r, %n, %one, %extent)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted"}
      : (!llvm.ptr<1>, i64, i64, i64, i64, i64) -> vector<8xf16>
    "fold.element_store"(%eight, %y, %row, %r, %first, %end, %on, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted", whole = false}
      : (vector<8xf16>, !llvm.ptr<1>, i64, i64, i64, i64, i1, i64, i64) -> ()
    "fold.yield"() : () -> ()
  }) {step = 8, unroll = 1} : (i64, i64, i64) -> ()
  return
}
