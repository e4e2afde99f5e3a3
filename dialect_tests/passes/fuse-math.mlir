// Ops that join others before them, when their operands are known: products with sums, and conversions with loads.

// RUN: warpfold-opt %s --split-input-file --pass-pipeline='builtin.module(fuse-math)' | FileCheck %s

// One times a product, added: with fastmath<contract> its factors are multiplied and added in one operation.
// CHECK-LABEL: func.func @contracted
// CHECK-SAME:    (%[[A:.*]]: f32, %[[B:.*]]: f32, %[[C:.*]]: f32)
func.func @contracted(%a: f32, %b: f32, %c: f32) -> (f32, f32) {
  // CHECK: llvm.call_intrinsic "llvm.fma"(%[[A]], %[[B]], %[[C]])
  %one = arith.constant 1.0 : f32
  %product = arith.mulf %a, %b : f32
  %x = math.fma %one, %product, %c fastmath<contract> : f32
  // Without it the product is rounded first.
  // CHECK: %[[ROUNDED:.*]] = arith.mulf %[[A]], %[[B]] : f32
  // CHECK: llvm.call_intrinsic "llvm.fma"(%{{.*}}, %[[ROUNDED]], %[[C]])
  %rounded = arith.mulf %a, %b : f32
  %y = math.fma %one, %rounded, %c : f32
  return %x, %y : f32, f32
}

// bf16 as they were read, two to a word: the upper half of an f32 each.
// CHECK-LABEL: func.func @widened
func.func @widened(%from: !llvm.ptr<1>) -> vector<4xf32> {
  // CHECK: %[[READ:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> vector<4xbf16>
  // CHECK: %[[WORDS:.*]] = vector.bitcast %[[READ]] : vector<4xbf16> to vector<2xi32>
  // CHECK: arith.shli %[[WORDS]], %{{.*}} : vector<2xi32>
  // CHECK: arith.andi %[[WORDS]], %{{.*}} : vector<2xi32>
  // CHECK-NOT: arith.extf
  // CHECK: return
  %read = llvm.load %from : !llvm.ptr<1> -> vector<4xbf16>
  %wide = arith.extf %read : vector<4xbf16> to vector<4xf32>
  return %wide : vector<4xf32>
}
