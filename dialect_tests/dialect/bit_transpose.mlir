// fold.bit_transpose: the square of bits that the words of a warp are, turned.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @turned
func.func @turned(%word: i32) -> i32 {
  // CHECK: "fold.bit_transpose"(%{{.*}}) : (i32) -> i32
  %turned = "fold.bit_transpose"(%word) : (i32) -> i32
  return %turned : i32
}
