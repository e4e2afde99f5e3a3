// Errors of fold.shared_store.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @row_is_no_index(%row: index, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF310: fold.shared_store expects an i32 or i64 as operand 0, got index}}
  %made = "fold.shared_store"(%row, %slot, %on, %x) {rows = 8, slots = 1} : (index, i32, i1, f32) -> !llvm.ptr<3>
  return
}

// -----

func.func @slot_is_no_index(%row: i32, %slot: f32, %on: i1, %x: f32) {
  // expected-error @below {{WF310: fold.shared_store expects an i32 or i64 as operand 1, got f32}}
  %made = "fold.shared_store"(%row, %slot, %on, %x) {rows = 8, slots = 1} : (i32, f32, i1, f32) -> !llvm.ptr<3>
  return
}

// -----

func.func @on_is_no_predicate(%row: i32, %slot: i32, %on: i32, %x: f32) {
  // expected-error @below {{WF310: fold.shared_store expects an i1 as operand 2, got i32}}
  %made = "fold.shared_store"(%row, %slot, %on, %x) {rows = 8, slots = 1} : (i32, i32, i32, f32) -> !llvm.ptr<3>
  return
}

// -----

func.func @no_rows(%row: i32, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF311: fold.shared_store expects the attribute rows to be an integer}}
  %made = "fold.shared_store"(%row, %slot, %on, %x) {slots = 1} : (i32, i32, i1, f32) -> !llvm.ptr<3>
  return
}

// -----

func.func @more_rows_than_warps(%row: i32, %slot: i32, %on: i1, %x: f32) {
  // A CTA has at most 32 warps.
  // expected-error @below {{WF311: fold.shared_store expects the attribute rows to be a number from 1 to 32, got 64}}
  %made = "fold.shared_store"(%row, %slot, %on, %x) {rows = 64, slots = 1} : (i32, i32, i1, f32) -> !llvm.ptr<3>
  return
}

// -----

func.func @no_slots(%row: i32, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF311: fold.shared_store expects the attribute slots to be an integer}}
  %made = "fold.shared_store"(%row, %slot, %on, %x) {rows = 8} : (i32, i32, i1, f32) -> !llvm.ptr<3>
  return
}

// -----

func.func @not_in_shared_memory(%row: i32, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF310: fold.shared_store expects results of type !llvm.ptr<3>, got !llvm.ptr<1>}}
  %made = "fold.shared_store"(%row, %slot, %on, %x) {rows = 8, slots = 1} : (i32, i32, i1, f32) -> !llvm.ptr<1>
  return
}

// -----

func.func @one_buffer_for_two_values(%row: i32, %slot: i32, %on: i1, %x: tuple<f32, i64>) {
  // expected-error @below {{WF310: fold.shared_store expects results of type !llvm.ptr<3>, !llvm.ptr<3>, got !llvm.ptr<3>}}
  %made = "fold.shared_store"(%row, %slot, %on, %x) {rows = 8, slots = 1}
    : (i32, i32, i1, tuple<f32, i64>) -> !llvm.ptr<3>
  return
}

// -----

func.func @no_buffer(%row: i32, %slot: i32, %on: i1, %x: f32) {
  // expected-error @below {{WF310: fold.shared_store expects results of type !llvm.ptr<3>, got none}}
  "fold.shared_store"(%row, %slot, %on, %x) {rows = 8, slots = 1} : (i32, i32, i1, f32) -> ()
  return
}
