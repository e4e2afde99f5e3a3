// fold.cached: a pointer whose accesses tell the L2 cache how long to keep their lines.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @first
func.func @first(%x: !llvm.ptr<1>) -> !llvm.ptr<1> {
  // CHECK: "fold.cached"(%{{.*}}) {policy = "evict_first"} : (!llvm.ptr<1>) -> !llvm.ptr<1>
  %y = "fold.cached"(%x) {policy = "evict_first"} : (!llvm.ptr<1>) -> !llvm.ptr<1>
  return %y : !llvm.ptr<1>
}

// CHECK-LABEL: func.func @last
func.func @last(%x: !llvm.ptr<1>) -> !llvm.ptr<1> {
  // CHECK: "fold.cached"(%{{.*}}) {policy = "evict_last"} : (!llvm.ptr<1>) -> !llvm.ptr<1>
  %y = "fold.cached"(%x) {policy = "evict_last"} : (!llvm.ptr<1>) -> !llvm.ptr<1>
  return %y : !llvm.ptr<1>
}
