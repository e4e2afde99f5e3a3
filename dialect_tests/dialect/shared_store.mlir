// fold.shared_store: the warp level, first half. Each warp leaves its state in shared memory, and a barrier makes sure
// that all are there.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @eight_warps
func.func @eight_warps(%warp: i32, %slot: i32, %first_lane: i1, %x: f32) -> !llvm.ptr<3> {
  // One lane of each warp writes its state at (row, slot): rows are the warps that share a result, slots the results
  // the CTA works on.
  // CHECK: "fold.shared_store"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {rows = 8 : i64, slots = 1 : i64} : (i32, i32, i1, f32) -> !llvm.ptr<3>
  %buffer = "fold.shared_store"(%warp, %slot, %first_lane, %x) {rows = 8, slots = 1}
    : (i32, i32, i1, f32) -> !llvm.ptr<3>
  return %buffer : !llvm.ptr<3>
}

// CHECK-LABEL: func.func @value_and_index
func.func @value_and_index(%warp: i32, %slot: i32, %on: i1, %x: tuple<f32, i64>) -> (!llvm.ptr<3>, !llvm.ptr<3>) {
  // A buffer for each value of the state.
  // CHECK: "fold.shared_store"{{.*}} : (i32, i32, i1, tuple<f32, i64>) -> (!llvm.ptr<3>, !llvm.ptr<3>)
  %buffers:2 = "fold.shared_store"(%warp, %slot, %on, %x) {rows = 4, slots = 2}
    : (i32, i32, i1, tuple<f32, i64>) -> (!llvm.ptr<3>, !llvm.ptr<3>)
  return %buffers#0, %buffers#1 : !llvm.ptr<3>, !llvm.ptr<3>
}

// CHECK-LABEL: func.func @four_results_a_thread
func.func @four_results_a_thread(%warp: i64, %slot: i64, %on: i1, %x: vector<4xf32>) -> !llvm.ptr<3> {
  // A thread with four results writes four neighbouring slots.
  // CHECK: {rows = 2 : i64, slots = 128 : i64} : (i64, i64, i1, vector<4xf32>) -> !llvm.ptr<3>
  %buffer = "fold.shared_store"(%warp, %slot, %on, %x) {rows = 2, slots = 128}
    : (i64, i64, i1, vector<4xf32>) -> !llvm.ptr<3>
  return %buffer : !llvm.ptr<3>
}
