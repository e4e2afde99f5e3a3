// Math functions: no instruction computes them accurately, and a call of a library would need something to link.
// They become range reduction and a polynomial. tests/passes/test_expand_math.py measures what comes out, in ulps.

// RUN: warpfold-opt %s --split-input-file --pass-pipeline='builtin.module(expand-math)' | FileCheck %s

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
  // r = x - n ln2, in two steps, since n times the first part is exact; then six steps of the polynomial.
  // CHECK-COUNT-8: llvm.call_intrinsic "llvm.fma"
  // 2^n in two halves: no intermediate result overflows, and a subnormal one is rounded once.
  // CHECK:         arith.shrsi
  // CHECK-COUNT-2: arith.mulf
  // CHECK-NOT:     math.
  // CHECK-NOT:     func.call
  // CHECK:         return
  %y = math.exp %x : f32
  return %y : f32
}

// Where the argument is bounded already, so that the result is a normal number, no bounds and one factor are enough.
// CHECK-LABEL: func.func @exp_bounded
func.func @exp_bounded(%x: f32) -> f32 {
  // CHECK:         llvm.call_intrinsic "llvm.maximum"
  // CHECK-NOT:     llvm.minimum
  // CHECK-COUNT-9: llvm.call_intrinsic "llvm.fma"
  // CHECK-NOT:     arith.shrsi
  // CHECK-COUNT-1: arith.mulf
  // CHECK-NOT:     arith.mulf
  // CHECK:         return
  %lowest = arith.constant -87.0 : f32
  %size = math.absf %x : f32
  %below = arith.negf %size : f32
  %within = arith.maximumf %below, %lowest : f32
  %y = math.exp %within : f32
  return %y : f32
}

// One step further it may be subnormal, and both are back.
// CHECK-LABEL: func.func @exp_nearly_bounded
func.func @exp_nearly_bounded(%x: f32) -> f32 {
  // CHECK:         llvm.minimum
  // CHECK:         arith.shrsi
  // CHECK:         return
  %lowest = arith.constant -88.0 : f32
  %highest = arith.constant 80.0 : f32
  %above = arith.maximumf %x, %lowest : f32
  %within = arith.minimumf %above, %highest : f32
  %y = math.exp %within : f32
  return %y : f32
}

// Relative to a maximum no argument is above zero, and no result above one. There is a lower bound, and 2^n times 2^64,
// whose exponent has room for every n, is one factor; the result is multiplied by 2^-64 at the end, which rounds once.
// CHECK-LABEL: func.func @exp_at_most_zero
func.func @exp_at_most_zero(%x: f32, %greatest: f32) -> f32 {
  // CHECK:         llvm.maximum
  // CHECK-NOT:     llvm.minimum
  // CHECK-NOT:     arith.shrsi
  // CHECK:         arith.shli
  // CHECK-COUNT-2: arith.mulf
  // CHECK-NOT:     arith.mulf
  // CHECK:         return
  %d = arith.subf %x, %greatest {fold.at_most_zero} : f32
  %y = math.exp %d : f32
  return %y : f32
}

// 2^x where x is a bounded product: the product is not rounded before its integer part is taken off. What is left of it
// goes into six more terms.
// CHECK-LABEL: func.func @exp2_of_a_product
// CHECK-SAME:    (%[[IN:.*]]: f32)
func.func @exp2_of_a_product(%x: f32) -> f32 {
  // CHECK:         %[[WITHIN:.*]] = llvm.call_intrinsic "llvm.maximum"
  // CHECK:         %[[MAGIC:.*]] = arith.constant 0x4B400000 : f32
  // CHECK-NEXT:    %[[SHIFTED:.*]] = llvm.call_intrinsic "llvm.fma"(%[[WITHIN]], %[[LOG2E:.*]], %[[MAGIC]])
  // CHECK-NEXT:    %[[N:.*]] = arith.subf %[[SHIFTED]], %[[MAGIC]] : f32
  // CHECK:         %[[DOWN:.*]] = arith.negf %[[N]] : f32
  // CHECK-NEXT:    llvm.call_intrinsic "llvm.fma"(%[[WITHIN]], %[[LOG2E]], %[[DOWN]])
  // CHECK-COUNT-6: llvm.call_intrinsic "llvm.fma"
  // CHECK-NOT:     llvm.call_intrinsic "llvm.fma"
  // CHECK:         return
  %lowest = arith.constant -87.0 : f32
  %size = math.absf %x : f32
  %below = arith.negf %size : f32
  %within = arith.maximumf %below, %lowest : f32
  %log2e = arith.constant 1.44269502 : f32
  %product = arith.mulf %within, %log2e : f32
  %y = math.exp2 %product : f32
  return %y : f32
}

// f64: the same formula with more terms, on 64-bit integers; it is bounded by comparisons, as maximum takes more there.
// CHECK-LABEL: func.func @exp_f64
func.func @exp_f64(%x: f64) -> f64 {
  // CHECK:          arith.cmpf ugt
  // CHECK-NEXT:     arith.select
  // CHECK:          arith.cmpf ult
  // CHECK-NEXT:     arith.select
  // CHECK-COUNT-14: llvm.call_intrinsic "llvm.fma"({{.*}}) : (f64, f64, f64) -> f64
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
  // CHECK-COUNT-9: llvm.call_intrinsic "llvm.fma"({{.*}}) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
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
  // s = f / (2 + f), without a branch
  // CHECK:      %[[BELOW:.*]] = arith.addf
  // CHECK:      %[[NEAR:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%[[BELOW]])
  // CHECK-NOT:  arith.divf
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

// -----

// Long code becomes a function of the module, of scalars: written once, called for each element of a fragment.
// CHECK:      llvm.func internal @__fold_tanh_f32(%[[X:.*]]: f32) -> f32
// CHECK:        %[[SIZE:.*]] = llvm.call_intrinsic "llvm.fabs"(%[[X]])
// Near zero a polynomial, beyond 1 - 2 / (exp(2x) + 1), and the sign of x in front of either.
// CHECK-COUNT-7: llvm.call_intrinsic "llvm.fma"
// CHECK:        arith.divf
// CHECK:        arith.cmpf olt, %[[SIZE]]
// CHECK:        arith.select
// CHECK:        arith.ori
// CHECK:        llvm.return
// CHECK-LABEL: func.func @tanh_vector
func.func @tanh_vector(%x: vector<2xf32>, %y: f32) -> (vector<2xf32>, f32) {
  // CHECK-COUNT-3: llvm.call @__fold_tanh_f32({{.*}}) : (f32) -> f32
  // CHECK-NOT:     math.
  // CHECK:         return
  %a = math.tanh %x : vector<2xf32>
  %b = math.tanh %y : f32
  return %a, %b : vector<2xf32>, f32
}

// -----

// sin(x): angles below 2^19 lose a multiple of pi/2; greater ones, which would cancel, multiply the bits of 2/pi.
// CHECK:      llvm.mlir.global internal constant @two_over_pi_32(dense<[0, 0, -1560706194, {{.*}}]> : tensor<12xi32>)
// CHECK:      llvm.func internal @__fold_sin_f32(%[[X:.*]]: f32) -> f32
// CHECK:        %[[BOUND:.*]] = arith.constant 5.242880e+05 : f32
// CHECK:        %[[SMALL:.*]] = arith.cmpf olt, %{{.*}}, %[[BOUND]] : f32
// CHECK:        scf.if %[[SMALL]] -> (i32, f32, f32)
// CHECK:        } else {
// CHECK-COUNT-4: llvm.load
// CHECK-COUNT-2: arith.mului_extended
// CHECK-LABEL: func.func @sin_f32
func.func @sin_f32(%x: f32) -> f32 {
  // CHECK-NEXT: llvm.call @__fold_sin_f32
  %y = math.sin %x : f32
  return %y : f32
}

// -----

// A remainder is exact however great the quotient: a loop takes off what the format can hold of it.
// CHECK:      llvm.func internal @__fold_remf_f64(%{{.*}}: f64, %{{.*}}: f64) -> f64
// CHECK:        scf.while
// CHECK:          arith.divf
// CHECK-NEXT:     llvm.call_intrinsic "llvm.trunc"
// CHECK:          llvm.call_intrinsic "llvm.fma"
// CHECK-LABEL: func.func @two_operands
func.func @two_operands(%x: f64, %y: f64) -> f64 {
  // CHECK-NEXT: llvm.call @__fold_remf_f64(%{{.*}}, %{{.*}}) : (f64, f64) -> f64
  %z = arith.remf %x, %y : f64
  return %z : f64
}

// -----

// fastmath<afn> asks for the instruction that approximates: exp and log are those to base two, scaled.
// CHECK-LABEL: func.func @fast
func.func @fast(%x: f32, %v: vector<2xf32>) -> (f32, f32, vector<2xf32>, f32) {
  // CHECK:      %[[SCALED:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
  // CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%[[SCALED]])
  %a = math.exp %x fastmath<afn> : f32
  // CHECK-NEXT: llvm.call_intrinsic "llvm.tanh"(%{{.*}}) {fastmathFlags = #llvm.fastmath<afn>}
  %b = math.tanh %x fastmath<afn> : f32
  // CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"(%{{.*}}) {{.*}}: (f32) -> f32
  %c = math.rsqrt %v fastmath<afn> : vector<2xf32>
  // CHECK:      llvm.call_intrinsic "llvm.nvvm.sqrt.approx.f"
  %d = math.sqrt %x fastmath<afn> : f32
  return %a, %b, %c, %d : f32, f32, vector<2xf32>, f32
}

// -----

// There is no approximation in f64: the flag changes nothing.
// CHECK-LABEL: func.func @slow
func.func @slow(%x: f64) -> f64 {
  // CHECK-NOT: approx
  // CHECK:     return
  %y = math.exp2 %x fastmath<afn> : f64
  return %y : f64
}

// -----

// Nor is there one of tanh before PTX 7.0: a target with less gets the arithmetic.
// CHECK:       gpu.module @old
// CHECK:         llvm.func internal @__fold_tanh_f32
// CHECK-LABEL:   func.func @old_tanh
gpu.module @old attributes {fold.target = "sm_75"} {
  func.func @old_tanh(%x: f32) -> f32 {
    // CHECK-NEXT:  llvm.call @__fold_tanh_f32
    %y = math.tanh %x fastmath<afn> : f32
    return %y : f32
  }
}

// -----

// Quotients by one count share its reciprocal: a product, what it has too much, and one rounding of both.
// CHECK-LABEL: func.func @means
func.func @means(%x: f32, %y: f32, %n: i32) -> (f32, f32) attributes {unbranched} {
  // CHECK:         %[[N:.*]] = arith.sitofp
  // CHECK:         %[[NEAR:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%[[N]])
  // CHECK:         %[[R:.*]] = arith.select
  // CHECK-NOT:     rcp.approx
  // CHECK:         %[[Q:.*]] = arith.mulf %{{.*}}, %[[R]] : f32
  // CHECK:         %[[EXCESS:.*]] = llvm.call_intrinsic "llvm.fma"(%[[Q]], %[[N]], %{{.*}})
  // CHECK:         %[[MINUS:.*]] = arith.negf %[[EXCESS]] : f32
  // CHECK:         %[[BETTER:.*]] = llvm.call_intrinsic "llvm.fma"(%[[MINUS]], %[[R]], %[[Q]])
  // CHECK:         arith.select %{{.*}}, %[[BETTER]], %[[Q]] : f32
  // CHECK:         return
  %wide = arith.extsi %n : i32 to i64
  %count = arith.sitofp %wide : i64 to f32
  %a = arith.divf %x, %count : f32
  %b = arith.divf %y, %count : f32
  return %a, %b : f32, f32
}

// -----

// In kernels that keep rows in registers, the root and its reciprocal of f32 have no branch: small numbers are multiplied by a power of four.
// CHECK-LABEL: func.func @reciprocal_root
// CHECK-SAME:    (%[[X:.*]]: f32)
func.func @reciprocal_root(%x: f32) -> f32 attributes {unbranched} {
  // CHECK:         %[[SMALL:.*]] = arith.cmpf olt, %[[X]]
  // CHECK:         %[[SCALED:.*]] = arith.select %[[SMALL]], %{{.*}}, %[[X]]
  // CHECK:         %[[NEAR:.*]] = llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"(%[[SCALED]])
  // CHECK:         llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
  // CHECK:         %[[FOUND:.*]] = arith.select %[[SMALL]]
  // CHECK:         %[[Y:.*]] = arith.select %{{.*}}, %[[FOUND]], %[[NEAR]]
  // CHECK-NEXT:    return %[[Y]]
  %y = math.rsqrt %x : f32
  return %y : f32
}

// -----

// One quotient is divided, and so is one by a value that is no count.
// CHECK-LABEL: func.func @one_mean
func.func @one_mean(%x: f32, %y: f32, %n: i32) -> (f32, f32) {
  // CHECK-NOT:     llvm.fma
  // CHECK:         return
  %count = arith.sitofp %n : i32 to f32
  %a = arith.divf %x, %count : f32
  %b = arith.divf %a, %y : f32
  return %a, %b : f32, f32
}

// -----

// One count by another, which arcp says of a quotient: an approximation of 1 / n, a step of Newton's method, and what the
// product has too much. Of f64 there are two steps.
// CHECK-LABEL: func.func @counts
// CHECK-SAME:    (%[[N:.*]]: f32, %[[ALL:.*]]: f32,
func.func @counts(%n: f32, %all: f32, %m: f64, %every: f64) -> (f32, f64) {
  // CHECK:         %[[NEAR:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%[[ALL]])
  // CHECK-COUNT-2: llvm.call_intrinsic "llvm.fma"
  // CHECK:         arith.mulf %[[N]]
  // CHECK-COUNT-2: llvm.call_intrinsic "llvm.fma"
  // CHECK:         llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.d"
  // CHECK-COUNT-6: llvm.call_intrinsic "llvm.fma"
  // CHECK-NOT:     arith.divf
  // CHECK:         return
  %a = arith.divf %n, %all fastmath<arcp> : f32
  %b = arith.divf %m, %every fastmath<arcp> : f64
  return %a, %b : f32, f64
}

// -----

// Floats of 8 bits: an instruction rounds two values, of which the second becomes the lower byte.
// CHECK-LABEL: func.func @bytes
// CHECK-SAME:    (%[[X:.*]]: vector<4xf32>, %[[Y:.*]]: f32)
// CHECK-DAG:     %[[X0:.*]] = vector.extract %[[X]][0]
// CHECK-DAG:     %[[X1:.*]] = vector.extract %[[X]][1]
// CHECK:         %[[LOW:.*]] = llvm.call_intrinsic "llvm.nvvm.ff.to.e4m3x2.rn"(%[[X1]], %[[X0]]) : (f32, f32) -> i16
// CHECK:         %[[HIGH:.*]] = llvm.call_intrinsic "llvm.nvvm.ff.to.e4m3x2.rn"
// CHECK:         vector.bitcast %{{.*}} : vector<1xi32> to vector<4xi8>
// CHECK:         llvm.call_intrinsic "llvm.nvvm.ff.to.e5m2x2.rn"(%[[Y]], %[[Y]]) : (f32, f32) -> i16
// CHECK-NEXT:    arith.trunci %{{.*}} : i16 to i8
func.func @bytes(%x: vector<4xf32>, %y: f32) -> (vector<4xi8>, i8) {
  %b = "fold.encode"(%x) {format = "f8e4m3fn"} : (vector<4xf32>) -> vector<4xi8>
  %c = "fold.encode"(%y) {format = "f8e5m2"} : (f32) -> i8
  return %b, %c : vector<4xi8>, i8
}
