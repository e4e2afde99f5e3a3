// fold.count: how many elements one result reduces. A mean divides by it; at run time it is a kernel argument.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @as_a_divisor
func.func @as_a_divisor(%sum: f32) -> f32 {
  // CHECK: %[[COUNT:.*]] = "fold.count"() : () -> i64
  %n = "fold.count"() : () -> i64
  // CHECK: arith.sitofp %[[COUNT]] : i64 to f32
  %divisor = arith.sitofp %n : i64 to f32
  %mean = arith.divf %sum, %divisor : f32
  return %mean : f32
}

// CHECK-LABEL: func.func @along_other_dims
func.func @along_other_dims() -> i64 {
  // A program that reads its rows again may use several counts; the launch gives this one as its numbering 1.
  // CHECK: "fold.count"() {numbering = 1 : i64} : () -> i64
  %n = "fold.count"() {numbering = 1} : () -> i64
  return %n : i64
}
