// Errors of fold.encode.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @of_f64(%x: f64) {
  // expected-error @below {{WF310: fold.encode expects values of f32, got f64}}
  %b = "fold.encode"(%x) {format = "f8e4m3fn"} : (f64) -> i8
  return
}

// -----

func.func @another_format(%x: f32) {
  // expected-error @below {{WF311: fold.encode expects the attribute format to be one of f8e4m3fn f8e5m2}}
  %b = "fold.encode"(%x) {format = "f4"} : (f32) -> i8
  return
}

// -----

func.func @bytes_of_another_shape(%x: vector<4xf32>) {
  // expected-error @below {{WF310: fold.encode expects a result of type vector<4xi8>, got vector<2xi8>}}
  %b = "fold.encode"(%x) {format = "f8e4m3fn"} : (vector<4xf32>) -> vector<2xi8>
  return
}
