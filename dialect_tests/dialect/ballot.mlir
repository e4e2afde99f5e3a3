// fold.ballot: lanes beside each other put their truth values together in a word.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @of_a_warp
func.func @of_a_warp(%mask: i1) -> i32 {
  // CHECK: "fold.ballot"(%{{.*}}) : (i1) -> i32
  %word = "fold.ballot"(%mask) : (i1) -> i32
  return %word : i32
}

// CHECK-LABEL: func.func @of_four_lanes
func.func @of_four_lanes(%mask: vector<8xi1>) -> i32 {
  // CHECK: "fold.ballot"(%{{.*}}) : (vector<8xi1>) -> i32
  %word = "fold.ballot"(%mask) : (vector<8xi1>) -> i32
  return %word : i32
}
