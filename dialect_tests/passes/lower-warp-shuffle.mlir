// The lane stage: the lowering of fold.warp_reduce. The portable way is a butterfly: log2(lanes) steps, in each of which
// every lane exchanges states with the lane whose number differs in one bit. Predicates and 32-bit integers have hardware
// short cuts.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-warp-shuffle,canonicalize,cse)' | FileCheck %s

// Five steps for 32 lanes; after step i all lanes of a group of 2^i have the same sum. Distances grow, so that each step
// joins neighbouring groups:
//
//   distance 1    0+1  0+1  2+3  2+3  4+5  4+5  ...
//   distance 2    0..3 0..3 0..3 0..3 4..7 4..7 ...
//
// CHECK-LABEL: func.func @butterfly
// CHECK-SAME:    (%[[X:.*]]: f32)
func.func @butterfly(%x: f32) -> f32 {
  // CHECK:      %[[S1:.*]], %{{.*}} = gpu.shuffle xor %[[X]], %c1_i32, %c32_i32 : f32
  // CHECK-NEXT: %[[R1:.*]] = arith.addf %[[X]], %[[S1]] : f32
  // CHECK-NEXT: %[[S2:.*]], %{{.*}} = gpu.shuffle xor %[[R1]], %c2_i32, %c32_i32 : f32
  // CHECK-NEXT: %[[R2:.*]] = arith.addf %[[R1]], %[[S2]] : f32
  // CHECK-NEXT: %[[S4:.*]], %{{.*}} = gpu.shuffle xor %[[R2]], %c4_i32, %c32_i32 : f32
  // CHECK-NEXT: %[[R4:.*]] = arith.addf %[[R2]], %[[S4]] : f32
  // CHECK-NEXT: %[[S8:.*]], %{{.*}} = gpu.shuffle xor %[[R4]], %c8_i32, %c32_i32 : f32
  // CHECK-NEXT: %[[R8:.*]] = arith.addf %[[R4]], %[[S8]] : f32
  // CHECK-NEXT: %[[S16:.*]], %{{.*}} = gpu.shuffle xor %[[R8]], %c16_i32, %c32_i32 : f32
  // CHECK-NEXT: %[[R16:.*]] = arith.addf %[[R8]], %[[S16]] : f32
  // All lanes hold the result: no broadcast follows.
  // CHECK-NEXT: return %[[R16]]
  %r = "fold.warp_reduce"(%x) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {lanes = 32, stride = 1, ordered = false} : (f32) -> f32
  return %r : f32
}

// Four lanes that lie 8 apart (a warp with 8 columns and 4 rows): two steps, of distance 8 and 16.
// CHECK-LABEL: func.func @part_of_a_warp
func.func @part_of_a_warp(%x: f64) -> f64 {
  // CHECK:      gpu.shuffle xor %{{.*}}, %c8_i32, %c32_i32 : f64
  // CHECK-NEXT: arith.mulf
  // CHECK-NEXT: gpu.shuffle xor %{{.*}}, %c16_i32, %c32_i32 : f64
  // CHECK-NEXT: arith.mulf
  // CHECK-NOT:  gpu.shuffle
  // CHECK:      return
  %r = "fold.warp_reduce"(%x) ({
  ^bb0(%a: f64, %b: f64):
    %c = arith.mulf %a, %b : f64
    "fold.yield"(%c) : (f64) -> ()
  }) {lanes = 4, stride = 8, ordered = false} : (f64) -> f64
  return %r : f64
}

// shfl moves 32 bits: 64-bit values are left to gpu.shuffle, which makes two of it; 16-bit ones travel in an i32.
// CHECK-LABEL: func.func @wide_integers
func.func @wide_integers(%x: i64) -> i64 {
  // CHECK: gpu.shuffle xor %{{.*}}, %c1_i32, %c32_i32 : i64
  %r = "fold.warp_reduce"(%x) ({
  ^bb0(%a: i64, %b: i64):
    %c = arith.addi %a, %b : i64
    "fold.yield"(%c) : (i64) -> ()
  }) {lanes = 2, stride = 1, ordered = false} : (i64) -> i64
  return %r : i64
}

// CHECK-LABEL: func.func @halves
// CHECK-SAME:    (%[[X:.*]]: f16)
func.func @halves(%x: f16) -> f16 {
  // CHECK:      %[[BITS:.*]] = arith.bitcast %[[X]] : f16 to i16
  // CHECK-NEXT: %[[WORD:.*]] = arith.extui %[[BITS]] : i16 to i32
  // CHECK-NEXT: %[[MOVED:.*]], %{{.*}} = gpu.shuffle xor %[[WORD]], %c1_i32, %c32_i32 : i32
  // CHECK-NEXT: %[[LOW:.*]] = arith.trunci %[[MOVED]] : i32 to i16
  // CHECK-NEXT: %[[OTHER:.*]] = arith.bitcast %[[LOW]] : i16 to f16
  // CHECK-NEXT: arith.maximumf %[[X]], %[[OTHER]] : f16
  %r = "fold.warp_reduce"(%x) ({
  ^bb0(%a: f16, %b: f16):
    %c = arith.maximumf %a, %b : f16
    "fold.yield"(%c) : (f16) -> ()
  }) {lanes = 2, stride = 1, ordered = false} : (f16) -> f16
  return %r : f16
}

// A fragment of two results: each is exchanged by itself, and one vector combine computes the two.
// CHECK-LABEL: func.func @two_columns
func.func @two_columns(%x: vector<2xf32>) -> vector<2xf32> {
  // CHECK:         gpu.shuffle xor %{{.*}}, %c16_i32, %c32_i32 : f32
  // CHECK:         gpu.shuffle xor %{{.*}}, %c16_i32, %c32_i32 : f32
  // CHECK:         arith.addf %{{.*}}, %{{.*}} : vector<2xf32>
  // CHECK-NOT:     gpu.shuffle
  // CHECK:         return
  %r = "fold.warp_reduce"(%x) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {lanes = 2, stride = 16, ordered = false} : (vector<2xf32>) -> vector<2xf32>
  return %r : vector<2xf32>
}

// Not commutative: x + y of "after" must not become y + x. The lane whose bit is set is the upper one of the pair and
// puts its own state on the right, the other lane on the left: the two compute the same value.
// CHECK-LABEL: func.func @ordered
func.func @ordered(%x: i32) -> i32 {
  // CHECK:      %[[OTHER:.*]], %{{.*}} = gpu.shuffle xor %[[X:.*]], %c16_i32, %c32_i32 : i32
  // CHECK:      %[[BIT:.*]] = arith.andi %{{.*}}, %c16_i32 : i32
  // CHECK-NEXT: %[[UPPER:.*]] = arith.cmpi ne, %[[BIT]], %c0_i32 : i32
  // CHECK-NEXT: %[[LEFT:.*]] = arith.select %[[UPPER]], %[[OTHER]], %[[X]] : i32
  // CHECK-NEXT: %[[RIGHT:.*]] = arith.select %[[UPPER]], %[[X]], %[[OTHER]] : i32
  // CHECK-NEXT: %[[TWICE:.*]] = arith.addi %[[LEFT]], %[[LEFT]] : i32
  // CHECK-NEXT: arith.addi %[[TWICE]], %[[RIGHT]] : i32
  %r = "fold.warp_reduce"(%x) ({
  ^bb0(%a: i32, %b: i32):
    %twice = arith.addi %a, %a : i32
    %c = arith.addi %twice, %b : i32
    "fold.yield"(%c) : (i32) -> ()
  }) {lanes = 2, stride = 16, ordered = true} : (i32) -> i32
  return %r : i32
}

// A state of two values: each is exchanged, then they are combined together.
// CHECK-LABEL: func.func @value_and_index
// CHECK-SAME:    (%[[STATE:.*]]: tuple<f32, i64>)
func.func @value_and_index(%x: tuple<f32, i64>) -> tuple<f32, i64> {
  // CHECK:      %[[PARTS:.*]]:2 = builtin.unrealized_conversion_cast %[[STATE]] : tuple<f32, i64> to f32, i64
  // CHECK-NEXT: gpu.shuffle xor %[[PARTS]]#0, %c1_i32, %c32_i32 : f32
  // CHECK-NEXT: gpu.shuffle xor %[[PARTS]]#1, %c1_i32, %c32_i32 : i64
  // CHECK-NEXT: arith.cmpf
  // CHECK-NEXT: arith.select
  // CHECK-NEXT: arith.select
  %r = "fold.warp_reduce"(%x) ({
  ^bb0(%v: f32, %i: i64, %w: f32, %j: i64):
    %better = arith.cmpf oge, %v, %w : f32
    %value = arith.select %better, %v, %w : f32
    %index = arith.select %better, %i, %j : i64
    %c = builtin.unrealized_conversion_cast %value, %index : f32, i64 to tuple<f32, i64>
    "fold.yield"(%c) : (tuple<f32, i64>) -> ()
  }) {lanes = 2, stride = 1, ordered = false} : (tuple<f32, i64>) -> tuple<f32, i64>
  return %r : tuple<f32, i64>
}

// Truth values: one instruction collects the votes of the whole warp in a word; no further exchange is needed.
// CHECK-LABEL: func.func @any_of_the_warp
// CHECK-SAME:    (%[[X:.*]]: i1)
func.func @any_of_the_warp(%x: i1) -> i1 {
  // CHECK:      %[[VOTES:.*]] = nvvm.vote.sync ballot %c-1_i32, %[[X]] -> i32
  // CHECK-NEXT: arith.cmpi ne, %[[VOTES]], %c0_i32 : i32
  // CHECK-NOT:  gpu.shuffle
  // CHECK:      return
  %r = "fold.warp_reduce"(%x) ({
  ^bb0(%a: i1, %b: i1):
    %c = arith.ori %a, %b : i1
    "fold.yield"(%c) : (i1) -> ()
  }) {lanes = 32, stride = 1, ordered = false} : (i1) -> i1
  return %r : i1
}

// CHECK-LABEL: func.func @all_of_the_warp
func.func @all_of_the_warp(%x: i1) -> i1 {
  // CHECK:      %[[VOTES:.*]] = nvvm.vote.sync ballot %c-1_i32, %{{.*}} -> i32
  // CHECK-NEXT: arith.cmpi eq, %[[VOTES]], %c-1_i32 : i32
  %r = "fold.warp_reduce"(%x) ({
  ^bb0(%a: i1, %b: i1):
    %c = arith.andi %a, %b : i1
    "fold.yield"(%c) : (i1) -> ()
  }) {lanes = 32, stride = 1, ordered = false} : (i1) -> i1
  return %r : i1
}

// A group of four neighbours looks at its own four votes: 0b1111, moved to where the group begins, which is the lane's
// number without its two lowest bits.
// CHECK-LABEL: func.func @any_of_four
func.func @any_of_four(%x: i1) -> i1 {
  // CHECK:      %[[VOTES:.*]] = nvvm.vote.sync ballot %c-1_i32
  // CHECK:      %[[WITHIN:.*]] = arith.andi %[[LANE:.*]], %c3_i32 : i32
  // CHECK-NEXT: %[[BEGIN:.*]] = arith.subi %[[LANE]], %[[WITHIN]] : i32
  // CHECK-NEXT: %[[GROUP:.*]] = arith.shli %c15_i32, %[[BEGIN]] : i32
  // CHECK-NEXT: %[[OWN:.*]] = arith.andi %[[VOTES]], %[[GROUP]] : i32
  // CHECK-NEXT: arith.cmpi ne, %[[OWN]], %c0_i32 : i32
  %r = "fold.warp_reduce"(%x) ({
  ^bb0(%a: i1, %b: i1):
    %c = arith.ori %a, %b : i1
    "fold.yield"(%c) : (i1) -> ()
  }) {lanes = 4, stride = 1, ordered = false} : (i1) -> i1
  return %r : i1
}

// Four lanes 8 apart vote in bits 0, 8, 16 and 24 (0x01010101 is 16843009): all of a group's votes are its mask.
// CHECK-LABEL: func.func @all_of_four_columns
func.func @all_of_four_columns(%x: i1) -> i1 {
  // CHECK:      %[[VOTES:.*]] = nvvm.vote.sync ballot %c-1_i32
  // CHECK:      arith.andi %{{.*}}, %c24_i32 : i32
  // CHECK:      %[[GROUP:.*]] = arith.shli %c16843009_i32, %{{.*}} : i32
  // CHECK-NEXT: %[[OWN:.*]] = arith.andi %[[VOTES]], %[[GROUP]] : i32
  // CHECK-NEXT: arith.cmpi eq, %[[OWN]], %[[GROUP]] : i32
  %r = "fold.warp_reduce"(%x) ({
  ^bb0(%a: i1, %b: i1):
    %c = arith.andi %a, %b : i1
    "fold.yield"(%c) : (i1) -> ()
  }) {lanes = 4, stride = 8, ordered = false} : (i1) -> i1
  return %r : i1
}

// 32-bit integers of a whole warp: one redux.sync, from sm_80 on.
// CHECK-LABEL: gpu.module @has_redux
gpu.module @has_redux attributes {fold.target = "sm_80"} {
  // CHECK: func.func @sum
  func.func @sum(%x: i32) -> i32 {
    // CHECK-NEXT: %[[ALL:.*]] = arith.constant -1 : i32
    // CHECK-NEXT: %[[R:.*]] = nvvm.redux.sync add %{{.*}}, %[[ALL]] : i32 -> i32
    // CHECK-NEXT: return %[[R]]
    %r = "fold.warp_reduce"(%x) ({
    ^bb0(%a: i32, %b: i32):
      %c = arith.addi %a, %b : i32
      "fold.yield"(%c) : (i32) -> ()
    }) {lanes = 32, stride = 1, ordered = false} : (i32) -> i32
    return %r : i32
  }

  // Signed and unsigned order differ: arith.maxui is umax.
  // CHECK: func.func @unsigned_max
  func.func @unsigned_max(%x: i32) -> i32 {
    // CHECK: nvvm.redux.sync umax
    %r = "fold.warp_reduce"(%x) ({
    ^bb0(%a: i32, %b: i32):
      %c = arith.maxui %a, %b : i32
      "fold.yield"(%c) : (i32) -> ()
    }) {lanes = 32, stride = 1, ordered = false} : (i32) -> i32
    return %r : i32
  }

  // The instruction works on a whole warp; fewer lanes take the butterfly.
  // CHECK: func.func @half_a_warp
  func.func @half_a_warp(%x: i32) -> i32 {
    // CHECK-NOT:     nvvm.redux
    // CHECK-COUNT-4: gpu.shuffle xor
    // CHECK-NOT:     gpu.shuffle
    %r = "fold.warp_reduce"(%x) ({
    ^bb0(%a: i32, %b: i32):
      %c = arith.addi %a, %b : i32
      "fold.yield"(%c) : (i32) -> ()
    }) {lanes = 16, stride = 1, ordered = false} : (i32) -> i32
    return %r : i32
  }

  // CHECK: func.func @no_instruction_multiplies
  func.func @no_instruction_multiplies(%x: i32) -> i32 {
    // CHECK-NOT:     nvvm.redux
    // CHECK-COUNT-5: gpu.shuffle xor
    %r = "fold.warp_reduce"(%x) ({
    ^bb0(%a: i32, %b: i32):
      %c = arith.muli %a, %b : i32
      "fold.yield"(%c) : (i32) -> ()
    }) {lanes = 32, stride = 1, ordered = false} : (i32) -> i32
    return %r : i32
  }
}

// CHECK-LABEL: gpu.module @no_redux
gpu.module @no_redux attributes {fold.target = "sm_75"} {
  func.func @sum(%x: i32) -> i32 {
    // CHECK-NOT:     nvvm.redux
    // CHECK-COUNT-5: gpu.shuffle xor
    %r = "fold.warp_reduce"(%x) ({
    ^bb0(%a: i32, %b: i32):
      %c = arith.addi %a, %b : i32
      "fold.yield"(%c) : (i32) -> ()
    }) {lanes = 32, stride = 1, ordered = false} : (i32) -> i32
    return %r : i32
  }
}

// A state with a sum relative to an anchor, as in log-sum-exp: lanes first agree on the anchor. Each moves its sum to it
// once, and then sums are only added. Pair by pair each step would take two exponentials.
// CHECK-LABEL: func.func @anchored
// CHECK-SAME:    (%[[M:.*]]: f32, %[[S:.*]]: f32)
func.func @anchored(%m: f32, %s: f32) -> (f32, f32) {
  // CHECK:      %[[M1:.*]], %{{.*}} = gpu.shuffle xor %[[M]], %c1_i32, %c32_i32 : f32
  // CHECK-NEXT: %[[K1:.*]] = arith.maximumf %[[M]], %[[M1]] : f32
  // CHECK-NEXT: %[[M2:.*]], %{{.*}} = gpu.shuffle xor %[[K1]], %c2_i32, %c32_i32 : f32
  // CHECK-NEXT: %[[K:.*]] = arith.maximumf %[[K1]], %[[M2]] : f32
  // CHECK-NEXT: %[[FAR:.*]] = arith.subf %[[M]], %[[K]] : f32
  // CHECK-NEXT: %[[E:.*]] = math.exp2 %[[FAR]] : f32
  // CHECK-NEXT: %[[OWN:.*]] = arith.mulf %[[S]], %[[E]] : f32
  // CHECK-NEXT: %[[S1:.*]], %{{.*}} = gpu.shuffle xor %[[OWN]], %c1_i32, %c32_i32 : f32
  // CHECK-NEXT: %[[T1:.*]] = arith.addf %[[OWN]], %[[S1]] : f32
  // CHECK-NEXT: %[[S2:.*]], %{{.*}} = gpu.shuffle xor %[[T1]], %c2_i32, %c32_i32 : f32
  // CHECK-NEXT: %[[T:.*]] = arith.addf %[[T1]], %[[S2]] : f32
  // CHECK-NEXT: return %[[K]], %[[T]]
  %mine = builtin.unrealized_conversion_cast %m, %s : f32, f32 to tuple<f32, f32>
  %all = "fold.warp_reduce"(%mine) ({
  ^bb0(%ma: f32, %sa: f32, %mb: f32, %sb: f32):
    %k = arith.maximumf %ma, %mb : f32
    %da = arith.subf %ma, %k : f32
    %ea = math.exp2 %da : f32
    %ta = arith.mulf %sa, %ea : f32
    %db = arith.subf %mb, %k : f32
    %eb = math.exp2 %db : f32
    %tb = arith.mulf %sb, %eb : f32
    %t = arith.addf %ta, %tb : f32
    %both = builtin.unrealized_conversion_cast %k, %t : f32, f32 to tuple<f32, f32>
    "fold.yield"(%both) : (tuple<f32, f32>) -> ()
  }) {lanes = 4, stride = 1, ordered = false} : (tuple<f32, f32>) -> tuple<f32, f32>
  %a, %b = builtin.unrealized_conversion_cast %all : tuple<f32, f32> to f32, f32
  return %a, %b : f32, f32
}

// A state with a count that is the same in all lanes, since it is a sum of constants: only the means are exchanged, and
// what they are weighted with is known.
// CHECK-LABEL: func.func @counted
// CHECK-SAME:    (%[[M:.*]]: f32)
func.func @counted(%m: f32) -> (f32, f32) {
  // CHECK-DAG:  %[[HALF:.*]] = arith.constant 5.000000e-01 : f32
  // CHECK-DAG:  %[[EIGHT:.*]] = arith.constant 8.000000e+00 : f32
  // CHECK:      %[[O:.*]], %{{.*}} = gpu.shuffle xor %[[M]], %c1_i32, %c32_i32 : f32
  // CHECK-NEXT: %[[FAR:.*]] = arith.subf %[[O]], %[[M]] : f32
  // CHECK-NEXT: %[[PART:.*]] = arith.mulf %[[FAR]], %[[HALF]] : f32
  // CHECK-NEXT: %[[MEAN:.*]] = arith.addf %[[M]], %[[PART]] : f32
  // CHECK-NEXT: return %[[EIGHT]], %[[MEAN]]
  %one = arith.constant 1.0 : f32
  %three = arith.constant 3.0 : f32
  %n = arith.addf %one, %three : f32
  %mine = builtin.unrealized_conversion_cast %n, %m : f32, f32 to tuple<f32, f32>
  %all = "fold.warp_reduce"(%mine) ({
  ^bb0(%na: f32, %ma: f32, %nb: f32, %mb: f32):
    %k = arith.addf %na, %nb : f32
    %w = arith.divf %nb, %k : f32
    %d = arith.subf %mb, %ma : f32
    %p = arith.mulf %d, %w : f32
    %c = arith.addf %ma, %p : f32
    %both = builtin.unrealized_conversion_cast %k, %c : f32, f32 to tuple<f32, f32>
    "fold.yield"(%both) : (tuple<f32, f32>) -> ()
  }) {lanes = 2, stride = 1, ordered = false} : (tuple<f32, f32>) -> tuple<f32, f32>
  %a, %b = builtin.unrealized_conversion_cast %all : tuple<f32, f32> to f32, f32
  return %a, %b : f32, f32
}
