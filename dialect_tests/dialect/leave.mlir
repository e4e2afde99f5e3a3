// fold.leave: a state in tagged words, for other CTAs.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @aggregate
func.func @aggregate(%words: !llvm.ptr<1>, %at: i32, %on: i1, %x: f32) {
  // CHECK: "fold.leave"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {kind = 1 : i64} : (!llvm.ptr<1>, i32, i1, f32) -> ()
  "fold.leave"(%words, %at, %on, %x) {kind = 1} : (!llvm.ptr<1>, i32, i1, f32) -> ()
  return
}
