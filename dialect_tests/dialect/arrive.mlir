// fold.arrive: tells whether a CTA is the last one to count.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @words
func.func @words(%counters: !llvm.ptr<1>, %number: i32, %count: i32) -> i1 {
  // CHECK: "fold.arrive"(%{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr<1>, i32, i32) -> i1
  %last = "fold.arrive"(%counters, %number, %count) : (!llvm.ptr<1>, i32, i32) -> i1
  return %last : i1
}

// CHECK-LABEL: func.func @wide
func.func @wide(%counters: !llvm.ptr<1>, %number: i64, %count: i64) -> i1 {
  // CHECK: "fold.arrive"(%{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr<1>, i64, i64) -> i1
  %last = "fold.arrive"(%counters, %number, %count) : (!llvm.ptr<1>, i64, i64) -> i1
  return %last : i1
}
