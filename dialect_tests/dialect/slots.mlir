// fold.slots: a thread's slots in shared memory into which nothing is copied.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @room
func.func @room(%thread: i32) -> !llvm.ptr<3> {
  // CHECK: "fold.slots"(%{{.*}}) {item = 2 : i64, slots = 4 : i64, threads = 256 : i64, vector = 8 : i64} : (i32) -> !llvm.ptr<3>
  %place = "fold.slots"(%thread) {slots = 4, threads = 256, vector = 8, item = 2} : (i32) -> !llvm.ptr<3>
  return %place : !llvm.ptr<3>
}
