// The whole way of a cumulative sum of rows: of each element the sum of those up to it. Read it from top to bottom: each
// part shows what the IR looks like after one more pass.
//
// The plan: a chunk of a row belongs to a CTA of 4 warps. Each warp has a segment of it, two accesses of its 32 lanes of
// two elements each. A row may have any number of chunks (`once` is not among the facts), so CTAs take them by tickets.

// RUN: warpfold-opt %s | FileCheck %s --check-prefix=PROGRAM
// RUN: warpfold-opt %s --pass-pipeline='%{through:distribute},canonicalize,cse' | FileCheck %s --check-prefix=DISTRIBUTE
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-thread-scan},canonicalize,cse' | FileCheck %s --check-prefix=THREAD
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-warp-scan},canonicalize,cse' | FileCheck %s --check-prefix=LANES
// RUN: warpfold-opt %s --pass-pipeline='%{ptx}' | %{lines} > %t.ptx
// RUN: FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: FileCheck %s --check-prefix=CLEAN < %t.ptx

// 0. The tensor program. A `fold.scan` is a `fold.reduce` whose state is wanted at every element: its result has the
// shape of its input.
//
// PROGRAM:      func.func @cumulative_sum(%[[X:.*]]: tensor<?x?xf32>) -> tensor<?x?xf32>
// PROGRAM-NEXT:   "fold.scan"(%[[X]])
func.func @cumulative_sum(%x: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {
    fold.target = "sm_90a",
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 2, unroll = 1, lanes = 32, warps = 4,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7", resident = "chain", held = 2},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["aligned"], stores = ["aligned"],
                  store_vector = false, ragged = false, full = true}} {
  %sums = "fold.scan"(%x) ({
    %zero = arith.constant 0.0 : f32
    "fold.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {dims = array<i64: 1>, exclusive = false} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return %sums : tensor<?x?xf32>
}

// 1. distribute: the CTA takes a ticket, and looks at what the chunks before have left. Then each level gives what comes
// before its parts: the elements of an access, the lanes, the warps of a chunk, the chunks of a row.
//
// DISTRIBUTE:      "fold.ticket"
// DISTRIBUTE:      "fold.seen"
// DISTRIBUTE:      "fold.load"(%arg0, {{.*}} -> vector<2xf32>
// DISTRIBUTE-NEXT: "fold.load"(%arg0, {{.*}} -> vector<2xf32>
// DISTRIBUTE:      %[[OWN:.*]] = "fold.thread_scan"
// DISTRIBUTE:      "fold.thread_scan"
// DISTRIBUTE:      %{{.*}}:2 = "fold.warp_scan"
// The accesses of a warp follow each other: the state of the first one comes before the second.
// DISTRIBUTE:      %{{.*}}:2 = "fold.warp_scan"
// DISTRIBUTE:      arith.addf
// DISTRIBUTE:      "fold.shared_store"
// DISTRIBUTE:      "fold.interwarp_scan"
// The chunk leaves its state, waits for what it needs of earlier ones, and the last chunk of a group leaves a prefix.
// DISTRIBUTE:      "fold.leave"({{.*}}) {kind = 1 : i64}
// DISTRIBUTE:      scf.while
// DISTRIBUTE:      "fold.leave"({{.*}}) {kind = 2 : i64}
// What comes before is combined with the sums of the elements of each access, and these are the results.
// DISTRIBUTE:      arith.addf %{{.*}} : vector<2xf32>
// The last CTA of a row clears the words in which states were left.
// DISTRIBUTE:      "fold.arrive"({{.*}}) {alone = true}
// DISTRIBUTE:      "fold.element_store"

// 2. lower-thread-scan: the second element of an access is added to the first.
//
// THREAD:      %[[A:.*]] = vector.extract %[[X:.*]][0]
// THREAD-NEXT: %[[B:.*]] = vector.extract %[[X]][1]
// THREAD-NEXT: %[[SUM:.*]] = arith.addf %[[A]], %[[B]] : f32
// THREAD-NEXT: vector.from_elements %[[A]], %[[SUM]] : vector<2xf32>

// 3. lower-warp-scan: five steps of shuffles, one for the lane below, and one from the last lane.
//
// LANES:         gpu.shuffle up %{{.*}}, %c1_i32, %c32_i32 : f32
// LANES:         gpu.shuffle up %{{.*}}, %c2_i32, %c32_i32 : f32
// LANES:         gpu.shuffle up %{{.*}}, %c4_i32, %c32_i32 : f32
// LANES:         gpu.shuffle up %{{.*}}, %c8_i32, %c32_i32 : f32
// LANES:         gpu.shuffle up %{{.*}}, %c16_i32, %c32_i32 : f32
// LANES:         gpu.shuffle up %{{.*}}, %c1_i32, %c32_i32 : f32
// LANES:         gpu.shuffle idx

// 4. In the PTX, words are read and written by relaxed accesses of 64 bits, which nothing orders.
//
// PTX: ld.relaxed.gpu.global.b64
// PTX: ld.global.nc.v2.b32
// PTX: shfl.sync.up.b32
// PTX: st.relaxed.gpu.global.b64
// PTX: nanosleep.u32 20
// PTX: st.global.v2.b32

// Nothing is left of the dialect.
//
// CLEAN-NOT: fold.
