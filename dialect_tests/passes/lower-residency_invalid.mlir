// Errors of lower-residency: dynamic shared memory is declared beside the kernel, in its gpu.module.

// RUN: warpfold-opt %s --verify-diagnostics --pass-pipeline='builtin.module(lower-residency)'

// expected-error @unknown {{WF324: fold.hold expects a gpu.module around it, got none}}
func.func @outside(%x: !llvm.ptr<1>, %row: i32, %begin: i32, %first: i32, %end: i32, %t: i32, %n: i32, %one: i32)
    -> !llvm.ptr<3> {
  %slots = "fold.hold"(%x, %row, %begin, %first, %end, %t, %n, %one)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, slots = 2, threads = 32,
     vector = 4, item = 4, whole = false} : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return %slots : !llvm.ptr<3>
}
