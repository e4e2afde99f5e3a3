// The whole way of a layer norm over the rows of a matrix, with weights and a bias along a row. softmax.mlir shows what
// a phase is. This file adds what a longer row brings: two warps, which meet in shared memory after each fold, and an
// access that may lie beyond the end of the row.
//
//   phase 1   mean = sum(x) / n
//   phase 2   var = sum((x - mean)^2) / n
//   results   (x - mean) * rsqrt(var + eps) * w + b
//
// The plan: a CTA of 2 warps owns a row. A thread owns 2 accesses of 4 floats, so the plan serves rows of 257 to 512
// elements. The first access of each thread always lies in the row. The second one may not: without the fact `full`, it
// is checked.

// RUN: warpfold-opt %s | FileCheck %s --check-prefix=PROGRAM
// RUN: warpfold-opt %s --pass-pipeline='%{through:distribute},canonicalize,cse' | FileCheck %s --check-prefix=DISTRIBUTE
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-global-access},canonicalize,cse' | FileCheck %s --check-prefix=ACCESS
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-warp-shuffle},canonicalize,cse' | FileCheck %s --check-prefix=WARP
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-shared-store},canonicalize,cse' | FileCheck %s --check-prefix=STORE
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-interwarp-accumulate},canonicalize,cse' | FileCheck %s --check-prefix=ACCUMULATE
// RUN: warpfold-opt %s --pass-pipeline='%{ptx}' | %{lines} > %t.ptx
// RUN: FileCheck %s --check-prefix=LOADS < %t.ptx
// RUN: FileCheck %s --check-prefix=MEETING < %t.ptx
// RUN: FileCheck %s --check-prefix=DIVISIONS < %t.ptx
// RUN: FileCheck %s --check-prefix=STORES < %t.ptx
// RUN: FileCheck %s --check-prefix=CLEAN < %t.ptx

// 0. The tensor program. `fold.broadcast` gives the mean the reduced dim back, and the differences are used twice. The
// weights are tensors of the rank of x, too: their stride along the rows, a kernel argument, is 0.
//
// PROGRAM:      func.func @layer_norm(%[[X:\w+]]: tensor<?x?xf32>, %[[W:\w+]]: tensor<?x?xf32>, %[[B:\w+]]: tensor<?x?xf32>) -> tensor<?x?xf32>
// PROGRAM:        %[[TOTAL:.*]] = "fold.reduce"(%[[X]]) ({
// PROGRAM:        %[[MEAN:.*]] = arith.divf %[[TOTAL]], %[[N:.*]] : tensor<?xf32>
// PROGRAM-NEXT:   %[[MEANS:.*]] = "fold.broadcast"(%[[MEAN]]) {dims = array<i64: 1>} : (tensor<?xf32>) -> tensor<?x?xf32>
// PROGRAM-NEXT:   %[[D:.*]] = arith.subf %[[X]], %[[MEANS]] : tensor<?x?xf32>
// PROGRAM-NEXT:   %[[SQUARES:.*]] = arith.mulf %[[D]], %[[D]] : tensor<?x?xf32>
// PROGRAM-NEXT:   %{{.*}} = "fold.reduce"(%[[SQUARES]]) ({
// PROGRAM:        %[[R:.*]] = math.rsqrt %{{.*}} : tensor<?xf32>
// PROGRAM-NEXT:   %[[RS:.*]] = "fold.broadcast"(%[[R]]) {dims = array<i64: 1>} : (tensor<?xf32>) -> tensor<?x?xf32>
// PROGRAM-NEXT:   %[[NORMAL:.*]] = arith.mulf %[[D]], %[[RS]] : tensor<?x?xf32>
// PROGRAM-NEXT:   %[[SCALED:.*]] = arith.mulf %[[NORMAL]], %[[W]] : tensor<?x?xf32>
// PROGRAM-NEXT:   %[[Y:.*]] = arith.addf %[[SCALED]], %[[B]] : tensor<?x?xf32>
// PROGRAM-NEXT:   return %[[Y]] : tensor<?x?xf32>
func.func @layer_norm(%x: tensor<?x?xf32>, %w: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {
    fold.target = "sm_90a",
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 4, unroll = 1, lanes = 32, warps = 2, warps_kept = 1,
                 tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0, finish = "cta",
                 tree = "tree-v7", resident = "registers", held = 2},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["aligned", "aligned", "aligned"],
                  stores = ["aligned"], store_vector = false, ragged = false, full = false}} {
  %total = "fold.reduce"(%x) ({
    %zero = arith.constant 0.0 : f32
    "fold.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%p: f32, %q: f32):
    %c = arith.addf %p, %q : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {dims = array<i64: 1>, commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  %count = "fold.count"() : () -> i64
  %n = arith.sitofp %count : i64 to f32
  %ns = "fold.broadcast"(%n) {dims = array<i64: 0>} : (f32) -> tensor<?xf32>
  %mean = arith.divf %total, %ns : tensor<?xf32>
  %means = "fold.broadcast"(%mean) {dims = array<i64: 1>} : (tensor<?xf32>) -> tensor<?x?xf32>
  %d = arith.subf %x, %means : tensor<?x?xf32>
  %squares = arith.mulf %d, %d : tensor<?x?xf32>
  %sum = "fold.reduce"(%squares) ({
    %zero = arith.constant 0.0 : f32
    "fold.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%p: f32, %q: f32):
    %c = arith.addf %p, %q : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {dims = array<i64: 1>, commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  %var = arith.divf %sum, %ns : tensor<?xf32>
  %eps = arith.constant 9.99999974E-6 : f32
  %epss = "fold.broadcast"(%eps) {dims = array<i64: 0>} : (f32) -> tensor<?xf32>
  %safe = arith.addf %var, %epss : tensor<?xf32>
  %r = math.rsqrt %safe : tensor<?xf32>
  %rs = "fold.broadcast"(%r) {dims = array<i64: 1>} : (tensor<?xf32>) -> tensor<?x?xf32>
  %normal = arith.mulf %d, %rs : tensor<?x?xf32>
  %scaled = arith.mulf %normal, %w : tensor<?x?xf32>
  %y = arith.addf %scaled, %b : tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// 1. distribute: `fold.load` reads the access that always lies in the row. `fold.element_load` reads the other one, and
// in place of an access beyond the end whatever of the row it likes. So each fold puts its own identity there.
//
// DISTRIBUTE:       gpu.func @layer_norm(%[[X:\w+]]: !llvm.ptr<1>, %[[W:\w+]]: !llvm.ptr<1>, %[[B:\w+]]: !llvm.ptr<1>, %[[Y:\w+]]: !llvm.ptr<1>, %[[ROWS:\w+]]: i32, %[[COLUMNS:\w+]]: i32,
// DISTRIBUTE-SAME:    known_block_size = array<i32: 64, 1, 1>
// DISTRIBUTE:         %[[AT1:.*]] = arith.addi %[[AT0:.*]], %c256_i32 : i32
// DISTRIBUTE-NEXT:    %[[X0:.*]] = "fold.load"(%[[X]], %[[ROW:.*]], %[[AT0]], {{.*}} -> vector<4xf32>
// DISTRIBUTE-NEXT:    %[[X1:.*]] = "fold.element_load"(%[[X]], %[[ROW]], %[[AT1]], %c0_i32, %[[COLUMNS]], {{.*}} -> vector<4xf32>
// DISTRIBUTE-NEXT:    %[[IN:.*]] = arith.cmpi slt, %[[AT1]], %[[COLUMNS]] : i32
// DISTRIBUTE-NEXT:    %[[OR0:.*]] = arith.select %[[IN]], %[[X1]], %cst{{.*}} : vector<4xf32>
//
// Phase 1: the sum. Its state goes from the threads to the warps, and from these to the CTA. After the last stage
// every thread has the same bits, so every thread makes the mean itself.
// DISTRIBUTE-NEXT:    %[[MINE:.*]] = "fold.block_reduce"(%[[X0]], %[[OR0]]) ({
// DISTRIBUTE:         %[[OURS:.*]] = "fold.warp_reduce"(%[[MINE]]) ({
// DISTRIBUTE:         %[[BUFFER:.*]] = "fold.shared_store"({{.*}}, %[[OURS]]) {rows = 2 : i64, slots = 1 : i64}
// DISTRIBUTE-NEXT:    %[[TOTAL:.*]] = "fold.interwarp_accumulate"({{.*}}, %[[BUFFER]]) ({
// DISTRIBUTE:         %[[MEAN:.*]] = arith.divf %[[TOTAL]], %[[N:.*]] : f32
//
// Phase 2: the sum of squares. The differences wait in registers: the results use them again.
// DISTRIBUTE-NEXT:    %[[MEANS:.*]] = vector.broadcast %[[MEAN]] : f32 to vector<4xf32>
// DISTRIBUTE-NEXT:    %[[D0:.*]] = arith.subf %[[X0]], %[[MEANS]] : vector<4xf32>
// DISTRIBUTE-NEXT:    %[[Q0:.*]] = arith.mulf %[[D0]], %[[D0]] : vector<4xf32>
// DISTRIBUTE-NEXT:    %[[D1:.*]] = arith.subf %[[X1]], %[[MEANS]] : vector<4xf32>
// DISTRIBUTE-NEXT:    %[[Q1:.*]] = arith.mulf %[[D1]], %[[D1]] : vector<4xf32>
// DISTRIBUTE-NEXT:    %[[Q1OR0:.*]] = arith.select %[[IN]], %[[Q1]], %cst{{.*}} : vector<4xf32>
// DISTRIBUTE-NEXT:    %[[MINE2:.*]] = "fold.block_reduce"(%[[Q0]], %[[Q1OR0]]) ({
// DISTRIBUTE:         "fold.warp_reduce"(%[[MINE2]]) ({
// DISTRIBUTE:         "fold.shared_store"
// DISTRIBUTE-NEXT:    "fold.interwarp_accumulate"
// DISTRIBUTE:         %[[R:.*]] = math.rsqrt %{{.*}} : f32
//
// The results. Weights are read here, where they are used first; no phase keeps registers for them.
// DISTRIBUTE-NEXT:    %[[RS:.*]] = vector.broadcast %[[R]] : f32 to vector<4xf32>
// DISTRIBUTE-NEXT:    %[[NORMAL:.*]] = arith.mulf %[[D0]], %[[RS]] : vector<4xf32>
// DISTRIBUTE-NEXT:    %[[W0:.*]] = "fold.load"(%[[W]], %[[ROW]], %[[AT0]], {{.*}} -> vector<4xf32>
// DISTRIBUTE-NEXT:    %[[SCALED:.*]] = arith.mulf %[[NORMAL]], %[[W0]] : vector<4xf32>
// DISTRIBUTE-NEXT:    %[[B0:.*]] = "fold.load"(%[[B]], %[[ROW]], %[[AT0]], {{.*}} -> vector<4xf32>
// DISTRIBUTE-NEXT:    %[[Y0:.*]] = arith.addf %[[SCALED]], %[[B0]] : vector<4xf32>
// DISTRIBUTE-NEXT:    "fold.element_store"(%[[Y0]], %[[Y]], %[[ROW]], %[[AT0]], {{.*}}whole = true}
// DISTRIBUTE:         "fold.element_store"({{.*}}, %[[Y]], %[[ROW]], %[[AT1]], {{.*}}whole = false}
// DISTRIBUTE-NEXT:    gpu.return

// 2. lower-global-access: an access beyond the end is not made, so that no thread reads what another one writes.
//
// ACCESS:           llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// ACCESS-NEXT:      %[[EXISTS:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : i32
// ACCESS-NEXT:      scf.if %[[EXISTS]] -> (vector<4xf32>) {
// ACCESS:             llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// ACCESS:           } else {
// ACCESS-NEXT:        scf.yield %cst{{.*}} : vector<4xf32>
// ACCESS-COUNT-2:   scf.if
// ACCESS:             llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// ACCESS-NOT:       "fold.load"
// ACCESS-NOT:       "fold.element_

// 3. lower-warp-shuffle: a butterfly of 32 lanes for each fold.
//
// WARP:             gpu.func @layer_norm
// WARP:             gpu.shuffle xor %{{.*}}, %c1_i32, %c32_i32 : f32
// WARP:             gpu.shuffle xor %{{.*}}, %c2_i32, %c32_i32 : f32
// WARP:             gpu.shuffle xor %{{.*}}, %c4_i32, %c32_i32 : f32
// WARP:             gpu.shuffle xor %{{.*}}, %c8_i32, %c32_i32 : f32
// WARP:             gpu.shuffle xor %{{.*}}, %c16_i32, %c32_i32 : f32
// WARP-NOT:         gpu.shuffle
// WARP:             "fold.shared_store"
// WARP-COUNT-5:     gpu.shuffle xor
// WARP-NOT:         gpu.shuffle
// WARP:             "fold.shared_store"

// 4. lower-shared-store: a buffer of its own for each fold. A warp that is ahead may write the second one while another
// warp still reads the first, so that one barrier a fold is enough.
//
// STORE:            llvm.mlir.global internal @partials_1() {addr_space = 3 : i32, {{.*}}} : !llvm.array<2 x f32>
// STORE-NEXT:       llvm.mlir.global internal @partials_0() {addr_space = 3 : i32, {{.*}}} : !llvm.array<2 x f32>
// STORE-COUNT-2:    gpu.barrier
// STORE-NOT:        gpu.barrier

// 5. lower-interwarp-accumulate: every lane of every warp reads both states at once, and joins them. That no thread is
// left out costs nothing, and saves the way back through shared memory. No op of the fold dialect is left.
//
// ACCUMULATE:       gpu.func @layer_norm
// ACCUMULATE:       gpu.barrier
// ACCUMULATE:       llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
// ACCUMULATE-NOT:   gpu.shuffle
// ACCUMULATE:       arith.addf
// ACCUMULATE:       gpu.barrier
// ACCUMULATE-NOT:   "fold.

// 6. PTX. x, w and b are read once each. Only accesses that always lie in the row go through the read-only path: the
// other one of x may be the last access of the row, which another thread writes if the array is its own result.
//
// LOADS:            ld.global.nc.v4
// LOADS:            ld.global.v4
// LOADS-COUNT-2:    ld.global.nc.v4
// LOADS-COUNT-2:    ld.global.v4
// LOADS-NOT:        ld.

// MEETING-COUNT-5:  shfl.sync.bfly
// MEETING:          st.shared
// MEETING:          bar.sync
// MEETING:          ld.shared.v2
// MEETING-COUNT-5:  shfl.sync.bfly
// MEETING:          st.shared
// MEETING:          bar.sync
// MEETING:          ld.shared.v2
// MEETING-NOT:      shfl.sync
// MEETING-NOT:      bar.sync

// The mean and the variance are products with one reciprocal of the count, and the square root has another; nothing is
// divided for an element.
//
// Each is an approximation and steps of Newton's method, without a branch.
//
// DIVISIONS:         rcp.approx.ftz.f32
// DIVISIONS:         rsqrt.approx.ftz.f32
// DIVISIONS:         rcp.approx.ftz.f32
// DIVISIONS-NOT:     div.
// DIVISIONS-NOT:     rcp.

// STORES-COUNT-2:   st.global.v4
// STORES-NOT:       st.

// CLEAN-NOT:        .local
// CLEAN-NOT:        call
