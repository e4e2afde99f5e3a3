// fold.counters: counters of a CTA that are zero.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @counters
func.func @counters() -> !llvm.ptr<3> {
  // CHECK: "fold.counters"() {bits = 32 : i64, copies = 16 : i64, count = 256 : i64} : () -> !llvm.ptr<3>
  %buffer = "fold.counters"() {count = 256, copies = 16, bits = 32} : () -> !llvm.ptr<3>
  return %buffer : !llvm.ptr<3>
}
