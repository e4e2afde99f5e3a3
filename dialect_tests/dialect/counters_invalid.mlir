// Errors of fold.counters.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @of_a_half() {
  // expected-error @below {{WF310: fold.counters expects counters of 32 or 64 bits, got 16}}
  %buffer = "fold.counters"() {count = 256, copies = 16, bits = 16} : () -> !llvm.ptr<3>
  return
}

// -----

func.func @in_memory() {
  // expected-error @below {{WF310: fold.counters expects a result of type !llvm.ptr<3>, got !llvm.ptr<1>}}
  %buffer = "fold.counters"() {count = 256, copies = 16, bits = 32} : () -> !llvm.ptr<1>
  return
}
