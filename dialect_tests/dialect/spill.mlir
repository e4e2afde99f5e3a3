// fold.spill: the counters of a CTA are added to those of the grid.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @spill
func.func @spill(%buffer: !llvm.ptr<3>, %cells: !llvm.ptr<1>, %n: i32) {
  // CHECK: "fold.spill"(%{{.*}}, %{{.*}}, %{{.*}}) {bits = 32 : i64, copies = 2 : i64, count = 16 : i64}
  "fold.spill"(%buffer, %cells, %n) {count = 16, copies = 2, bits = 32} : (!llvm.ptr<3>, !llvm.ptr<1>, i32) -> ()
  return
}
