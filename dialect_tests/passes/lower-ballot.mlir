// Words of truth values: a ballot where a lane has one of them, else a register that lanes join by or.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-ballot,canonicalize,cse)' | FileCheck %s

// The ballot of a warp is its word.
// CHECK-LABEL: func.func @of_a_warp
// CHECK-SAME:    (%[[MASK:.*]]: i1)
func.func @of_a_warp(%mask: i1) -> i32 {
  // CHECK:      %[[ALL:.*]] = arith.constant -1 : i32
  // CHECK-NEXT: %[[WORD:.*]] = nvvm.vote.sync ballot %[[ALL]], %[[MASK]] -> i32
  // CHECK-NEXT: return %[[WORD]]
  %word = "fold.ballot"(%mask) : (i1) -> i32
  return %word : i32
}

// Four lanes have eight elements each: a byte goes to its place in the word, and two shuffles join four of them.
// CHECK-LABEL: func.func @of_four_lanes
// CHECK-SAME:    (%[[MASK:.*]]: vector<8xi1>)
func.func @of_four_lanes(%mask: vector<8xi1>) -> i32 {
  // CHECK:      vector.extract %[[MASK]][0]
  // CHECK:      vector.extract %[[MASK]][7]
  // CHECK:      %[[LANE:.*]] = gpu.lane_id
  // CHECK:      arith.andi %{{.*}}, %c3_i32 : i32
  // CHECK:      arith.muli %{{.*}}, %c8_i32 : i32
  // CHECK:      %[[OWN:.*]] = arith.shli %{{.*}}, %{{.*}} : i32
  // CHECK:      %[[NEXT:.*]], %{{.*}} = gpu.shuffle xor %[[OWN]], %c1_i32, %c32_i32 : i32
  // CHECK:      %[[PAIR:.*]] = arith.ori %[[OWN]], %[[NEXT]] : i32
  // CHECK:      %[[FAR:.*]], %{{.*}} = gpu.shuffle xor %[[PAIR]], %c2_i32, %c32_i32 : i32
  // CHECK:      %[[WORD:.*]] = arith.ori %[[PAIR]], %[[FAR]] : i32
  // CHECK-NEXT: return %[[WORD]]
  %word = "fold.ballot"(%mask) : (vector<8xi1>) -> i32
  return %word : i32
}
