// Words of truth values: a ballot where a lane has one of them, else a register that lanes join by or. A plan may ask
// for another way.

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

// Four ballots give the elements 0, 1, 2 and 3 of all lanes; the eight bits of the word's lanes are put four apart.
// CHECK-LABEL: func.func @of_ballots
// CHECK-SAME:    (%[[MASK:.*]]: vector<4xi1>)
func.func @of_ballots(%mask: vector<4xi1>) -> i32 {
  // CHECK-COUNT-4: nvvm.vote.sync ballot
  // CHECK:      %[[LANE:.*]] = gpu.lane_id
  // CHECK:      %[[FIRST:.*]] = arith.andi %{{.*}}, %c-8_i32 : i32
  // CHECK:      %[[VOTES:.*]] = arith.shrui %{{.*}}, %[[FIRST]] : i32
  // CHECK:      arith.andi %[[VOTES]], %c255_i32 : i32
  // CHECK:      arith.andi %{{.*}}, %c983055_i32 : i32
  // CHECK:      arith.andi %{{.*}}, %c50529027_i32 : i32
  // CHECK:      arith.andi %{{.*}}, %c286331153_i32 : i32
  // CHECK-NOT:  gpu.shuffle
  %word = "fold.ballot"(%mask) {word = "ballot"} : (vector<4xi1>) -> i32
  return %word : i32
}

// The eight lanes of a word take part in one redux, by a mask of them.
// CHECK-LABEL: func.func @of_redux
func.func @of_redux(%mask: vector<4xi1>) -> i32 {
  // CHECK:      %[[OWN:.*]] = arith.shli %{{.*}}, %{{.*}} : i32
  // CHECK:      %[[MEMBERS:.*]] = arith.shli %c255_i32, %{{.*}} : i32
  // CHECK:      %[[WORD:.*]] = nvvm.redux.sync or %[[OWN]], %[[MEMBERS]] : i32 -> i32
  // CHECK-NEXT: return %[[WORD]]
  %word = "fold.ballot"(%mask) {word = "redux"} : (vector<4xi1>) -> i32
  return %word : i32
}

// Single elements may be joined by shuffles as well: five of them.
// CHECK-LABEL: func.func @of_shuffles
func.func @of_shuffles(%mask: i1) -> i32 {
  // CHECK-COUNT-5: gpu.shuffle xor
  // CHECK-NOT:     gpu.shuffle
  // CHECK-NOT:     nvvm.vote
  %word = "fold.ballot"(%mask) {word = "shuffle"} : (i1) -> i32
  return %word : i32
}

// A lane keeps its byte.
// CHECK-LABEL: func.func @of_one_lane
func.func @of_one_lane(%mask: vector<8xi1>) -> i32 {
  // CHECK-NOT: gpu.
  // CHECK:     return %{{.*}} : i32
  %word = "fold.ballot"(%mask) {word = "byte"} : (vector<8xi1>) -> i32
  return %word : i32
}

// Bytes stay words: a multiplication puts the highest bits of four bytes side by side. The access has no bits where it
// does not exist.
// CHECK-LABEL: func.func @of_bytes
// CHECK-SAME:    (%[[BYTES:.*]]: vector<8xi8>, %[[THERE:.*]]: i1)
func.func @of_bytes(%bytes: vector<8xi8>, %there: i1) -> i32 {
  // CHECK:      vector.bitcast %[[BYTES]] : vector<8xi8> to vector<2xi32>
  // CHECK-NOT:  i1
  // CHECK:      arith.muli %{{.*}}, %c2113665_i32 : i32
  // CHECK:      arith.muli %{{.*}}, %c2113665_i32 : i32
  // CHECK:      %[[OWN:.*]] = arith.select %[[THERE]], %{{.*}}, %c0_i32 : i32
  // CHECK-NEXT: return %[[OWN]] : i32
  %zero = arith.constant dense<0> : vector<8xi8>
  %true = arith.cmpi ne, %bytes, %zero : vector<8xi8>
  %all = vector.broadcast %there : i1 to vector<8xi1>
  %mask = arith.andi %true, %all : vector<8xi1>
  %word = "fold.ballot"(%mask) {word = "byte"} : (vector<8xi1>) -> i32
  return %word : i32
}

// The ends of a row cut an access: a shift for each end gives the bits of the elements that lie in the row.
// CHECK-LABEL: func.func @of_cut_bytes
// CHECK-SAME:    (%{{.*}}: vector<8xi8>, %[[AT:.*]]: i32, %[[FIRST:.*]]: i32, %[[END:.*]]: i32)
func.func @of_cut_bytes(%bytes: vector<8xi8>, %at: i32, %first: i32, %end: i32) -> i32 {
  // CHECK-NOT:  vector<8xi1>
  // CHECK:      %[[AHEAD:.*]] = arith.subi %[[FIRST]], %[[AT]] : i32
  // CHECK:      %[[BEFORE:.*]] = arith.minsi %{{.*}}, %c8_i32 : i32
  // CHECK:      arith.shli %c-1_i32, %[[BEFORE]] : i32
  // CHECK:      %[[LEFT:.*]] = arith.subi %[[END]], %[[AT]] : i32
  // CHECK:      %[[COUNT:.*]] = arith.minsi %{{.*}}, %c8_i32 : i32
  // CHECK:      %[[BEHIND:.*]] = arith.shli %c-1_i32, %[[COUNT]] : i32
  // CHECK:      arith.xori %[[BEHIND]], %c-1_i32 : i32
  %zero = arith.constant dense<0> : vector<8xi8>
  %true = arith.cmpi ne, %bytes, %zero : vector<8xi8>
  %numbers = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi32>
  %from = vector.broadcast %at : i32 to vector<8xi32>
  %each = arith.addi %from, %numbers : vector<8xi32>
  %lowest = vector.broadcast %first : i32 to vector<8xi32>
  %limit = vector.broadcast %end : i32 to vector<8xi32>
  %below = arith.cmpi slt, %each, %limit : vector<8xi32>
  %above = arith.cmpi sge, %each, %lowest : vector<8xi32>
  %inside = arith.andi %above, %below : vector<8xi1>
  %mask = arith.andi %true, %inside : vector<8xi1>
  %word = "fold.ballot"(%mask) {word = "byte"} : (vector<8xi1>) -> i32
  return %word : i32
}

// A square of bits is turned in five steps: halves of words change places with the lane at the distance, which rotates
// them, then quarters, and so on.
// CHECK-LABEL: func.func @turned
// CHECK-SAME:    (%[[WORD:.*]]: i32)
func.func @turned(%word: i32) -> i32 {
  // CHECK-DAG:  %[[LOW:.*]] = arith.constant 65535 : i32
  // CHECK-DAG:  %[[HIGH:.*]] = arith.constant -65536 : i32
  // CHECK:      %[[KEPT:.*]] = arith.select %[[UPPER:.*]], %[[HIGH]], %[[LOW]] : i32
  // CHECK:      %[[OTHER:.*]], %{{.*}} = gpu.shuffle xor %[[WORD]], %c16_i32, %c32_i32 : i32
  // CHECK:      %[[MOVED:.*]] = llvm.intr.fshl(%[[OTHER]], %[[OTHER]], %{{.*}})
  // CHECK:      %[[REST:.*]] = arith.xori %[[KEPT]], %{{.*}} : i32
  // CHECK:      %[[TAKEN:.*]] = arith.andi %[[MOVED]], %[[REST]] : i32
  // CHECK:      %[[OWN:.*]] = arith.andi %[[WORD]], %[[KEPT]] : i32
  // CHECK:      %[[HALVES:.*]] = arith.ori %[[OWN]], %[[TAKEN]] : i32
  // CHECK:      gpu.shuffle xor %[[HALVES]], %c8_i32, %c32_i32 : i32
  // CHECK:      gpu.shuffle xor %{{.*}}, %c4_i32, %c32_i32 : i32
  // CHECK:      gpu.shuffle xor %{{.*}}, %c2_i32, %c32_i32 : i32
  // CHECK:      gpu.shuffle xor %{{.*}}, %c1_i32, %c32_i32 : i32
  // CHECK-NOT:  gpu.shuffle
  %turned = "fold.bit_transpose"(%word) : (i32) -> i32
  return %turned : i32
}

// Words of up to 16 elements: two lanes have them all, and one shuffle joins these.
// CHECK-LABEL: func.func @of_short_rows
func.func @of_short_rows(%mask: vector<8xi1>) -> i32 {
  // CHECK:         arith.andi %{{.*}}, %c1_i32 : i32
  // CHECK-COUNT-1: gpu.shuffle xor
  // CHECK-NOT:     gpu.shuffle
  %word = "fold.ballot"(%mask) {lanes = 2 : i64} : (vector<8xi1>) -> i32
  return %word : i32
}

// A row of one element is a word, and takes no ballot.
// CHECK-LABEL: func.func @of_one_element
func.func @of_one_element(%mask: i1) -> i32 {
  // CHECK-NOT: gpu.
  // CHECK-NOT: nvvm.
  // CHECK:     arith.extui %{{.*}} : i1 to i32
  %word = "fold.ballot"(%mask) {lanes = 1 : i64} : (i1) -> i32
  return %word : i32
}
