// fold.grid_finish: the grid level. Several CTAs share a result, and there are three ways to combine their states.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @last_block
func.func @last_block(%part: i32, %parts: i32, %kept: i32, %n_kept: i32, %on: i1, %x: f32,
                      %partials: !llvm.ptr<1>, %counter: !llvm.ptr<1>, %out: !llvm.ptr<1>) {
  // The states go to the partials; a counter finds the last CTA, which runs the second region.
  // CHECK:      "fold.grid_finish"
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32):
  // CHECK:      }, {
  // CHECK-NEXT:   "fold.store"
  // CHECK-NEXT:   "fold.yield"() : () -> ()
  // CHECK-NEXT: }) {finish = "last_block"} : (i32, i32, i32, i32, i1, f32, !llvm.ptr<1>, !llvm.ptr<1>) -> ()
  "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %x, %partials, %counter) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }, {
    "fold.store"(%x, %out, %kept, %on) {kept_rank = 0, reduced_rank = 0, vector = false}
      : (f32, !llvm.ptr<1>, i32, i1) -> ()
    "fold.yield"() : () -> ()
  }) {finish = "last_block"} : (i32, i32, i32, i32, i1, f32, !llvm.ptr<1>, !llvm.ptr<1>) -> ()
  return
}

// CHECK-LABEL: func.func @two_kernels
func.func @two_kernels(%part: i64, %parts: i64, %kept: i64, %n_kept: i64, %on: i1, %x: tuple<f32, i64>,
                       %values: !llvm.ptr<1>, %indices: !llvm.ptr<1>) {
  // The states go to the partials, one array for each value, and a second kernel reduces those: no counter here.
  // CHECK: }) {finish = "two_kernels"} : (i64, i64, i64, i64, i1, tuple<f32, i64>, !llvm.ptr<1>, !llvm.ptr<1>) -> ()
  "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %x, %values, %indices) ({
  ^bb0(%v: f32, %i: i64, %w: f32, %j: i64):
    %c = builtin.unrealized_conversion_cast %v, %i : f32, i64 to tuple<f32, i64>
    "fold.yield"(%c) : (tuple<f32, i64>) -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "two_kernels"} : (i64, i64, i64, i64, i1, tuple<f32, i64>, !llvm.ptr<1>, !llvm.ptr<1>) -> ()
  return
}

// CHECK-LABEL: func.func @atomic
func.func @atomic(%part: i32, %parts: i32, %kept: i32, %n_kept: i32, %on: i1, %x: i32, %cells: !llvm.ptr<1>) {
  // The states are combined in place by an atomic instruction, in any order.
  // CHECK: }) {finish = "atomic"} : (i32, i32, i32, i32, i1, i32, !llvm.ptr<1>) -> ()
  "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %x, %cells) ({
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    "fold.yield"(%c) : (i32) -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "atomic"} : (i32, i32, i32, i32, i1, i32, !llvm.ptr<1>) -> ()
  return
}
