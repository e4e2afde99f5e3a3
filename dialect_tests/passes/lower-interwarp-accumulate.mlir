// The warp stage, second half: the lowering of fold.interwarp_accumulate. Each lane loads its share of the warps' states
// from shared memory, and a butterfly combines the lanes.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-interwarp-accumulate,canonicalize,cse)' | FileCheck %s

// Fewer rows than lanes, the common case of one result a CTA: every group of four lanes loads the four states (lane l
// row l modulo 4), and two steps combine them. All 32 lanes of all warps do so; none has to wait for another.
// CHECK-LABEL: func.func @four_rows_for_32_lanes
// CHECK-SAME:    (%[[LANE:.*]]: i32, %[[SLOT:.*]]: i32, %[[BUFFER:.*]]: !llvm.ptr<3>)
func.func @four_rows_for_32_lanes(%lane: i32, %slot: i32, %buffer: !llvm.ptr<3>) -> f32 {
  // CHECK:      %[[ROW:.*]] = arith.andi %[[LANE]], %c3_i32 : i32
  // CHECK-NEXT: %[[AT:.*]] = arith.addi %[[ROW]], %[[SLOT]] : i32
  // CHECK-NEXT: %[[WHERE:.*]] = llvm.getelementptr %[[BUFFER]][%[[AT]]] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  // CHECK-NEXT: %[[X:.*]] = llvm.load %[[WHERE]] {alignment = 4 : i64} : !llvm.ptr<3> -> f32
  // CHECK-NEXT: gpu.shuffle xor %[[X]], %c1_i32, %c32_i32 : f32
  // CHECK-NEXT: %[[TWO:.*]] = arith.addf
  // CHECK-NEXT: gpu.shuffle xor %[[TWO]], %c2_i32, %c32_i32 : f32
  // CHECK-NEXT: %[[FOUR:.*]] = arith.addf
  // CHECK-NEXT: return %[[FOUR]]
  %r = "fold.interwarp_accumulate"(%lane, %slot, %buffer) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {rows = 4, slots = 1, lanes = 32, stride = 1, ordered = false} : (i32, i32, !llvm.ptr<3>) -> f32
  return %r : f32
}

// More rows than lanes: 16 columns a warp leave two lanes a column, 16 apart. Each takes four of the eight rows, combines
// them as a tree, and one step joins the two halves.
// CHECK-LABEL: func.func @eight_rows_for_two_lanes
// CHECK-SAME:    (%[[LANE:.*]]: i32, %{{.*}}: i32, %{{.*}}: !llvm.ptr<3>)
func.func @eight_rows_for_two_lanes(%lane: i32, %slot: i32, %buffer: !llvm.ptr<3>) -> f32 {
  // Lane 0 has rows 0 to 3, lane 1 has 4 to 7. A row is 16 slots long.
  // CHECK:         %[[OWN:.*]] = arith.andi %[[LANE]], %c1_i32 : i32
  // CHECK-NEXT:    arith.muli %[[OWN]], %c4_i32 : i32
  // CHECK-NEXT:    arith.muli %[[OWN]], %c64_i32 : i32
  // A row is read when the tree gets to it, so that few are held at a time.
  // CHECK-COUNT-2: llvm.load
  // CHECK:         arith.addf
  // CHECK-COUNT-2: llvm.load
  // CHECK-COUNT-2: arith.addf
  // CHECK:         gpu.shuffle xor %{{.*}}, %c16_i32, %c32_i32 : f32
  // CHECK-NEXT:    arith.addf
  // CHECK-NEXT:    return
  %r = "fold.interwarp_accumulate"(%lane, %slot, %buffer) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {rows = 8, slots = 16, lanes = 2, stride = 16, ordered = false} : (i32, i32, !llvm.ptr<3>) -> f32
  return %r : f32
}

// One lane a column takes all rows, and needs no shuffle. Four columns a thread are one 16-byte load.
// CHECK-LABEL: func.func @all_rows_for_one_lane
func.func @all_rows_for_one_lane(%lane: i32, %slot: i32, %buffer: !llvm.ptr<3>) -> vector<4xf32> {
  // CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
  // CHECK-NOT:     gpu.shuffle
  // CHECK:         return
  %r = "fold.interwarp_accumulate"(%lane, %slot, %buffer) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {rows = 4, slots = 128, lanes = 1, stride = 32, ordered = false} : (i32, i32, !llvm.ptr<3>) -> vector<4xf32>
  return %r : vector<4xf32>
}

// In order: as in the lane stage, the lane whose bit is set keeps its own state on the right.
// CHECK-LABEL: func.func @ordered
func.func @ordered(%lane: i32, %slot: i32, %buffer: !llvm.ptr<3>) -> i32 {
  // CHECK:      %[[X:.*]] = llvm.load
  // CHECK:      %[[OTHER:.*]], %{{.*}} = gpu.shuffle xor %[[X]], %c1_i32, %c32_i32 : i32
  // CHECK:      %[[UPPER:.*]] = arith.cmpi ne
  // CHECK-NEXT: arith.select %[[UPPER]], %[[OTHER]], %[[X]] : i32
  // CHECK-NEXT: arith.select %[[UPPER]], %[[X]], %[[OTHER]] : i32
  %r = "fold.interwarp_accumulate"(%lane, %slot, %buffer) ({
  ^bb0(%a: i32, %b: i32):
    %twice = arith.addi %a, %a : i32
    %c = arith.addi %twice, %b : i32
    "fold.yield"(%c) : (i32) -> ()
  }) {rows = 2, slots = 2, lanes = 16, stride = 1, ordered = true} : (i32, i32, !llvm.ptr<3>) -> i32
  return %r : i32
}

// Rows in registers, in order, and states that lie side by side: each lane reads all of them, and combines neighbours first, as a butterfly.
// CHECK-LABEL: func.func @side_by_side
func.func @side_by_side(%lane: i32, %slot: i32, %buffer: !llvm.ptr<3>) -> f32 attributes {unbranched} {
  // CHECK:         %[[ALL:.*]] = llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xf32>
  // CHECK-NEXT:    %[[EVEN:.*]] = vector.shuffle %[[ALL]], %{{.*}} [0, 2, 4, 6]
  // CHECK-NEXT:    %[[ODD:.*]] = vector.shuffle %[[ALL]], %{{.*}} [1, 3, 5, 7]
  // CHECK-NEXT:    arith.addf %[[EVEN]], %[[ODD]] : vector<4xf32>
  // CHECK-NOT:     gpu.shuffle
  // CHECK:         return
  %r = "fold.interwarp_accumulate"(%lane, %slot, %buffer) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {rows = 8, slots = 1, lanes = 32, stride = 1, ordered = true} : (i32, i32, !llvm.ptr<3>) -> f32
  return %r : f32
}

// Sixteen states are more than two accesses.
// CHECK-LABEL: func.func @many_side_by_side
func.func @many_side_by_side(%lane: i32, %slot: i32, %buffer: !llvm.ptr<3>) -> f32 attributes {unbranched} {
  // CHECK:         llvm.load {{.*}} -> f32
  // CHECK-COUNT-4: gpu.shuffle
  %r = "fold.interwarp_accumulate"(%lane, %slot, %buffer) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {rows = 16, slots = 1, lanes = 32, stride = 1, ordered = true} : (i32, i32, !llvm.ptr<3>) -> f32
  return %r : f32
}

// Truth values are bytes in memory.
// CHECK-LABEL: func.func @predicate
func.func @predicate(%lane: i32, %slot: i32, %buffer: !llvm.ptr<3>) -> i1 {
  // CHECK:      %[[BYTE:.*]] = llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr<3> -> i8
  // CHECK-NEXT: arith.cmpi ne, %[[BYTE]], %c0_i8 : i8
  %r = "fold.interwarp_accumulate"(%lane, %slot, %buffer) ({
  ^bb0(%a: i1, %b: i1):
    %c = arith.ori %a, %b : i1
    "fold.yield"(%c) : (i1) -> ()
  }) {rows = 2, slots = 1, lanes = 32, stride = 1, ordered = false} : (i32, i32, !llvm.ptr<3>) -> i1
  return %r : i1
}

// A value of which ``lower-shared-store`` said that it is a constant of the kernel is not read.
// CHECK-LABEL: func.func @constants
func.func @constants(%lane: i32, %slot: i32, %counts: !llvm.ptr<3>, %sums: !llvm.ptr<3>) -> tuple<f32, f32> {
  // CHECK-COUNT-1: llvm.load {{.*}} -> f32
  // CHECK-NEXT:    gpu.shuffle
  // CHECK-NEXT:    %[[SUM:.*]] = arith.addf
  // CHECK-NEXT:    builtin.unrealized_conversion_cast %cst, %[[SUM]]
  %r = "fold.interwarp_accumulate"(%lane, %slot, %counts, %sums) ({
  ^bb0(%na: f32, %a: f32, %nb: f32, %b: f32):
    %n = arith.addf %na, %nb : f32
    %c = arith.addf %a, %b : f32
    %both = builtin.unrealized_conversion_cast %n, %c : f32, f32 to tuple<f32, f32>
    "fold.yield"(%both) : (tuple<f32, f32>) -> ()
  }) {rows = 2, slots = 1, lanes = 32, stride = 1, ordered = false, constants = {"0" = 4.0 : f64}}
    : (i32, i32, !llvm.ptr<3>, !llvm.ptr<3>) -> tuple<f32, f32>
  return %r : tuple<f32, f32>
}

// Rows that are no power of two: each lane takes all of them, in halves.
// CHECK-LABEL: func.func @three_rows_for_each_lane
func.func @three_rows_for_each_lane(%lane: i32, %slot: i32, %buffer: !llvm.ptr<3>) -> f32 {
  // CHECK-COUNT-3: llvm.load
  // CHECK-COUNT-2: arith.addf
  // CHECK-NOT:     gpu.shuffle
  // CHECK:         return
  %r = "fold.interwarp_accumulate"(%lane, %slot, %buffer) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {rows = 3, slots = 1, lanes = 1, stride = 1, ordered = false} : (i32, i32, !llvm.ptr<3>) -> f32
  return %r : f32
}
