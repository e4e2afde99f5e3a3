// fold.block_reduce: combines the elements of each of a thread's results, all of which are in registers. Which element
// belongs to which result is known, so there is no loop, no mask and no address.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @four_rows_of_three
func.func @four_rows_of_three(%a: vector<4xf32>, %b: vector<4xf32>, %c: vector<4xf32>) -> vector<4xf32> {
  // The accesses hold one run of elements: 0, 1, 2 are the first row, 3, 4, 5 the second.
  // CHECK:      "fold.block_reduce"(%{{.*}}, %{{.*}}, %{{.*}}) ({
  // CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
  // CHECK:      }) {columns = 1 : i64, elements = 3 : i64}
  // CHECK-SAME: (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %sums = "fold.block_reduce"(%a, %b, %c) ({
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    "fold.yield"(%z) : (f32) -> ()
  }) {elements = 3, columns = 1} : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  return %sums : vector<4xf32>
}

// CHECK-LABEL: func.func @two_columns_of_two_values
func.func @two_columns_of_two_values(%a: tuple<vector<4xf32>, vector<4xi32>>) -> tuple<vector<2xf32>, vector<2xi32>> {
  // A block of two columns with two elements each: first the first elements of both, then the second ones.
  // CHECK: {columns = 2 : i64, elements = 2 : i64}
  %best = "fold.block_reduce"(%a) ({
  ^bb0(%v: f32, %i: i32, %w: f32, %j: i32):
    %c = builtin.unrealized_conversion_cast %v, %i : f32, i32 to tuple<f32, i32>
    "fold.yield"(%c) : (tuple<f32, i32>) -> ()
  }) {elements = 2, columns = 2} : (tuple<vector<4xf32>, vector<4xi32>>) -> tuple<vector<2xf32>, vector<2xi32>>
  return %best : tuple<vector<2xf32>, vector<2xi32>>
}
