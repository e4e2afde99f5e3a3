// The end of a walk by periods: the lowering of fold.period_reduce. A store of all states, rounds of a loop and a barrier,
// whose number depends on the rows at run time, and a load by the thread of each column.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-period-reduce,canonicalize,cse)' | FileCheck %s

gpu.module @device {
  // A buffer beside the kernel for each value of the state: 256 threads times four states. A second op of the kernel uses
  // the same buffers.
  // CHECK-DAG: llvm.mlir.global internal @rows_0() {addr_space = 3 : i32, {{.*}}} : !llvm.array<1024 x f32>
  // CHECK-DAG: llvm.mlir.global internal @rows_1() {{.*}} : !llvm.array<64 x f64>
  // CHECK-DAG: llvm.mlir.global internal @rows_2() {{.*}} : !llvm.array<64 x i64>
  // CHECK-NOT: @rows_3

  // CHECK-LABEL: gpu.func @sum
  // CHECK-SAME:    (%[[THREAD:.*]]: i32, %[[ON:.*]]: i1, %[[MINE:.*]]: vector<4xf32>, %[[ROWS:.*]]: i32, %[[COLUMNS:.*]]: i32, %[[LEAD:.*]]: i32, %{{.*}}: !llvm.ptr<1>)
  gpu.func @sum(%thread: i32, %on: i1, %mine: vector<4xf32>, %rows: i32, %columns: i32, %lead: i32, %out: !llvm.ptr<1>)
      kernel {
    // Threads beyond the end of the period have nothing to leave.
    // CHECK:      scf.if %[[ON]] {
    // CHECK:        %[[OWN:.*]] = arith.muli %[[THREAD]], %c4_i32 : i32
    // CHECK:        llvm.store %[[MINE]], %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
    // CHECK:      gpu.barrier
    // Rounds while there are two rows or more: an eighth of the rows is left, rounded up.
    // CHECK:      scf.while (%[[N:.*]] = %[[ROWS]])
    // CHECK-NEXT:   arith.cmpi sgt, %[[N]], %c1_i32 : i32
    // CHECK:        %[[UP:.*]] = arith.addi %[[M:.*]], %c7_i32 : i32
    // CHECK-NEXT:   %[[FEW:.*]] = arith.shrui %[[UP]], %c3_i32 : i32
    // CHECK-NEXT:   %[[LEFT:.*]] = arith.muli %[[FEW]], %[[COLUMNS]] : i32
    // CHECK-NEXT:   %[[PLACES:.*]] = arith.muli %[[M]], %[[COLUMNS]] : i32
    // Neighbouring threads take neighbouring states, each with the states of the same column in later rows.
    // CHECK-NEXT:   scf.for %[[PLACE:.*]] = %[[THREAD]] to %[[LEFT]] step %c256_i32
    // All seven are read at once; one beyond the last row reads the thread's own state, and does not count.
    // CHECK:          %[[STATE:.*]] = llvm.load
    // CHECK-NEXT:     %[[SECOND:.*]] = arith.addi %[[PLACE]], %[[LEFT]] : i32
    // CHECK-NEXT:     %[[THERE:.*]] = arith.cmpi slt, %[[SECOND]], %[[PLACES]] : i32
    // CHECK-NEXT:     arith.select %[[THERE]], %[[SECOND]], %[[PLACE]] : i32
    // CHECK:          %[[OTHER:.*]] = llvm.load
    // CHECK:          %[[BOTH:.*]] = arith.addf %[[STATE]], %[[OTHER]] : f32
    // CHECK-NEXT:     %[[TWO:.*]] = arith.select %[[THERE]], %[[BOTH]], %[[STATE]] : f32
    // CHECK-NEXT:     arith.addf %[[TWO]], %{{.*}} : f32
    // CHECK:          llvm.store
    // The barrier is outside the loop: all threads reach it.
    // CHECK:        gpu.barrier
    // CHECK-NEXT:   scf.yield %[[FEW]]
    // The first column lies `lead` states after the begin of the row, and the last columns before it.
    // CHECK:      %[[ZEROTH:.*]] = arith.remui %[[LEAD]], %[[COLUMNS]] : i32
    // CHECK:      %[[FAR:.*]] = arith.addi %[[ZEROTH]], %{{.*}} : i32
    // CHECK-NEXT: %[[BEYOND:.*]] = arith.cmpi sgt, %[[FAR]], %{{.*}} : i32
    // CHECK-NEXT: %[[ROUND:.*]] = arith.subi %[[FAR]], %[[COLUMNS]] : i32
    // CHECK-NEXT: arith.select %[[BEYOND]], %[[ROUND]], %[[FAR]] : i32
    // CHECK:      llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
    %once = "fold.period_reduce"(%thread, %on, %mine, %rows, %columns, %lead) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "fold.yield"(%c) : (f32) -> ()
    }) {threads = 256} : (i32, i1, vector<4xf32>, i32, i32, i32) -> f32
    llvm.store %once, %out : f32, !llvm.ptr<1>
    // CHECK:      gpu.barrier
    // CHECK:      scf.if %[[ON]] {
    // CHECK:      gpu.barrier
    // CHECK:      scf.while
    gpu.barrier
    %twice = "fold.period_reduce"(%thread, %on, %mine, %rows, %columns, %lead) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "fold.yield"(%c) : (f32) -> ()
    }) {threads = 256} : (i32, i1, vector<4xf32>, i32, i32, i32) -> f32
    llvm.store %twice, %out : f32, !llvm.ptr<1>
    gpu.return
  }

  // A state of two values takes two buffers; a thread with accesses of one element has one state.
  // CHECK-LABEL: gpu.func @value_and_index
  gpu.func @value_and_index(%thread: i64, %on: i1, %x: f64, %i: i64, %n: i64, %out: !llvm.ptr<1>) kernel {
    // CHECK-DAG:  %[[VALUES:.*]] = llvm.mlir.addressof @rows_1
    // CHECK-DAG:  %[[NUMBERS:.*]] = llvm.mlir.addressof @rows_2
    // CHECK:      scf.if
    // CHECK-DAG:    llvm.getelementptr %[[VALUES]][%{{.*}}]
    // CHECK-DAG:    llvm.getelementptr %[[NUMBERS]][%{{.*}}]
    // CHECK:      gpu.barrier
    %mine = builtin.unrealized_conversion_cast %x, %i : f64, i64 to tuple<f64, i64>
    %found = "fold.period_reduce"(%thread, %on, %mine, %n, %n, %n) ({
    ^bb0(%v: f64, %k: i64, %w: f64, %j: i64):
      %less = arith.cmpi slt, %k, %j : i64
      %value = arith.select %less, %v, %w : f64
      %index = arith.select %less, %k, %j : i64
      %c = builtin.unrealized_conversion_cast %value, %index : f64, i64 to tuple<f64, i64>
      "fold.yield"(%c) : (tuple<f64, i64>) -> ()
    }) {threads = 64} : (i64, i1, tuple<f64, i64>, i64, i64, i64) -> tuple<f64, i64>
    %value, %index = builtin.unrealized_conversion_cast %found : tuple<f64, i64> to f64, i64
    llvm.store %value, %out : f64, !llvm.ptr<1>
    gpu.return
  }
}
