// fold.ticket: takes the next number of a counter.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @words
func.func @words(%counter: !llvm.ptr<1>, %count: i32) -> i32 {
  // CHECK: "fold.ticket"(%{{.*}}, %{{.*}}) : (!llvm.ptr<1>, i32) -> i32
  %number = "fold.ticket"(%counter, %count) : (!llvm.ptr<1>, i32) -> i32
  return %number : i32
}

// CHECK-LABEL: func.func @wide
func.func @wide(%counter: !llvm.ptr<1>, %count: i64) -> i64 {
  // CHECK: "fold.ticket"(%{{.*}}, %{{.*}}) : (!llvm.ptr<1>, i64) -> i64
  %number = "fold.ticket"(%counter, %count) : (!llvm.ptr<1>, i64) -> i64
  return %number : i64
}
