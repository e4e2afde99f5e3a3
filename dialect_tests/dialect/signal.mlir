// fold.signal: tells the CTAs that wait for a counter that the state of a row is there.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @words
func.func @words(%counters: !llvm.ptr<1>, %number: i32, %count: i32) {
  // CHECK: "fold.signal"(%{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr<1>, i32, i32) -> ()
  "fold.signal"(%counters, %number, %count) : (!llvm.ptr<1>, i32, i32) -> ()
  return
}

// CHECK-LABEL: func.func @wide
func.func @wide(%counters: !llvm.ptr<1>, %number: i64, %count: i64) {
  // CHECK: "fold.signal"(%{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr<1>, i64, i64) -> ()
  "fold.signal"(%counters, %number, %count) : (!llvm.ptr<1>, i64, i64) -> ()
  return
}
