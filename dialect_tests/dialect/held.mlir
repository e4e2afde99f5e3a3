// fold.held: reads an access that waits in one of a thread's slots.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @second
func.func @second(%slots: !llvm.ptr<3>) -> vector<8xbf16> {
  %number = arith.constant 1 : i32
  // CHECK: "fold.held"(%{{.*}}, %{{.*}}) {threads = 256 : i64} : (!llvm.ptr<3>, i32) -> vector<8xbf16>
  %eight = "fold.held"(%slots, %number) {threads = 256} : (!llvm.ptr<3>, i32) -> vector<8xbf16>
  return %eight : vector<8xbf16>
}

// CHECK-LABEL: func.func @any
func.func @any(%slots: !llvm.ptr<3>, %number: i64) -> f64 {
  // CHECK: "fold.held"(%{{.*}}, %{{.*}}) {threads = 32 : i64} : (!llvm.ptr<3>, i64) -> f64
  %one = "fold.held"(%slots, %number) {threads = 32} : (!llvm.ptr<3>, i64) -> f64
  return %one : f64
}
