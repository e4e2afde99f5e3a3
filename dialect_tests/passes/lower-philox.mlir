// Random bits: ten rounds of Philox for each counter, which four neighbours share where they begin at a multiple of 4.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-philox,canonicalize,cse)' | FileCheck %s

// A round multiplies two words of the counter, and mixes the high words of the products with the others and the key.
// CHECK-LABEL: func.func @one_round
// CHECK-SAME:    (%[[N:.*]]: i64, %[[SEED:.*]]: i64, %[[OFFSET:.*]]: i64)
// CHECK-DAG:   %[[KEY:.*]] = arith.trunci %[[SEED]] : i64 to i32
// CHECK-DAG:   %[[C2:.*]] = arith.trunci %[[OFFSET]] : i64 to i32
// CHECK-DAG:   %[[FACTOR:.*]] = arith.constant -845247145 : i32
// CHECK:       %[[HIGH:.*]] = llvm.call_intrinsic "llvm.nvvm.mulhi.ui"(%[[C2]], %[[FACTOR]]) : (i32, i32) -> i32
// CHECK-NEXT:  %[[LOW:.*]] = arith.muli %[[C2]], %[[FACTOR]] : i32
// CHECK:       %[[MIXED:.*]] = arith.xori %[[HIGH]], %{{.*}} : i32
// CHECK:       arith.xori %[[MIXED]], %[[KEY]] : i32
// CHECK-COUNT-3: arith.select
// CHECK:       return
func.func @one_round(%n: i64, %seed: i64, %offset: i64) -> i32 {
  %w = "fold.philox"(%n, %seed, %offset) {rounds = 1} : (i64, i64, i64) -> i32
  return %w : i32
}

// Eight elements share two counters, or have eight. A round is two products a counter, of which that of the offset is one
// for all in the first round.
// CHECK-LABEL: func.func @neighbours
// CHECK-DAG:     %[[FIRST:.*]] = vector.extract %{{.*}}[0]
// CHECK-DAG:     %[[LAST:.*]] = vector.extract %{{.*}}[7]
// CHECK-DAG:     %[[THREE:.*]] = arith.constant 3 : i64
// CHECK-DAG:     %[[SEVEN:.*]] = arith.constant 7 : i64
// CHECK:         %[[REST:.*]] = arith.andi %[[FIRST]], %[[THREE]] : i64
// CHECK-NEXT:    %[[APART:.*]] = arith.subi %[[LAST]], %[[FIRST]] : i64
// CHECK-NEXT:    %[[MORE:.*]] = arith.subi %[[APART]], %[[SEVEN]] : i64
// CHECK-NEXT:    %[[OFF:.*]] = arith.ori %[[REST]], %[[MORE]] : i64
// CHECK-NEXT:    %[[ARE:.*]] = arith.cmpi eq, %[[OFF]], %{{.*}} : i64
// CHECK:         scf.if %[[ARE]] -> (vector<8xi32>) {
// CHECK-COUNT-3:   arith.muli {{.*}} : i32
// CHECK-NOT:       arith.muli
// CHECK:           vector.from_elements
// CHECK:         } else {
// CHECK-COUNT-9:   arith.muli {{.*}} : i32
// CHECK-NOT:       arith.muli
// CHECK:           vector.from_elements
// CHECK:         return
func.func @neighbours(%n: vector<8xi64>, %seed: vector<8xi64>, %offset: vector<8xi64>) -> vector<8xi32> {
  %w = "fold.philox"(%n, %seed, %offset) {rounds = 1} : (vector<8xi64>, vector<8xi64>, vector<8xi64>) -> vector<8xi32>
  return %w : vector<8xi32>
}
