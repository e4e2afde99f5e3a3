// fold.hold: a thread's accesses of an input are copied into its slots of shared memory, where they wait.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @rows
func.func @rows(%x: !llvm.ptr<1>, %row: i32, %begin: i32, %first: i32, %end: i32, %t: i32, %n: i32, %one: i32)
    -> !llvm.ptr<3> {
  // Operands: base, flat kept index, where the first access begins, the bounds of the row, the thread's number, then the
  // layout. The result is the address of the thread's first slot.
  // CHECK:      "fold.hold"
  // CHECK-SAME: {access = "aligned", axis = "reduced", item = 2 : i64, kept_rank = 1 : i64, reduced_rank = 1 : i64, slots = 8 : i64, step = 2048 : i64, threads = 256 : i64, vector = 8 : i64, whole = true}
  // CHECK-SAME: (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  %slots = "fold.hold"(%x, %row, %begin, %first, %end, %t, %n, %one)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 2048, slots = 8, threads = 256,
     vector = 8, item = 2, whole = true} : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return %slots : !llvm.ptr<3>
}

// CHECK-LABEL: func.func @shifted_rows
func.func @shifted_rows(%x: !llvm.ptr<1>, %row: i64, %begin: i64, %first: i64, %end: i64, %t: i64, %n: i64, %one: i64,
                        %extent: i64) -> !llvm.ptr<3> {
  // Accesses at a boundary: how many elements the array has follows the layout.
  // CHECK:      access = "shifted"
  // CHECK-SAME: (!llvm.ptr<1>, i64, i64, i64, i64, i64, i64, i64, i64) -> !llvm.ptr<3>
  %slots = "fold.hold"(%x, %row, %begin, %first, %end, %t, %n, %one, %extent)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted", step = 512, slots = 3, threads = 128,
     vector = 4, item = 4, whole = false} : (!llvm.ptr<1>, i64, i64, i64, i64, i64, i64, i64, i64) -> !llvm.ptr<3>
  return %slots : !llvm.ptr<3>
}

// CHECK-LABEL: func.func @the_next_row
func.func @the_next_row(%x: !llvm.ptr<1>, %row: i32, %begin: i32, %first: i32, %end: i32, %t: i32, %n: i32, %one: i32)
    -> !llvm.ptr<3> {
  // Slots from a byte of shared memory on, which an earlier hold may have filled.
  // CHECK:      start = 1024 : i64
  %slots = "fold.hold"(%x, %row, %begin, %first, %end, %t, %n, %one)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 256, slots = 1, threads = 64,
     vector = 4, item = 4, whole = false, start = 1024}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return %slots : !llvm.ptr<3>
}

// CHECK-LABEL: func.func @slots_that_alternate
func.func @slots_that_alternate(%x: !llvm.ptr<1>, %row: i32, %begin: i32, %first: i32, %end: i32, %t: i32, %n: i32, %one: i32)
    -> !llvm.ptr<3> {
  // Slots between which those of another hold lie.
  // CHECK:      pitch = 2048 : i64
  %slots = "fold.hold"(%x, %row, %begin, %first, %end, %t, %n, %one)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 256, slots = 4, threads = 64,
     vector = 4, item = 4, whole = false, walked = true, start = 1024, pitch = 2048}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return %slots : !llvm.ptr<3>
}
