// fold.scatter: elements that choose the results that they count in. Counts of integers, and histograms, are sums of them.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @counted
func.func @counted(%one: tensor<?x?xi32>, %index: tensor<?x?xi32>) -> tensor<?x?xi64> {
  // CHECK: "fold.scatter"(%{{.*}}, %{{.*}}) {counters = 256 : i64} : (tensor<?x?xi32>, tensor<?x?xi32>) -> tensor<?x?xi64>
  %own = "fold.scatter"(%one, %index) {counters = 256} : (tensor<?x?xi32>, tensor<?x?xi32>) -> tensor<?x?xi64>
  return %own : tensor<?x?xi64>
}

// Too many results for the shared memory of a CTA: it has no counters.
// CHECK-LABEL: func.func @weighted
func.func @weighted(%weight: tensor<?x?xi64>, %index: tensor<?x?xi32>) -> tensor<?x?xi64> {
  // CHECK: "fold.scatter"(%{{.*}}, %{{.*}}) {counters = 0 : i64} : (tensor<?x?xi64>, tensor<?x?xi32>) -> tensor<?x?xi64>
  %own = "fold.scatter"(%weight, %index) {counters = 0} : (tensor<?x?xi64>, tensor<?x?xi32>) -> tensor<?x?xi64>
  return %own : tensor<?x?xi64>
}
