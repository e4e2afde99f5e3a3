// Words become the arithmetic of ranks and numbers.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-word,canonicalize,cse)' | FileCheck %s

// The rank of a float: its bits, all but the sign turned over where it is positive. It falls, so the greatest comes first.
// CHECK-LABEL: func.func @of_floats
// CHECK-SAME:    (%[[X:.*]]: vector<2xf32>, %[[N:.*]]: vector<2xi32>)
func.func @of_floats(%x: vector<2xf32>, %n: vector<2xi32>) -> vector<2xi64> {
  // CHECK:      %[[ONE_ZERO:.*]] = arith.addf %[[X]], %{{.*}} : vector<2xf32>
  // CHECK-NEXT: %[[BITS:.*]] = arith.bitcast %[[ONE_ZERO]] : vector<2xf32> to vector<2xi32>
  // CHECK-NEXT: %[[SIGN:.*]] = arith.shrsi %[[BITS]], %{{.*}} : vector<2xi32>
  // CHECK-NEXT: %[[POSITIVE:.*]] = arith.xori %[[SIGN]], %{{.*}} : vector<2xi32>
  // CHECK-NEXT: %[[TURNED:.*]] = arith.ori %[[POSITIVE]], %{{.*}} : vector<2xi32>
  // CHECK-NEXT: %[[RANK:.*]] = arith.xori %[[BITS]], %[[TURNED]] : vector<2xi32>
  // CHECK-NEXT: %[[WIDE:.*]] = arith.extsi %[[RANK]] : vector<2xi32> to vector<2xi64>
  // CHECK-NEXT: %[[HIGH:.*]] = arith.shli %[[WIDE]], %{{.*}} : vector<2xi64>
  // CHECK-NEXT: %[[LOW:.*]] = arith.extui %[[N]] : vector<2xi32> to vector<2xi64>
  // CHECK-NEXT: %[[WORD:.*]] = arith.ori %[[HIGH]], %[[LOW]] : vector<2xi64>
  // CHECK-NEXT: return %[[WORD]] : vector<2xi64>
  %w = "fold.word"(%x, %n) {bits = 32, falls = true, unsigned = false} : (vector<2xf32>, vector<2xi32>) -> vector<2xi64>
  return %w : vector<2xi64>
}

// The rank of an unsigned byte above 24 bits of a number. The rank is made before its first number is.
// CHECK-LABEL: func.func @of_bytes
// CHECK-SAME:    (%[[BYTE:.*]]: i8, %[[BASE:.*]]: i32)
func.func @of_bytes(%byte: i8, %base: i32) -> i32 {
  // CHECK:      %[[X:.*]] = arith.extui %[[BYTE]] : i8 to i32
  // CHECK-NEXT: %[[HIGH:.*]] = arith.shli %[[X]], %c24_i32 : i32
  // CHECK-NEXT: %[[N:.*]] = arith.addi %[[BASE]], %c1_i32 : i32
  // CHECK-NEXT: %[[BOTH:.*]] = arith.ori %[[HIGH]], %[[N]] : i32
  // CHECK-NEXT: %[[WORD:.*]] = arith.xori %[[BOTH]], %c-2147483648_i32 : i32
  // CHECK-NEXT: return %[[WORD]] : i32
  %one = arith.constant 1 : i32
  %x = arith.extui %byte : i8 to i32
  %n = arith.addi %base, %one : i32
  %w = "fold.word"(%x, %n) {bits = 8, falls = false, unsigned = true} : (i32, i32) -> i32
  return %w : i32
}
