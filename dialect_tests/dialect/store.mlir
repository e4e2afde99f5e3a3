// fold.store: writes a thread's results. After a stage every thread of a group has the state, and one of them writes it:
// the operand `on` says which.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @one_result
func.func @one_result(%sum: f32, %out: !llvm.ptr<1>, %kept: i32, %on: i1, %stride: i32) {
  // Operands: value, base, flat kept index, on, then the layout of the output (which has kept dims only).
  // CHECK:      "fold.store"
  // CHECK-SAME: {kept_rank = 1 : i64, reduced_rank = 0 : i64, vector = false}
  "fold.store"(%sum, %out, %kept, %on, %stride) {kept_rank = 1, reduced_rank = 0, vector = false}
    : (f32, !llvm.ptr<1>, i32, i1, i32) -> ()
  return
}

// CHECK-LABEL: func.func @four_side_by_side
func.func @four_side_by_side(%sums: vector<4xf32>, %out: !llvm.ptr<1>, %kept: i32, %on: i1, %one: i32) {
  // `vector` says that the four are contiguous from a 16-byte boundary on.
  // CHECK: vector = true} : (vector<4xf32>, !llvm.ptr<1>, i32, i1, i32) -> ()
  "fold.store"(%sums, %out, %kept, %on, %one) {kept_rank = 1, reduced_rank = 0, vector = true}
    : (vector<4xf32>, !llvm.ptr<1>, i32, i1, i32) -> ()
  return
}

// CHECK-LABEL: func.func @some_of_four
func.func @some_of_four(%sums: vector<4xf32>, %out: !llvm.ptr<1>, %kept: i32, %on: i1, %one: i32, %n_kept: i32) {
  // `bounded` says that some of them may lie beyond the kept axis, whose size follows the layout: those are not written.
  // CHECK: {bounded = true, kept_rank = 1 : i64, reduced_rank = 0 : i64, vector = false} : (vector<4xf32>, !llvm.ptr<1>, i32, i1, i32, i32) -> ()
  "fold.store"(%sums, %out, %kept, %on, %one, %n_kept)
    {kept_rank = 1, reduced_rank = 0, vector = false, bounded = true}
    : (vector<4xf32>, !llvm.ptr<1>, i32, i1, i32, i32) -> ()
  return
}

// CHECK-LABEL: func.func @the_only_result
func.func @the_only_result(%sum: f64, %out: !llvm.ptr<1>, %zero: i64, %on: i1) {
  // CHECK: {kept_rank = 0 : i64, reduced_rank = 0 : i64, vector = false} : (f64, !llvm.ptr<1>, i64, i1) -> ()
  "fold.store"(%sum, %out, %zero, %on) {kept_rank = 0, reduced_rank = 0, vector = false}
    : (f64, !llvm.ptr<1>, i64, i1) -> ()
  return
}
