// Bytes with their numbers below, in words of 32 bits of which the least is wanted: in a step of sixteen only the first
// of the greatest bytes can be that. Each byte gets its place in the step beside it, two are a word, and the word that the
// program would have made is made of the one that is left.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-thread-reduce,canonicalize,cse)' | FileCheck %s

// CHECK-LABEL: func.func @argmax
// CHECK-SAME:    (%[[BEGIN:.*]]: i32, %[[END:.*]]: i32, %[[X:.*]]: !llvm.ptr<1>, %[[BASE:.*]]: i32, %[[STRIDE:.*]]: i32)
func.func @argmax(%begin: i32, %end: i32, %x: !llvm.ptr<1>, %base: i32, %stride: i32) -> i32 {
  %least = arith.constant dense<2147483647> : vector<8xi32>
  // Where the numbers count down, so do the places: all bits of them are turned over.
  // CHECK:      scf.for %[[R:.*]] = %[[BEGIN]] to %[[END]] step %c512_i32 iter_args(%[[BEST:.*]] = %c2147483647_i32) -> (i32)
  // CHECK-COUNT-2: llvm.load %{{.*}} : !llvm.ptr<1> -> vector<8xi8>
  // CHECK:        %[[DOWN:.*]] = arith.shrsi %[[STRIDE]], %c31_i32 : i32
  // CHECK:        %[[LABELS:.*]] = arith.xori %[[DOWN]], %c-50462977_i32 : i32
  // CHECK-NEXT:   llvm.call_intrinsic "llvm.nvvm.prmt"(%{{.*}}, %[[LABELS]], %c5380_i32)
  // CHECK-NEXT:   llvm.call_intrinsic "llvm.nvvm.prmt"(%{{.*}}, %[[LABELS]], %c14118_i32)
  // Eight words of two: seven comparisons, and one more of what is left of both halves.
  // CHECK-COUNT-7: arith.maxsi %{{.*}} : vector<2xi16>
  // CHECK:        arith.maxsi %{{.*}} : i32
  // The place says how far the number is from the first one's: accesses lie 256 apart, their elements one.
  // CHECK:        %[[PLACE:.*]] = arith.subi %c255_i32, %{{.*}} : i32
  // CHECK-NEXT:   %[[ACCESS:.*]] = arith.shrui %[[PLACE]], %c3_i32 : i32
  // CHECK-NEXT:   %[[LANE:.*]] = arith.andi %[[PLACE]], %c7_i32 : i32
  // CHECK-NEXT:   %[[FAR:.*]] = arith.muli %[[ACCESS]], %c256_i32 : i32
  // CHECK-NEXT:   arith.addi %[[FAR]], %[[LANE]] : i32
  // One word a step is made as the program makes it.
  // CHECK:        arith.shli %{{.*}}, %c24_i32 : i32
  // CHECK:        %[[WORD:.*]] = arith.xori %{{.*}}, %c-16777216_i32 : i32
  // CHECK-NEXT:   %[[BETTER:.*]] = arith.minsi %[[BEST]], %[[WORD]] : i32
  // CHECK-NEXT:   scf.yield %[[BETTER]] : i32
  %state = "fold.thread_reduce"(%begin, %end, %least) ({
  ^bb0(%r: i32):
    %where = llvm.getelementptr %x[%r] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
    %bytes = llvm.load %where {alignment = 8} : !llvm.ptr<1> -> vector<8xi8>
    %wide = arith.extsi %bytes : vector<8xi8> to vector<8xi32>
    %by = arith.constant dense<24> : vector<8xi32>
    %rank = arith.shli %wide, %by : vector<8xi32>
    %far = arith.muli %r, %stride : i32
    %n0 = arith.addi %base, %far : i32
    %c1 = arith.constant 1 : i32
    %d1 = arith.muli %c1, %stride : i32
    %n1 = arith.addi %n0, %d1 : i32
    %c2 = arith.constant 2 : i32
    %d2 = arith.muli %c2, %stride : i32
    %n2 = arith.addi %n0, %d2 : i32
    %c3 = arith.constant 3 : i32
    %d3 = arith.muli %c3, %stride : i32
    %n3 = arith.addi %n0, %d3 : i32
    %c4 = arith.constant 4 : i32
    %d4 = arith.muli %c4, %stride : i32
    %n4 = arith.addi %n0, %d4 : i32
    %c5 = arith.constant 5 : i32
    %d5 = arith.muli %c5, %stride : i32
    %n5 = arith.addi %n0, %d5 : i32
    %c6 = arith.constant 6 : i32
    %d6 = arith.muli %c6, %stride : i32
    %n6 = arith.addi %n0, %d6 : i32
    %c7 = arith.constant 7 : i32
    %d7 = arith.muli %c7, %stride : i32
    %n7 = arith.addi %n0, %d7 : i32
    %numbers = vector.from_elements %n0, %n1, %n2, %n3, %n4, %n5, %n6, %n7 : vector<8xi32>
    %both = arith.ori %rank, %numbers : vector<8xi32>
    %turned = arith.constant dense<-16777216> : vector<8xi32>
    %word = arith.xori %both, %turned : vector<8xi32>
    "fold.yield"(%word) : (vector<8xi32>) -> ()
  }, {
  ^bb0(%a: i32, %b: i32):
    %c = arith.minsi %a, %b : i32
    "fold.yield"(%c) : (i32) -> ()
  }) {step = 256, unroll = 2, places = true} : (i32, i32, vector<8xi32>) -> i32
  return %state : i32
}
