// Cache hints: the lowering of fold.cached, by the size of an access and by target.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-cache-hints)' | FileCheck %s

// Four words of 32 bits.
// CHECK-LABEL: func.func @sixteen_bytes
func.func @sixteen_bytes(%x: !llvm.ptr<1>, %i: i32) -> vector<8xbf16> {
  // CHECK:      %[[POLICY:.*]] = llvm.inline_asm "createpolicy.fractional.L2::evict_last.b64 $0, 1.0;", "=l" : () -> i64
  // CHECK:      %[[WORDS:.*]] = llvm.inline_asm has_side_effects "ld.global.nc.L2::cache_hint.v4.b32 {$0, $1, $2, $3}, [$4], $5;", "=r,=r,=r,=r,l,l" %{{.*}}, %[[POLICY]]
  // CHECK:      %[[EIGHT:.*]] = llvm.bitcast %{{.*}} : vector<4xi32> to vector<8xbf16>
  // CHECK-NEXT: return %[[EIGHT]]
  %h = "fold.cached"(%x) {policy = "evict_last"} : (!llvm.ptr<1>) -> !llvm.ptr<1>
  %p = llvm.getelementptr %h[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, bf16
  %v = llvm.load %p invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
  return %v : vector<8xbf16>
}

// One word of 64 bits.
// CHECK-LABEL: func.func @eight_bytes
func.func @eight_bytes(%x: !llvm.ptr<1>, %v: vector<2xf32>) {
  // CHECK: %[[WORD:.*]] = llvm.bitcast %{{.*}} : vector<2xf32> to i64
  // CHECK: llvm.inline_asm has_side_effects "st.global.L2::cache_hint.b64 [$0], $1, $2;", "l,l,l" %{{.*}}, %[[WORD]], %{{.*}}
  %h = "fold.cached"(%x) {policy = "evict_first"} : (!llvm.ptr<1>) -> !llvm.ptr<1>
  llvm.store %v, %h {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr<1>
  return
}

// Narrow accesses have no hint.
// CHECK-LABEL: func.func @two_bytes
func.func @two_bytes(%x: !llvm.ptr<1>) -> f16 {
  // CHECK-NOT: inline_asm
  // CHECK:     llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<1> -> f16
  %h = "fold.cached"(%x) {policy = "evict_first"} : (!llvm.ptr<1>) -> !llvm.ptr<1>
  %v = llvm.load %h {alignment = 2 : i64} : !llvm.ptr<1> -> f16
  return %v : f16
}

// Before PTX 7.4 there are none at all.
// CHECK-LABEL: func.func @old
func.func @old(%x: !llvm.ptr<1>) -> f32 attributes {fold.target = "sm_80"} {
  // CHECK-NOT: inline_asm
  // CHECK:     llvm.load
  %h = "fold.cached"(%x) {policy = "evict_first"} : (!llvm.ptr<1>) -> !llvm.ptr<1>
  %v = llvm.load %h {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  return %v : f32
}

// Loads of parts of a line, of which other CTAs load the rest, have the cache read all of it. There is no policy.
// CHECK-LABEL: func.func @whole_lines
func.func @whole_lines(%x: !llvm.ptr<1>, %v: f32) -> (vector<4xf32>, f16) {
  // CHECK:     llvm.inline_asm has_side_effects "ld.global.nc.L2::128B.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l"
  // CHECK:     llvm.inline_asm has_side_effects "ld.global.L2::128B.b16 $0, [$1];", "=h,l"
  // CHECK:     llvm.store
  // CHECK-NOT: createpolicy
  %h = "fold.cached"(%x) {policy = "whole_lines"} : (!llvm.ptr<1>) -> !llvm.ptr<1>
  %four = llvm.load %h invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  %one = llvm.load %h {alignment = 2 : i64} : !llvm.ptr<1> -> f16
  llvm.store %v, %h {alignment = 4 : i64} : f32, !llvm.ptr<1>
  return %four, %one : vector<4xf32>, f16
}

// So do copies to shared memory, with the count of bytes that are read where they have one.
// CHECK-LABEL: func.func @copies_of_whole_lines
func.func @copies_of_whole_lines(%x: !llvm.ptr<1>, %to: !llvm.ptr<3>, %bytes: i32) {
  // CHECK: llvm.inline_asm has_side_effects "cp.async.cg.shared.global.L2::128B [$0], [$1], 16;", "r,l"
  // CHECK: llvm.inline_asm has_side_effects "cp.async.ca.shared.global.L2::128B [$0], [$1], 8, $2;", "r,l,r"
  %h = "fold.cached"(%x) {policy = "whole_lines"} : (!llvm.ptr<1>) -> !llvm.ptr<1>
  nvvm.cp.async.shared.global %to, %h, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.shared.global %to, %h, 8, cache = ca, %bytes : !llvm.ptr<3>, !llvm.ptr<1>, i32
  return
}

// Copies of what is read once have a policy. One with a count of bytes has an address that ptxas cannot take apart.
// CHECK-LABEL: func.func @copies_with_a_policy
func.func @copies_with_a_policy(%x: !llvm.ptr<1>, %to: !llvm.ptr<3>, %bytes: i32) {
  // CHECK: %[[POLICY:.*]] = llvm.inline_asm "createpolicy.fractional.L2::evict_first.b64 $0, 1.0;"
  // CHECK: %[[ZERO:.*]] = llvm.inline_asm "{ mov.u32 $0, %nctaid.z; shr.b32 $0, $0, 16; }", "=r"
  // CHECK: %[[ADDRESS:.*]] = llvm.ptrtoint %arg1
  // CHECK: %[[TO:.*]] = llvm.xor %[[ADDRESS]], %[[ZERO]]
  // CHECK: llvm.inline_asm has_side_effects "cp.async.cg.shared.global.L2::cache_hint [$0], [$1], 16, $2, $3;", "r,l,r,l" %[[TO]], %{{.*}}, %{{.*}}, %[[POLICY]]
  // CHECK: llvm.inline_asm has_side_effects "cp.async.ca.shared.global.L2::cache_hint [$0], [$1], 4, $2;", "r,l,l"
  %h = "fold.cached"(%x) {policy = "evict_first"} : (!llvm.ptr<1>) -> !llvm.ptr<1>
  nvvm.cp.async.shared.global %to, %h, 16, cache = cg, %bytes : !llvm.ptr<3>, !llvm.ptr<1>, i32
  nvvm.cp.async.shared.global %to, %h, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
  return
}
