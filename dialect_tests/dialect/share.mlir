// fold.share: gives a number of the first thread of a CTA to all of its threads.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @words
func.func @words(%number: i32) -> i32 {
  // CHECK: "fold.share"(%{{.*}}) : (i32) -> i32
  %shared = "fold.share"(%number) : (i32) -> i32
  return %shared : i32
}

// CHECK-LABEL: func.func @wide
func.func @wide(%number: i64) -> i64 {
  // CHECK: "fold.share"(%{{.*}}) : (i64) -> i64
  %shared = "fold.share"(%number) : (i64) -> i64
  return %shared : i64
}
