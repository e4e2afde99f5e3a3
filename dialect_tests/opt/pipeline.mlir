// The tool itself: one pipeline text, nested and flat passes, IR printed after each of them, several inputs.

// RUN: warpfold-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(canonicalize)),cse)' | FileCheck %s
// RUN: warpfold-opt %s --split-input-file --pass-pipeline='cse' --mlir-print-ir-after-all -o /dev/null 2>&1 | FileCheck %s --check-prefix=AFTER
// RUN: warpfold-opt %s --split-input-file --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// RUN: not warpfold-opt %s --split-input-file --pass-pipeline='csee' 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: warpfold-opt: error: WF891: no pass is called 'csee' (near: cse)

// CHECK-LABEL: gpu.module @device
// AFTER-LABEL: IR Dump After {{.*}} (cse)
// AFTER:         gpu.module @device
gpu.module @device {
  // CHECK-LABEL:  gpu.func @adds_zero
  // CHECK-SAME:     (%[[X:.*]]: i32, %[[OUT:.*]]: !llvm.ptr)
  gpu.func @adds_zero(%x: i32, %out: !llvm.ptr) kernel {
    %zero = arith.constant 0 : i32
    // The addition folds away inside the nested anchor.
    // CHECK-NEXT:   llvm.store %[[X]], %[[OUT]]
    // GENERIC:      "arith.addi"({{.*}}) <{overflowFlags = #arith.overflow<none>}>
    %sum = arith.addi %x, %zero : i32
    llvm.store %sum, %out : i32, !llvm.ptr
    gpu.return
  }
}

// -----

// CHECK-LABEL: func.func @twice
func.func @twice(%x: i32) -> i32 {
  // Common subexpressions fold in the pass that runs on the whole module.
  // CHECK-COUNT-1: arith.muli
  // CHECK-NOT:     arith.muli
  // CHECK:         return
  %a = arith.muli %x, %x : i32
  %b = arith.muli %x, %x : i32
  %c = arith.addi %a, %b : i32
  return %c : i32
}
