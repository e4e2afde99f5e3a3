// fold.arrived: waits until the slots that all threads of a CTA fill are full.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @wait
func.func @wait() {
  // CHECK: "fold.arrived"() : () -> ()
  "fold.arrived"() : () -> ()
  return
}
