// fold.bin: the bin of each element, among bins whose edges vary along the kept dim.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @as_wide
func.func @as_wide(%x: tensor<?x?xf32>, %lower: tensor<?x?xf32>, %upper: tensor<?x?xf32>) -> tensor<?x?xi32> {
  // CHECK: "fold.bin"(%{{.*}}, %{{.*}}, %{{.*}}) {steps = 4 : i64, uniform = true}
  %i = "fold.bin"(%x, %lower, %upper) {uniform = true, steps = 4}
    : (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xi32>
  return %i : tensor<?x?xi32>
}
