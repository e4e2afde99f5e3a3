// Errors of lower-shared-store.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(lower-shared-store)'

// The buffers lie in the gpu.module, beside the kernel.
// expected-error @unknown {{WF324: fold.shared_store expects a gpu.module around it, got none}}
func.func @outside(%warp: i32, %slot: i32, %on: i1, %x: f32) {
  %b = "fold.shared_store"(%warp, %slot, %on, %x) {rows = 2, slots = 1} : (i32, i32, i1, f32) -> !llvm.ptr<3>
  return
}
