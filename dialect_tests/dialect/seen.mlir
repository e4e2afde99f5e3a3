// fold.seen: what another CTA has left in tagged words.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @two_values
func.func @two_values(%words: !llvm.ptr<1>, %at: i64) -> i32 {
  // CHECK: "fold.seen"(%{{.*}}, %{{.*}}) : (!llvm.ptr<1>, i64) -> (i32, tuple<f32, i64>)
  %kind, %state = "fold.seen"(%words, %at) : (!llvm.ptr<1>, i64) -> (i32, tuple<f32, i64>)
  return %kind : i32
}
