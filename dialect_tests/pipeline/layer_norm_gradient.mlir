// The whole way of the gradient of a layer norm: that of the rows, and beside it those of the weight and the bias, which
// are side folds, over the rows. layer_norm.mlir shows how a row is folded. This file adds persistent CTAs.
//
//   g = dy * w
//   phase 1    mean(x), mean(g)
//   phase 2    var = mean((x - mean)^2), mean(g * (x - mean))
//   results    h = (x - mean) * rsqrt(var + eps), dx = rsqrt(var + eps) * (g - mean(g) - h * mean(g * h))
//   sides      dw = sum over the rows of dy * h, db = sum over the rows of dy
//
// The plan: `persistent = 4` CTAs of an SM stay and take one row after another. A thread owns one access of 4 columns, in
// each row the same ones.

// RUN: warpfold-opt %s | FileCheck %s --check-prefix=PROGRAM
// RUN: warpfold-opt %s --pass-pipeline='%{through:distribute},canonicalize,cse' | FileCheck %s --check-prefix=DISTRIBUTE
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-residency},canonicalize,cse' | FileCheck %s --check-prefix=RESIDENCY
// RUN: warpfold-opt %s --pass-pipeline='%{ptx}' | %{lines} > %t.ptx
// RUN: FileCheck %s --check-prefix=ATOMICS < %t.ptx
// RUN: FileCheck %s --check-prefix=CLEAN < %t.ptx

// 0. The tensor program. The side fold reduces the kept dim, number 0: its results have the dims of a row.
//
// PROGRAM:      func.func @layer_norm_gradient
// PROGRAM:        "fold.reduce"
// PROGRAM:        {commutative = true, dims = array<i64: 1>}
// PROGRAM:        "fold.reduce"
// PROGRAM:        {commutative = true, dims = array<i64: 1>}
// PROGRAM:        %[[BOTH:.*]] = builtin.unrealized_conversion_cast %{{.*}}, %arg0 : tensor<?x?xf32>, tensor<?x?xf32>
// PROGRAM-NEXT:   %{{.*}} = "fold.reduce"(%[[BOTH]]) ({
// PROGRAM:        {commutative = true, dims = array<i64: 0>} : (tuple<tensor<?x?xf32>, tensor<?x?xf32>>) -> tuple<tensor<?xf32>, tensor<?xf32>>
func.func @layer_norm_gradient(%dy: tensor<?x?xf32>, %x: tensor<?x?xf32>, %w: tensor<?x?xf32>)
    -> (tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>) attributes {
    fold.target = "sm_90a",
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 4, unroll = 1, lanes = 32, warps = 2, warps_kept = 1,
                 tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0, finish = "cta",
                 tree = "tree-v7", resident = "registers", held = 1, persistent = 4},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["aligned", "aligned", "aligned"],
                  stores = ["aligned", "side", "side"], store_vector = false, ragged = false, full = true,
                  waiting = [0, 1]}} {
  %g = arith.mulf %dy, %w : tensor<?x?xf32>
  %xg = builtin.unrealized_conversion_cast %x, %g : tensor<?x?xf32>, tensor<?x?xf32> to tuple<tensor<?x?xf32>, tensor<?x?xf32>>
  %totals = "fold.reduce"(%xg) ({
    %zero = arith.constant 0.0 : f32
    %identity = builtin.unrealized_conversion_cast %zero, %zero : f32, f32 to tuple<f32, f32>
    "fold.yield"(%identity) : (tuple<f32, f32>) -> ()
  }, {
  ^bb0(%p0: f32, %p1: f32, %q0: f32, %q1: f32):
    %c0 = arith.addf %p0, %q0 : f32
    %c1 = arith.addf %p1, %q1 : f32
    %c = builtin.unrealized_conversion_cast %c0, %c1 : f32, f32 to tuple<f32, f32>
    "fold.yield"(%c) : (tuple<f32, f32>) -> ()
  }) {dims = array<i64: 1>, commutative = true} : (tuple<tensor<?x?xf32>, tensor<?x?xf32>>) -> tuple<tensor<?xf32>, tensor<?xf32>>
  %sx, %sg = builtin.unrealized_conversion_cast %totals : tuple<tensor<?xf32>, tensor<?xf32>> to tensor<?xf32>, tensor<?xf32>
  %count = "fold.count"() : () -> i64
  %n = arith.sitofp %count : i64 to f32
  %ns = "fold.broadcast"(%n) {dims = array<i64: 0>} : (f32) -> tensor<?xf32>
  %mean = arith.divf %sx, %ns : tensor<?xf32>
  %means = "fold.broadcast"(%mean) {dims = array<i64: 1>} : (tensor<?xf32>) -> tensor<?x?xf32>
  %d = arith.subf %x, %means : tensor<?x?xf32>
  %squares = arith.mulf %d, %d : tensor<?x?xf32>
  %gd = arith.mulf %g, %d : tensor<?x?xf32>
  %both = builtin.unrealized_conversion_cast %squares, %gd : tensor<?x?xf32>, tensor<?x?xf32> to tuple<tensor<?x?xf32>, tensor<?x?xf32>>
  %sums = "fold.reduce"(%both) ({
    %zero = arith.constant 0.0 : f32
    %identity = builtin.unrealized_conversion_cast %zero, %zero : f32, f32 to tuple<f32, f32>
    "fold.yield"(%identity) : (tuple<f32, f32>) -> ()
  }, {
  ^bb0(%p0: f32, %p1: f32, %q0: f32, %q1: f32):
    %c0 = arith.addf %p0, %q0 : f32
    %c1 = arith.addf %p1, %q1 : f32
    %c = builtin.unrealized_conversion_cast %c0, %c1 : f32, f32 to tuple<f32, f32>
    "fold.yield"(%c) : (tuple<f32, f32>) -> ()
  }) {dims = array<i64: 1>, commutative = true} : (tuple<tensor<?x?xf32>, tensor<?x?xf32>>) -> tuple<tensor<?xf32>, tensor<?xf32>>
  %ss, %sgd = builtin.unrealized_conversion_cast %sums : tuple<tensor<?xf32>, tensor<?xf32>> to tensor<?xf32>, tensor<?xf32>
  %var = arith.divf %ss, %ns : tensor<?xf32>
  %eps = arith.constant 9.99999974E-6 : f32
  %epss = "fold.broadcast"(%eps) {dims = array<i64: 0>} : (f32) -> tensor<?xf32>
  %safe = arith.addf %var, %epss : tensor<?xf32>
  %r = math.rsqrt %safe : tensor<?xf32>
  %rs = "fold.broadcast"(%r) {dims = array<i64: 1>} : (tensor<?xf32>) -> tensor<?x?xf32>
  %h = arith.mulf %d, %rs : tensor<?x?xf32>
  %mg = arith.divf %sg, %ns : tensor<?xf32>
  %mgs = "fold.broadcast"(%mg) {dims = array<i64: 1>} : (tensor<?xf32>) -> tensor<?x?xf32>
  %mgd = arith.divf %sgd, %ns : tensor<?xf32>
  %mgh = arith.mulf %mgd, %r : tensor<?xf32>
  %mghs = "fold.broadcast"(%mgh) {dims = array<i64: 1>} : (tensor<?xf32>) -> tensor<?x?xf32>
  %back = arith.mulf %h, %mghs : tensor<?x?xf32>
  %centred = arith.subf %g, %mgs : tensor<?x?xf32>
  %inner = arith.subf %centred, %back : tensor<?x?xf32>
  %dx = arith.mulf %inner, %rs : tensor<?x?xf32>
  %dyh = arith.mulf %dy, %h : tensor<?x?xf32>
  %elements = builtin.unrealized_conversion_cast %dyh, %dy : tensor<?x?xf32>, tensor<?x?xf32> to tuple<tensor<?x?xf32>, tensor<?x?xf32>>
  %weights = "fold.reduce"(%elements) ({
    %zero = arith.constant 0.0 : f32
    %identity = builtin.unrealized_conversion_cast %zero, %zero : f32, f32 to tuple<f32, f32>
    "fold.yield"(%identity) : (tuple<f32, f32>) -> ()
  }, {
  ^bb0(%p0: f32, %p1: f32, %q0: f32, %q1: f32):
    %c0 = arith.addf %p0, %q0 : f32
    %c1 = arith.addf %p1, %q1 : f32
    %c = builtin.unrealized_conversion_cast %c0, %c1 : f32, f32 to tuple<f32, f32>
    "fold.yield"(%c) : (tuple<f32, f32>) -> ()
  }) {dims = array<i64: 0>, commutative = true} : (tuple<tensor<?x?xf32>, tensor<?x?xf32>>) -> tuple<tensor<?xf32>, tensor<?xf32>>
  %dw, %db = builtin.unrealized_conversion_cast %weights : tuple<tensor<?xf32>, tensor<?xf32>> to tensor<?xf32>, tensor<?xf32>
  return %dx, %dw, %db : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>
}

// 1. distribute: CTAs take tickets. The first ones are parts of the rows, as many as there are CTAs; then come slices of
// the columns, as many again. Each CTA takes one ticket more, which ends it.
//
// DISTRIBUTE:       gpu.func @layer_norm_gradient
// DISTRIBUTE-SAME:    nvvm.minctasm = 4 : i32
// DISTRIBUTE:         %[[PARTS:.*]] = arith.index_cast %grid_dim_x : index to i32
// DISTRIBUTE:         %[[LAST:.*]] = arith.muli %[[PARTS]], %c3_i32 : i32
// DISTRIBUTE-NEXT:    %[[FIRST:.*]] = "fold.ticket"(%{{.*}}, %[[LAST]])
// DISTRIBUTE:         scf.while
// DISTRIBUTE:         %[[IS_PART:.*]] = arith.cmpi slt, %[[TICKET:.*]], %[[PARTS]] : i32
// DISTRIBUTE-NEXT:    scf.if %[[IS_PART]] -> (i32) {
//
// A part: the first row is copied into shared memory. Then, in each turn of the loop, a thread reads its elements there,
// and has those of the next row copied while it folds and writes this one. The states of its columns go from turn to
// turn in registers.
// DISTRIBUTE:           %[[DYS:.*]] = "fold.hold"({{.*}}start = 0 : i64
// DISTRIBUTE-NEXT:      %[[XS:.*]] = "fold.hold"({{.*}}start = 1024 : i64
// DISTRIBUTE-NEXT:      %[[STATES:.*]]:2 = scf.for {{.*}} step %[[PARTS]] iter_args(%[[DW:.*]] = %{{.*}}, %[[DB:.*]] = %{{.*}}) -> (vector<4xf32>, vector<4xf32>)
// DISTRIBUTE:             %[[DY:.*]] = "fold.held"(%[[DYS]]
// DISTRIBUTE-NEXT:        %[[X:.*]] = "fold.held"(%[[XS]]
// DISTRIBUTE:             "fold.hold"({{.*}}start = 0 : i64
// DISTRIBUTE-NEXT:        "fold.hold"({{.*}}start = 1024 : i64
// DISTRIBUTE:             "fold.block_reduce"
// DISTRIBUTE:             "fold.interwarp_accumulate"
// DISTRIBUTE:             "fold.block_reduce"
// DISTRIBUTE:             "fold.interwarp_accumulate"
// DISTRIBUTE:             %[[H:.*]] = arith.mulf %{{.*}}, %{{.*}} : vector<4xf32>
// DISTRIBUTE-NEXT:        %[[DYH:.*]] = arith.mulf %[[DY]], %[[H]] : vector<4xf32>
// DISTRIBUTE-NEXT:        %[[DW1:.*]] = arith.addf %[[DW]], %[[DYH]] : vector<4xf32>
// DISTRIBUTE-NEXT:        %[[DB1:.*]] = arith.addf %[[DB]], %[[DY]] : vector<4xf32>
// DISTRIBUTE:             "fold.element_store"
// DISTRIBUTE-NEXT:        scf.yield %[[DW1]], %[[DB1]]
//
// After its last row the CTA leaves its states, and counts as one that has arrived. The last one tells the others.
// DISTRIBUTE:           "fold.store"(%[[STATES]]#0
// DISTRIBUTE:           "fold.store"(%[[STATES]]#1
// DISTRIBUTE-NEXT:      %[[ALL:.*]] = "fold.arrive"(%{{.*}}, %c1_i32, %[[PARTS]])
// DISTRIBUTE-NEXT:      scf.if %[[ALL]] {
// DISTRIBUTE-NEXT:        "fold.signal"(%{{.*}}, %c1_i32, %[[PARTS]])
//
// A slice: when all parts are there, a CTA combines the states of its columns in the order of the parts. A thread reads
// those of two columns from 14 parts at once; lanes meet, and then warps.
// DISTRIBUTE:         } else {
// DISTRIBUTE:           "fold.await"(%{{.*}}, %c1_i32, %[[PARTS]])
// DISTRIBUTE:           scf.for {{.*}} step %[[PARTS]]
// DISTRIBUTE:               scf.for
// DISTRIBUTE-COUNT-28:        "fold.load"({{.*}}access = "coherent"{{.*}} -> vector<2xf32>
// DISTRIBUTE-NOT:             "fold.load"
// DISTRIBUTE:             "fold.warp_reduce"
// DISTRIBUTE:             "fold.shared_store"
// DISTRIBUTE:             "fold.interwarp_accumulate"
// DISTRIBUTE:             %[[SUMS:.*]]:2 = builtin.unrealized_conversion_cast %{{.*}} : tuple<f32, f32> to f32, f32
// DISTRIBUTE-NEXT:        "fold.store"(%[[SUMS]]#0
// DISTRIBUTE-NEXT:        "fold.store"(%[[SUMS]]#1
// DISTRIBUTE-NEXT:        gpu.barrier

// 2. lower-residency: the wait for the copies of a row stands where the row is read, in each turn.
//
// RESIDENCY:        nvvm.cp.async.shared.global
// RESIDENCY:        scf.for
// RESIDENCY:          nvvm.cp.async.wait.group 0
// RESIDENCY-NEXT:     llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// RESIDENCY:          nvvm.cp.async.shared.global
// RESIDENCY-NOT:      nvvm.cp.async.wait.group
// RESIDENCY:          scf.yield

// 3. PTX: tickets, the arrival of a part and its signal, and the wait for it. Results are stored, not added by atomics.
//
// ATOMICS:          atom.relaxed.gpu.global.inc.u32
// ATOMICS:          atom.acq_rel.gpu.global.inc.u32
// ATOMICS:          atom.release.gpu.global.inc.u32
// ATOMICS:          ld.acquire.gpu.global
// ATOMICS-NOT:      atom.{{.*}}add

// CLEAN-NOT:        .local
// CLEAN-NOT:        call
