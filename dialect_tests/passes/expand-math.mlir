// Math functions: no instruction computes exp and log accurately, and a call of a library would need something to link.
// They become range reduction and a polynomial. tests/passes/test_expand_math.py measures what comes out, in ulps.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(expand-math)' | FileCheck %s

// exp(x) = 2^n exp(r), with n the integer nearest to x / ln2.
// CHECK-LABEL: func.func @exp_f32
// CHECK-SAME:    (%[[X:.*]]: f32)
func.func @exp_f32(%x: f32) -> f32 {
  // Everything past these bounds is infinite or zero anyway; a NaN goes through.
  // CHECK:      %[[ABOVE:.*]] = llvm.call_intrinsic "llvm.maximum"(%[[X]], %{{.*}})
  // CHECK:      %[[IN:.*]] = llvm.call_intrinsic "llvm.minimum"(%[[ABOVE]], %{{.*}})
  // 1.5 x 2^23: adding it leaves the rounded integer in the low bits.
  // CHECK:      %[[MAGIC:.*]] = arith.constant 0x4B400000 : f32
  // CHECK:      %[[SHIFTED:.*]] = llvm.call_intrinsic "llvm.fma"(%[[IN]], %{{.*}}, %[[MAGIC]])
  // CHECK-NEXT: %[[N:.*]] = arith.subf %[[SHIFTED]], %[[MAGIC]] : f32
  // r = x - n ln2, in two steps, since n times the first part is exact; then seven steps of the polynomial.
  // CHECK-COUNT-9: llvm.call_intrinsic "llvm.fma"
  // 2^n in two halves: no intermediate result overflows, and a subnormal one is rounded once.
  // CHECK:         arith.shrsi
  // CHECK-COUNT-2: arith.mulf
  // CHECK-NOT:     math.
  // CHECK-NOT:     func.call
  // CHECK:         return
  %y = math.exp %x : f32
  return %y : f32
}

// f64: the same formula with more terms, on 64-bit integers.
// CHECK-LABEL: func.func @exp_f64
func.func @exp_f64(%x: f64) -> f64 {
  // CHECK-COUNT-16: llvm.call_intrinsic "llvm.fma"({{.*}}) : (f64, f64, f64) -> f64
  // CHECK-NOT:      llvm.call_intrinsic
  // CHECK:          arith.shli %{{.*}}, %{{.*}} : i64
  // CHECK:          return
  %y = math.exp %x : f64
  return %y : f64
}

// A fragment: the same operations, each on all elements at once.
// CHECK-LABEL: func.func @exp_vector
func.func @exp_vector(%x: vector<4xf32>) -> vector<4xf32> {
  // CHECK:         arith.constant dense<{{.*}}> : vector<4xf32>
  // CHECK-COUNT-10: llvm.call_intrinsic "llvm.fma"({{.*}}) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // CHECK-COUNT-2: arith.mulf %{{.*}}, %{{.*}} : vector<4xf32>
  // CHECK:         return
  %y = math.exp %x : vector<4xf32>
  return %y : vector<4xf32>
}

// log(x) = e ln2 + log(1 + f), with 1 + f between sqrt(1/2) and sqrt(2).
// CHECK-LABEL: func.func @log_f32
// CHECK-SAME:    (%[[X:.*]]: f32)
func.func @log_f32(%x: f32) -> f32 {
  // Subnormals are scaled by 2^24 first, which is taken off the exponent later.
  // CHECK:      %[[TINY:.*]] = arith.cmpf olt, %[[X]], %{{.*}} : f32
  // CHECK:      arith.select %[[TINY]], %{{.*}}, %[[X]] : f32
  // CHECK:      arith.select %[[TINY]], %{{.*}}, %{{.*}} : i32
  // s = f / (2 + f)
  // CHECK:      arith.divf
  // Then the values that have no formula: infinity and zero themselves, and NaN below zero or for NaN.
  // CHECK:      arith.cmpf oeq, %[[X]]
  // CHECK:      arith.cmpf oeq, %[[X]]
  // CHECK:      %[[BAD:.*]] = arith.cmpf ult, %[[X]]
  // CHECK:      arith.constant 0x7FC00000 : f32
  // CHECK-NEXT: %[[Y:.*]] = arith.select %[[BAD]]
  // CHECK-NEXT: return %[[Y]]
  %y = math.log %x : f32
  return %y : f32
}

// What one instruction computes exactly goes to LLVM by name: upstream's own conversion would call a library.
// CHECK-LABEL: func.func @instructions
func.func @instructions(%x: f64, %v: vector<2xf32>) -> (f64, f64, f64, vector<2xf32>) {
  // CHECK-NEXT: llvm.call_intrinsic "llvm.floor"(%{{.*}}) : (f64) -> f64
  %a = math.floor %x : f64
  // CHECK-NEXT: llvm.call_intrinsic "llvm.ceil"(%{{.*}}) : (f64) -> f64
  %b = math.ceil %x : f64
  // CHECK-NEXT: llvm.call_intrinsic "llvm.sqrt"(%{{.*}}) : (f64) -> f64
  %c = math.sqrt %x : f64
  // CHECK-NEXT: llvm.call_intrinsic "llvm.fabs"(%{{.*}}) : (vector<2xf32>) -> vector<2xf32>
  %d = math.absf %v : vector<2xf32>
  return %a, %b, %c, %d : f64, f64, f64, vector<2xf32>
}

// Of two zeros the negative one is less: upstream's expansion would return whichever comes second.
// CHECK-LABEL: func.func @extremes
func.func @extremes(%x: f32, %y: f32) -> (f32, f32) {
  // CHECK-NEXT: llvm.call_intrinsic "llvm.minimum"(%{{.*}}, %{{.*}}) : (f32, f32) -> f32
  %a = arith.minimumf %x, %y : f32
  // CHECK-NEXT: llvm.call_intrinsic "llvm.maximum"(%{{.*}}, %{{.*}}) : (f32, f32) -> f32
  %b = arith.maximumf %x, %y : f32
  return %a, %b : f32, f32
}
