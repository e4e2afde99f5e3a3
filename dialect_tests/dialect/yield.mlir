// fold.yield: the end of every region of a fold op; its operand is the state of the region, if there is one.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @a_state
func.func @a_state(%x: f32) -> f32 {
  // One value: the state itself.
  // CHECK: "fold.yield"(%{{.*}}) : (f32) -> ()
  %r = "fold.warp_reduce"(%x) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.maximumf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {lanes = 32, stride = 1, ordered = false} : (f32) -> f32
  return %r : f32
}

// CHECK-LABEL: func.func @a_state_of_two_values
func.func @a_state_of_two_values(%x: tuple<f32, i32>) -> tuple<f32, i32> {
  // Several values travel as one tuple, packed by the cast just before.
  // CHECK:      %[[PAIR:.*]] = builtin.unrealized_conversion_cast %{{.*}}, %{{.*}} : f32, i32 to tuple<f32, i32>
  // CHECK-NEXT: "fold.yield"(%[[PAIR]]) : (tuple<f32, i32>) -> ()
  %r = "fold.warp_reduce"(%x) ({
  ^bb0(%v: f32, %i: i32, %w: f32, %j: i32):
    %better = arith.cmpf ogt, %v, %w : f32
    %value = arith.select %better, %v, %w : f32
    %index = arith.select %better, %i, %j : i32
    %state = builtin.unrealized_conversion_cast %value, %index : f32, i32 to tuple<f32, i32>
    "fold.yield"(%state) : (tuple<f32, i32>) -> ()
  }) {lanes = 32, stride = 1, ordered = true} : (tuple<f32, i32>) -> tuple<f32, i32>
  return %r : tuple<f32, i32>
}

// CHECK-LABEL: func.func @nothing
func.func @nothing(%part: i32, %kept: i32, %on: i1, %x: f32, %partials: !llvm.ptr<1>) {
  // The region of work for the last CTA returns nothing; here it does nothing either.
  // CHECK: "fold.yield"() : () -> ()
  "fold.grid_finish"(%part, %part, %kept, %kept, %on, %x, %partials) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "two_kernels"} : (i32, i32, i32, i32, i1, f32, !llvm.ptr<1>) -> ()
  return
}
