// fold.gather: elements at indices along one more axis of an array, which is no dim of its tensor. A cross entropy reads
// the logit of each row's target so.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @one_of_each_row
func.func @one_of_each_row(%x: tensor<?xf32>, %target: tensor<?xi64>) -> tensor<?xf32> {
  // CHECK: "fold.gather"(%{{.*}}, %{{.*}}) : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  %logit = "fold.gather"(%x, %target) : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  return %logit : tensor<?xf32>
}

// CHECK-LABEL: func.func @several_of_each_row
func.func @several_of_each_row(%x: tensor<?xbf16>, %places: tensor<?x?xi64>) -> tensor<?x?xbf16> {
  // The indices vary along a dim that the array does not have.
  // CHECK: "fold.gather"(%{{.*}}, %{{.*}}) : (tensor<?xbf16>, tensor<?x?xi64>) -> tensor<?x?xbf16>
  %y = "fold.gather"(%x, %places) : (tensor<?xbf16>, tensor<?x?xi64>) -> tensor<?x?xbf16>
  return %y : tensor<?x?xbf16>
}
