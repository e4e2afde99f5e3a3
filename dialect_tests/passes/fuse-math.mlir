// Ops that join others before them, when their operands are known: products with sums, and conversions with loads.

// RUN: warpfold-opt %s --split-input-file --pass-pipeline='builtin.module(fuse-math)' | FileCheck %s
// RUN: warpfold-opt %s --split-input-file --pass-pipeline='builtin.module(fuse-math,canonicalize,cse)' \
// RUN:   | FileCheck %s --check-prefix=SHORT

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

// -----

// Selects between bytes, four at a time: the mask is a word with all bits of a byte set where a comparison holds. Of bytes
// above zero, widened as a program compares them, the difference of the lower bits is all that is left.
// SHORT-LABEL: func.func @relu
// SHORT-SAME:    (%[[X:.*]]: vector<4xi8>)
func.func @relu(%x: vector<4xi8>) -> vector<4xi8> {
  // SHORT:      %[[WORDS:.*]] = vector.bitcast %[[X]] : vector<4xi8> to vector<1xi32>
  // SHORT:      %[[WORD:.*]] = vector.extract %[[WORDS]][0]
  // SHORT:      %[[LOW:.*]] = arith.andi %[[WORD]], %c2139062143_i32 : i32
  // SHORT:      arith.subi %{{.*}}, %[[LOW]] : i32
  // SHORT:      %[[MASK:.*]] = llvm.call_intrinsic "llvm.nvvm.prmt"(%{{.*}}, %c0_i32, %c47768_i32)
  // SHORT:      arith.andi %[[WORD]], %{{.*}} : i32
  // SHORT-NOT:  arith.select
  %zero = arith.constant 0 : i8
  %zeros = vector.broadcast %zero : i8 to vector<4xi8>
  %wide = arith.extsi %x : vector<4xi8> to vector<4xi32>
  %wide_zeros = arith.extsi %zeros : vector<4xi8> to vector<4xi32>
  %is = arith.cmpi sgt, %wide, %wide_zeros : vector<4xi32>
  %found = arith.select %is, %x, %zeros : vector<4xi1>, vector<4xi8>
  return %found : vector<4xi8>
}

// -----

// Bits of a word: a multiplication moves four of them to bytes, another one fills these.
// SHORT-LABEL: func.func @where_bits
func.func @where_bits(%word: i32, %x: vector<8xi8>, %y: vector<8xi8>) -> vector<8xi8> {
  // SHORT-COUNT-2: arith.muli %{{.*}}, %c2113665_i32 : i32
  // SHORT:         arith.muli %{{.*}}, %c255_i32 : i32
  // SHORT-NOT:     arith.select
  %numbers = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi32>
  %words = vector.broadcast %word : i32 to vector<8xi32>
  %moved = arith.shrui %words, %numbers : vector<8xi32>
  %mask = arith.trunci %moved : vector<8xi32> to vector<8xi1>
  %found = arith.select %mask, %x, %y : vector<8xi1>, vector<8xi8>
  return %found : vector<8xi8>
}

// -----

// Bytes that are selected by wider values are selected one by one.
// SHORT-LABEL: func.func @where_floats
func.func @where_floats(%f: vector<4xf32>, %x: vector<4xi8>, %y: vector<4xi8>) -> vector<4xi8> {
  // SHORT: arith.cmpf
  // SHORT: arith.select
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %mask = arith.cmpf ogt, %f, %zero : vector<4xf32>
  %found = arith.select %mask, %x, %y : vector<4xi1>, vector<4xi8>
  return %found : vector<4xi8>
}

// -----

// A sum of bytes, which a program widens: the highest bits of bytes are added apart, so that nothing is carried on.
// SHORT-LABEL: func.func @sum
func.func @sum(%x: vector<4xi8>, %y: vector<4xi8>) -> vector<4xi8> {
  // SHORT:      %[[X:.*]] = arith.andi %{{.*}}, %c2139062143_i32 : i32
  // SHORT:      %[[Y:.*]] = arith.andi %{{.*}}, %c2139062143_i32 : i32
  // SHORT:      %[[LOWER:.*]] = arith.addi %[[X]], %[[Y]] : i32
  // SHORT:      %[[HIGHEST:.*]] = arith.andi %{{.*}}, %c-2139062144_i32 : i32
  // SHORT:      arith.xori %[[LOWER]], %[[HIGHEST]] : i32
  // SHORT-NOT:  arith.trunci
  %a = arith.extsi %x : vector<4xi8> to vector<4xi32>
  %b = arith.extsi %y : vector<4xi8> to vector<4xi32>
  %sum = arith.addi %a, %b : vector<4xi32>
  %found = arith.trunci %sum : vector<4xi32> to vector<4xi8>
  return %found : vector<4xi8>
}
