// A sum over the columns of a row-major matrix. Neighbouring lanes read neighbouring columns, so that accesses are
// coalesced; every lane keeps columns of its own, and the eight warps of a CTA share the rows. The lane level owns nothing
// of the reduced axis: there is no lane stage, and not one shuffle.

// RUN: warpfold-opt %s | FileCheck %s --check-prefix=PROGRAM
// RUN: warpfold-opt %s --pass-pipeline='%{through:distribute},canonicalize,cse' | FileCheck %s --check-prefix=DISTRIBUTE
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-global-access},canonicalize,cse' | FileCheck %s --check-prefix=ACCESS
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-thread-reduce},unroll-loops,canonicalize,cse' | FileCheck %s --check-prefix=THREAD
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-shared-store},canonicalize,cse' | FileCheck %s --check-prefix=STORE
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-interwarp-accumulate},canonicalize,cse' | FileCheck %s --check-prefix=ACCUMULATE
// RUN: warpfold-opt %s --pass-pipeline='%{ptx}' | %{lines} > %t.ptx
// RUN: FileCheck %s --check-prefix=LOADS < %t.ptx
// RUN: FileCheck %s --check-prefix=MEMORY < %t.ptx
// RUN: FileCheck %s --check-prefix=CLEAN < %t.ptx

// 0. The tensor program has the kept dim first and the reduced one last, whatever the order in memory: the strides, which
// are kernel arguments, know. `fast = "kept"` says that the kept dim is the contiguous one.
//
// PROGRAM:      {commutative = true, dims = array<i64: 1>} : (tensor<?x?xf32>) -> tensor<?xf32>
func.func @sum(%x: tensor<?x?xf32>) -> tensor<?xf32> attributes {
    fold.target = "sm_90a",
    fold.plan = {fast = "kept", walk = "interleaved", vector = 4, unroll = 8, lanes = 1, warps = 8,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["aligned"], store_vector = false,
                  ragged = false}} {
  %r = "fold.reduce"(%x) ({
    %zero = arith.constant 0.0 : f32
    "fold.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {dims = array<i64: 1>, commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// 1. distribute: four columns a thread, 128 a warp. Every eighth row is this warp's. The state stays a vector from the
// first load until the warps meet. Then the threads lie anew: with 256 of them for 128 results, one result each.
//
// DISTRIBUTE:       %[[MINE:.*]] = "fold.thread_reduce"
// DISTRIBUTE:         "fold.load"{{.*}}access = "aligned", axis = "kept"{{.*}} -> vector<4xf32>
// DISTRIBUTE:       {step = 8 : i64, unroll = 8 : i64} : (i32, i32, vector<4xf32>) -> vector<4xf32>
// DISTRIBUTE-NOT:   fold.warp_reduce
// DISTRIBUTE:       %[[BUFFER:.*]] = "fold.shared_store"({{.*}}, %[[MINE]]) {rows = 8 : i64, slots = 128 : i64}
// DISTRIBUTE:       %[[OURS:.*]] = "fold.interwarp_accumulate"({{.*}}, %[[BUFFER]])
// DISTRIBUTE:       {lanes = 1 : i64, {{.*}} -> f32
// DISTRIBUTE:       "fold.store"(%[[OURS]], {{.*}}vector = false}

// 2. lower-global-access: two pieces only. A vector of columns is wanted whole or not at all: no row is cut.
//
// ACCESS-COUNT-2: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// ACCESS-NOT:     llvm.load
// ACCESS:         scf.if
// ACCESS-NEXT:      %{{.*}} = arith.muli
// ACCESS:           llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<1>

// 3. lower-thread-reduce: eight rows in flight, then a branch for what is left of them, and no horizontal step at the
// end.
//
// THREAD:         scf.for
// THREAD-COUNT-8:   llvm.load
// THREAD:         scf.if
// THREAD-COUNT-8:   llvm.load
// THREAD:         } else {
// THREAD-NOT:     vector.shuffle
// THREAD:         "fold.shared_store"

// 4. lower-shared-store: 8 rows of 128 sums; each lane stores its four as one vector.
//
// STORE:          llvm.mlir.global internal @partials_0() {{.*}} : !llvm.array<1024 x f32>
// STORE:          llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
// STORE:          gpu.barrier

// 5. lower-interwarp-accumulate: a thread picks up all eight rows of its column, and adds them as a tree: pairs first,
// each read when the tree gets to it.
//
// ACCUMULATE-COUNT-2: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
// ACCUMULATE:         arith.addf %{{.*}}, %{{.*}} : f32
// ACCUMULATE-COUNT-2: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
// ACCUMULATE-COUNT-2: arith.addf %{{.*}}, %{{.*}} : f32
// ACCUMULATE-COUNT-2: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
// ACCUMULATE:         arith.addf %{{.*}}, %{{.*}} : f32
// ACCUMULATE-COUNT-2: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
// ACCUMULATE-COUNT-3: arith.addf %{{.*}}, %{{.*}} : f32
// ACCUMULATE-NOT:     gpu.shuffle
// ACCUMULATE:         gpu.return

// 6. PTX: eight loads in the unrolled loop, eight for the rows that are left, all of 16 bytes.
//
// LOADS-COUNT-16: ld.global.nc.v4
// LOADS-NOT:      ld.global

// One vector store to shared memory, and eight loads of one column behind the barrier; one store of the result.
//
// MEMORY:         st.shared.v4
// MEMORY:         bar.sync
// MEMORY-NOT:     bar.sync
// MEMORY-COUNT-8: ld.shared.b32
// MEMORY-NOT:     ld.shared
// MEMORY:         st.global.b32
// MEMORY-NOT:     st.global

// CLEAN-NOT:      shfl
// CLEAN-NOT:      atom.
// CLEAN-NOT:      .local
// CLEAN-NOT:      __nv_
