// The whole way of one reduction: the sum of an array of a few million floats, as the planner plans it for an H200.
// Read it from top to bottom: each part shows what the IR looks like after one more pass.
//
// The plan: 512 CTAs of 8 warps. Along the (only) reduced axis
//   register   32 elements a thread and loop step: 8 accesses of 16 bytes (4 floats)
//   lane       32 lanes
//   warp       8 warps
//   grid       512 CTAs; the last one to finish adds up what all have left
// Four levels own more than one part, so there are four stages.

// RUN: warpfold-opt %s | FileCheck %s --check-prefix=PROGRAM
// RUN: warpfold-opt %s --pass-pipeline='%{through:distribute},canonicalize,cse' | FileCheck %s --check-prefix=DISTRIBUTE
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-global-access},canonicalize,cse' | FileCheck %s --check-prefix=ACCESS
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-thread-reduce},unroll-loops,canonicalize,cse' | FileCheck %s --check-prefix=THREAD
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-warp-shuffle},canonicalize,cse' | FileCheck %s --check-prefix=WARP
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-shared-store},canonicalize,cse' | FileCheck %s --check-prefix=STORE
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-interwarp-accumulate},canonicalize,cse' | FileCheck %s --check-prefix=ACCUMULATE
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-grid-finish},unroll-loops,canonicalize,cse' | FileCheck %s --check-prefix=GRID
// RUN: warpfold-opt %s --pass-pipeline='%{ptx}' | %{lines} > %t.ptx
// RUN: FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: FileCheck %s --check-prefix=LOADS < %t.ptx
// RUN: FileCheck %s --check-prefix=SHUFFLES < %t.ptx
// RUN: FileCheck %s --check-prefix=BARRIERS < %t.ptx
// RUN: FileCheck %s --check-prefix=ATOMICS < %t.ptx
// RUN: FileCheck %s --check-prefix=CLEAN < %t.ptx

// 0. The tensor program: the whole array, and one op. It says what, not how; `fold.plan` says how.
//
// PROGRAM:      func.func @sum(%[[X:.*]]: tensor<?xf32>) -> tensor<f32>
// PROGRAM-NEXT:   "fold.reduce"(%[[X]])
// PROGRAM:        arith.addf
func.func @sum(%x: tensor<?xf32>) -> tensor<f32> attributes {
    fold.target = "sm_90a",
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 4, unroll = 8, lanes = 32, warps = 8,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "last_block", tree = "tree-v7"},
    fold.facts = {kept_rank = 0, reduced_rank = 1, index_bits = 32, access = ["aligned"], store_vector = false,
                  ragged = false}} {
  %r = "fold.reduce"(%x) ({
    %zero = arith.constant 0.0 : f32
    "fold.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {dims = array<i64: 0>, commutative = true} : (tensor<?xf32>) -> tensor<f32>
  return %r : tensor<f32>
}

// 1. distribute: no tensors any more. One thread's view: its fragment is a vector of four floats, and the four levels of
// the plan are four ops in a row. The grid stage holds the second round: the same stages, over the 512 partial sums.
//
// DISTRIBUTE:       gpu.func @sum(%[[X:.*]]: !llvm.ptr<1>, %[[OUT:.*]]: !llvm.ptr<1>, %[[PARTIALS:.*]]: !llvm.ptr<1>, %[[COUNTER:.*]]: !llvm.ptr<1>, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32)
// DISTRIBUTE-SAME:    known_block_size = array<i32: 256, 1, 1>
// DISTRIBUTE:         %[[MINE:.*]] = "fold.thread_reduce"
// DISTRIBUTE:           "fold.load"(%[[X]]{{.*}} -> vector<4xf32>
// DISTRIBUTE:         {step = 1024 : i64, unroll = 8 : i64} : (i32, i32, vector<4xf32>) -> f32
// DISTRIBUTE:         %[[OURS:.*]] = "fold.warp_reduce"(%[[MINE]])
// DISTRIBUTE:         %[[SHARED:.*]] = "fold.shared_store"({{.*}}, %[[OURS]]) {rows = 8 : i64, slots = 1 : i64}
// DISTRIBUTE:         %[[CTA:.*]] = "fold.interwarp_accumulate"({{.*}}, %[[SHARED]])
// DISTRIBUTE:         "fold.grid_finish"({{.*}}, %[[CTA]], %[[PARTIALS]], %[[COUNTER]])
// DISTRIBUTE:           "fold.thread_reduce"
// DISTRIBUTE:             "fold.load"(%[[PARTIALS]]
// DISTRIBUTE:           "fold.warp_reduce"
// DISTRIBUTE:           "fold.shared_store"
// DISTRIBUTE:           "fold.interwarp_accumulate"
// DISTRIBUTE:           "fold.store"({{.*}}, %[[OUT]],
// DISTRIBUTE:         {finish = "last_block"}

// 2. lower-global-access: loads have addresses now. The thread's walk is cut in three: eight 16-byte loads a step while
// all fit, then one step of those that are left, then the one vector that may stick out over the end of the array.
//
// ACCESS-NOT:     fold.load
// ACCESS:         "fold.thread_reduce"
// ACCESS:           llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// ACCESS:         unroll = 8 : i64}
// ACCESS:         "fold.thread_reduce"
// ACCESS:           llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// ACCESS:         once = true, step = 1024 : i64, unroll = 8 : i64}
// ACCESS:         "fold.thread_reduce"
// ACCESS-COUNT-4:   llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// ACCESS:         once = true, step = 1024 : i64, unroll = 1 : i64}
// ACCESS:         "fold.warp_reduce"
// Partials of other CTAs are read past the L1 cache.
// ACCESS:         llvm.load volatile
// The result is stored by one thread.
// ACCESS:         scf.if
// ACCESS:           llvm.store

// 3. lower-thread-reduce: a loop and two branches. Eight loads, a tree of seven additions on vectors, one more onto the
// running sum; what is left, if there is any: eight loads again, added as a tree, too; the tail; then the vector's
// four sums become one.
//
// THREAD:         %[[SO_FAR:.*]] = scf.for
// THREAD-COUNT-8:   llvm.load
// THREAD-COUNT-8:   arith.addf %{{.*}}, %{{.*}} : vector<4xf32>
// THREAD-NEXT:      scf.yield
// THREAD:         %[[MORE:.*]] = scf.if %{{.*}} -> (vector<4xf32>) {
// THREAD-COUNT-8:   llvm.load
// THREAD-COUNT-7:   arith.addf %{{.*}}, %{{.*}} : vector<4xf32>
// THREAD:           %[[ONE_MORE:.*]] = arith.addf %[[SO_FAR]], %{{.*}} : vector<4xf32>
// THREAD-NEXT:      scf.yield %[[ONE_MORE]]
// THREAD:         } else {
// THREAD-NEXT:      scf.yield %[[SO_FAR]]
// THREAD:         %[[ALL:.*]] = scf.if %{{.*}} -> (vector<4xf32>) {
// THREAD:         } else {
// THREAD-NEXT:      scf.yield %[[MORE]]
// THREAD:         vector.shuffle %[[ALL]]
// THREAD:         %[[SUM:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
// THREAD-NEXT:    "fold.warp_reduce"(%[[SUM]])
// THREAD-NOT:     fold.thread_reduce

// 4. lower-warp-shuffle: five shuffles, five additions. The distance doubles, so that in the end all 32 lanes have met.
//
// WARP:           gpu.shuffle xor %{{.*}}, %c1_i32, %c32_i32 : f32
// WARP:           gpu.shuffle xor %{{.*}}, %c2_i32, %c32_i32 : f32
// WARP:           gpu.shuffle xor %{{.*}}, %c4_i32, %c32_i32 : f32
// WARP:           gpu.shuffle xor %{{.*}}, %c8_i32, %c32_i32 : f32
// WARP:           gpu.shuffle xor %{{.*}}, %c16_i32, %c32_i32 : f32
// WARP-NOT:       gpu.shuffle
// WARP:           %[[SUM:.*]] = arith.addf
// WARP:           "fold.shared_store"({{.*}}, %[[SUM]])
// WARP-NOT:       fold.warp_reduce

// 5. lower-shared-store: lane 0 of each warp leaves its sum; two buffers, since there are two rounds.
//
// STORE:          llvm.mlir.global internal @partials_1() {addr_space = 3 : i32, {{.*}}} : !llvm.array<8 x f32>
// STORE:          llvm.mlir.global internal @partials_0() {addr_space = 3 : i32, {{.*}}} : !llvm.array<8 x f32>
// STORE:          llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
// STORE:          gpu.barrier
// STORE-NEXT:     "fold.interwarp_accumulate"

// 6. lower-interwarp-accumulate: each lane picks one of the eight up, three shuffles.
//
// ACCUMULATE:         gpu.barrier
// ACCUMULATE:         llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
// ACCUMULATE-COUNT-3: gpu.shuffle xor
// ACCUMULATE:         "fold.grid_finish"

// 7. lower-grid-finish: partials out, a ticket, and the second round inside a branch that the last CTA alone takes. No
// op of the fold dialect is left.
//
// GRID:           gpu.func @sum
// GRID:           gpu.barrier
// GRID:           llvm.atomicrmw uinc_wrap {{.*}} acq_rel
// GRID:           gpu.barrier
// GRID:           scf.if
// GRID:             llvm.load volatile
// GRID-NOT:       fold.

// 8. PTX. The kernel says how many threads it expects.
//
// PTX:            .visible .entry sum(
// PTX:            .maxntid 256
// PTX:            .shared .align 16 .b8 partials_0[32]

// Eight vector loads in the unrolled loop, eight for what is left; four single ones for the tail. All go through the
// read-only path (.nc), and nothing else does.
//
// LOADS-COUNT-16: ld.global.nc.v4
// LOADS-COUNT-4:  ld.global.nc.b32
// LOADS-NOT:      ld.global.nc

// 5 steps for 32 lanes and 3 for 8 warps, in two rounds.
//
// SHUFFLES-COUNT-16: shfl.sync.bfly
// SHUFFLES-NOT:      shfl.sync

// One for the shared memory of each round, one before the ticket is taken and one before it is read.
//
// BARRIERS-COUNT-4: bar.sync
// BARRIERS-NOT:     bar.sync

// One ticket, whose own order is that of the partials around it: there is no fence.
//
// ATOMICS-NOT:      fence
// ATOMICS:          atom.acq_rel.gpu.{{.*}}inc
// ATOMICS-NOT:      fence
// ATOMICS-NOT:      atom.

// No spills to local memory, no calls.
//
// CLEAN-NOT:      .local
// CLEAN-NOT:      __nv_
// CLEAN-NOT:      call
