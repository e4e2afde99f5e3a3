// Errors of lower-philox: it lowers random bits of elements and fragments; those of tensors are not in a kernel yet.

// RUN: warpfold-opt %s --verify-diagnostics --pass-pipeline='builtin.module(lower-philox)'

// expected-error @unknown {{WF330: pass lower-philox left 1 fold.philox behind}}
func.func @of_a_tensor(%n: tensor<?xi64>, %seed: tensor<?xi64>, %offset: tensor<?xi64>) -> tensor<?xi32> {
  %w = "fold.philox"(%n, %seed, %offset) {rounds = 10} : (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> tensor<?xi32>
  return %w : tensor<?xi32>
}
