// The first level of a scan: the lowering of fold.thread_scan. The elements of an access are combined from the left.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-thread-scan,canonicalize,cse)' | FileCheck %s

// An access that lies in the row as a whole begins with element 0: no element stands alone behind the first one.
// CHECK-LABEL: func.func @whole
// CHECK-SAME:    (%[[X:.*]]: vector<4xf32>)
func.func @whole(%x: vector<4xf32>) -> vector<4xf32> {
  // CHECK:      %[[ONE:.*]] = vector.extract %[[X]][0]
  // CHECK-NEXT: %[[E1:.*]] = vector.extract %[[X]][1]
  // CHECK-NEXT: %[[E2:.*]] = vector.extract %[[X]][2]
  // CHECK-NEXT: %[[E3:.*]] = vector.extract %[[X]][3]
  // CHECK-NEXT: %[[TWO:.*]] = arith.addf %[[ONE]], %[[E1]] : f32
  // CHECK-NEXT: %[[THREE:.*]] = arith.addf %[[TWO]], %[[E2]] : f32
  // CHECK-NEXT: %[[FOUR:.*]] = arith.addf %[[THREE]], %[[E3]] : f32
  // CHECK-NEXT: vector.from_elements %[[ONE]], %[[TWO]], %[[THREE]], %[[FOUR]] : vector<4xf32>
  %zero = arith.constant 0 : i32
  %r = "fold.thread_scan"(%zero, %x) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) : (i32, vector<4xf32>) -> vector<4xf32>
  return %r : vector<4xf32>
}

// Where the row may begin inside of the access, an element that it begins with takes the place of the combination.
// CHECK-LABEL: func.func @cut
// CHECK-SAME:    (%[[BEGINS:.*]]: i32, %{{.*}}: vector<2xf32>)
func.func @cut(%begins: i32, %x: vector<2xf32>) -> vector<2xf32> {
  // CHECK:      %[[FOLLOWS:.*]] = arith.cmpi slt, %[[BEGINS]], %c1_i32 : i32
  // CHECK-NEXT: %[[BOTH:.*]] = arith.addf %{{.*}}, %[[OWN:.*]] : f32
  // CHECK-NEXT: arith.select %[[FOLLOWS]], %[[BOTH]], %[[OWN]] : f32
  %r = "fold.thread_scan"(%begins, %x) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) : (i32, vector<2xf32>) -> vector<2xf32>
  return %r : vector<2xf32>
}
