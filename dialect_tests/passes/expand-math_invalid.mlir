// Errors of expand-math: exp and log on types other than f32 and f64. A program casts first, as warpfold's own do.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(expand-math)'

// expected-error @unknown {{WF321: expand-math has no rule for math.exp on f16}}
func.func @half(%x: f16) -> f16 {
  %y = math.exp %x : f16
  return %y : f16
}

// -----

// expected-error @unknown {{WF321: expand-math has no rule for math.log on bf16}}
func.func @brain(%x: vector<2xbf16>) -> vector<2xbf16> {
  %y = math.log %x : vector<2xbf16>
  return %y : vector<2xbf16>
}
