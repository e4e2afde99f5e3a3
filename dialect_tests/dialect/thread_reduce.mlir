// fold.thread_reduce: the register level, a thread's own elements. The body reads and maps the elements at one reduced
// index (everything elementwise is fused here); the combine joins what the body yields.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @sum_of_squares
func.func @sum_of_squares(%x: !llvm.ptr<1>, %begin: i32, %end: i32, %one: i32) -> f32 {
  %zeros = arith.constant dense<0.0> : vector<4xf32>
  // CHECK:      "fold.thread_reduce"(%{{.*}}, %{{.*}}, %{{.*}}) ({
  // CHECK-NEXT: ^bb0(%[[R:.*]]: i32):
  // CHECK-NEXT:   %[[X:.*]] = "fold.load"(%{{.*}}, %[[R]], %[[R]], %{{.*}})
  // CHECK-NEXT:   %[[Y:.*]] = arith.mulf %[[X]], %[[X]] : vector<4xf32>
  // CHECK-NEXT:   "fold.yield"(%[[Y]]) : (vector<4xf32>) -> ()
  // The combine stays scalar, whatever the fragments are.
  // CHECK-NEXT: }, {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
  // CHECK:        "fold.yield"(%{{.*}}) : (f32) -> ()
  // Reduced indices begin, begin + 1024, ...; eight accesses at a time. The state is a vector inside, and its
  // elements are combined at the end, since the result is a scalar.
  // CHECK-NEXT: }) {step = 1024 : i64, unroll = 8 : i64} : (i32, i32, vector<4xf32>) -> f32
  %r = "fold.thread_reduce"(%begin, %end, %zeros) ({
  ^bb0(%i: i32):
    %v = "fold.load"(%x, %i, %i, %one) {kept_rank = 0, reduced_rank = 1, axis = "reduced", access = "aligned"}
      : (!llvm.ptr<1>, i32, i32, i32) -> vector<4xf32>
    %squares = arith.mulf %v, %v : vector<4xf32>
    "fold.yield"(%squares) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 1024, unroll = 8} : (i32, i32, vector<4xf32>) -> f32
  return %r : f32
}

// CHECK-LABEL: func.func @four_columns
func.func @four_columns(%begin: i64, %end: i64, %v: vector<4xf32>) -> vector<4xf32> {
  // Where the vector lies along the kept axis its elements are four results, and stay apart.
  // CHECK: {step = 1 : i64, unroll = 1 : i64} : (i64, i64, vector<4xf32>) -> vector<4xf32>
  %r = "fold.thread_reduce"(%begin, %end, %v) ({
  ^bb0(%i: i64):
    "fold.yield"(%v) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 1, unroll = 1} : (i64, i64, vector<4xf32>) -> vector<4xf32>
  return %r : vector<4xf32>
}

// CHECK-LABEL: func.func @value_and_index
func.func @value_and_index(%begin: i32, %end: i32, %s: tuple<vector<4xf32>, vector<4xi64>>) -> tuple<f32, i64> {
  // A state of two values: a tuple of vectors, and a tuple of scalars at the end.
  // CHECK: (i32, i32, tuple<vector<4xf32>, vector<4xi64>>) -> tuple<f32, i64>
  %r = "fold.thread_reduce"(%begin, %end, %s) ({
  ^bb0(%i: i32):
    "fold.yield"(%s) : (tuple<vector<4xf32>, vector<4xi64>>) -> ()
  }, {
  ^bb0(%v: f32, %i: i64, %w: f32, %j: i64):
    %c = builtin.unrealized_conversion_cast %v, %i : f32, i64 to tuple<f32, i64>
    "fold.yield"(%c) : (tuple<f32, i64>) -> ()
  }) {step = 128, unroll = 1} : (i32, i32, tuple<vector<4xf32>, vector<4xi64>>) -> tuple<f32, i64>
  return %r : tuple<f32, i64>
}

// CHECK-LABEL: func.func @by_periods
func.func @by_periods(%begin: i32, %end: i32, %v: vector<4xf32>, %period: i32) -> vector<4xf32> {
  // One more operand, the period: the distance of accesses, at which elements belong to the same column.
  // CHECK: {step = 1 : i64, unroll = 4 : i64} : (i32, i32, vector<4xf32>, i32) -> vector<4xf32>
  %r = "fold.thread_reduce"(%begin, %end, %v, %period) ({
  ^bb0(%i: i32):
    "fold.yield"(%v) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 1, unroll = 4} : (i32, i32, vector<4xf32>, i32) -> vector<4xf32>
  return %r : vector<4xf32>
}

// CHECK-LABEL: func.func @once
func.func @once(%begin: i32, %end: i32, %v: vector<4xf32>) -> f32 {
  // The end of a walk: its two accesses are made if begin < end, and there are no more.
  // CHECK: {once = true, step = 128 : i64, unroll = 2 : i64} : (i32, i32, vector<4xf32>) -> f32
  %r = "fold.thread_reduce"(%begin, %end, %v) ({
  ^bb0(%i: i32):
    "fold.yield"(%v) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 128, unroll = 2, once = true} : (i32, i32, vector<4xf32>) -> f32
  return %r : f32
}

// CHECK-LABEL: func.func @early
func.func @early(%begin: i32, %end: i32, %v: vector<4xf32>) -> f32 {
  // The accesses begin at the boundary before the row, whose ends may cut them.
  // CHECK: {early = true, step = 128 : i64, unroll = 2 : i64} : (i32, i32, vector<4xf32>) -> f32
  %r = "fold.thread_reduce"(%begin, %end, %v) ({
  ^bb0(%i: i32):
    "fold.yield"(%v) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 128, unroll = 2, early = true} : (i32, i32, vector<4xf32>) -> f32
  return %r : f32
}
