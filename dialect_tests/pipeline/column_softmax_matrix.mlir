// The whole way of a softmax over the columns of a matrix of bf16, whose tile is read in turned blocks: `ldmatrix` gives a
// lane neighbouring elements of a column, and `stmatrix` takes the results back. `softmax.mlir` has the program for rows.
//
// The plan: a CTA of 4 warps has 16 columns of 64 rows. Two warps share 8 columns (`warps`, `warps_kept`), and each has 32
// rows of them. Four lanes share a column, and each has 8 neighbouring rows of it (`lanes`, `vector`), by one access
// (`held`). So the columns have a plan of rows. The fact `matrix` says of input and output that they lie across it.

// RUN: warpfold-opt %s --pass-pipeline='%{through:distribute},canonicalize,cse' | FileCheck %s --check-prefix=DISTRIBUTE
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-residency},canonicalize,cse' | FileCheck %s --check-prefix=WAIT
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-matrix-store},canonicalize,cse' | FileCheck %s --check-prefix=MATRIX
// RUN: warpfold-opt %s --pass-pipeline='%{ptx}' | %{lines} > %t.ptx
// RUN: FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: sed 's/sm_90a/sm_80/' %s | warpfold-opt --pass-pipeline='%{ptx}' | %{lines} > %t.80.ptx
// RUN: FileCheck %s --check-prefix=WORDS < %t.80.ptx

func.func @softmax(%x: tensor<?x?xbf16>) -> tensor<?x?xbf16> attributes {
    fold.target = "sm_90a",
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 8, unroll = 1, lanes = 4, warps = 2, warps_kept = 2,
                 tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0, finish = "cta",
                 tree = "tree-v7", resident = "shared", held = 1, fragments = "matrix"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["matrix"], stores = ["matrix"],
                  store_vector = false, ragged = false, full = true, waiting = [0]}} {
  %w = arith.extf %x : tensor<?x?xbf16> to tensor<?x?xf32>
  %m = "fold.reduce"(%w) ({
    %low = arith.constant 0xFF800000 : f32
    "fold.yield"(%low) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.maximumf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {dims = array<i64: 1>, commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  %ms = "fold.broadcast"(%m) {dims = array<i64: 1>} : (tensor<?xf32>) -> tensor<?x?xf32>
  %d = arith.subf %w, %ms {fold.at_most_zero} : tensor<?x?xf32>
  %e = math.exp %d : tensor<?x?xf32>
  %s = "fold.reduce"(%e) ({
    %zero = arith.constant 0.0 : f32
    "fold.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {dims = array<i64: 1>, commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  %ss = "fold.broadcast"(%s) {dims = array<i64: 1>} : (tensor<?xf32>) -> tensor<?x?xf32>
  %q = arith.divf %e, %ss : tensor<?x?xf32>
  %y = arith.truncf %q : tensor<?x?xf32> to tensor<?x?xbf16>
  return %y : tensor<?x?xbf16>
}

// 1. distribute. Each thread copies 16 bytes of a row: 8 neighbouring columns. Two exclusive ors move its slot: without
// them the eight rows of a block would lie in a quarter of the banks, and lanes would wait.
//
// DISTRIBUTE:       gpu.func @softmax
// DISTRIBUTE:         arith.xori
// DISTRIBUTE:         %[[SLOT:.*]] = arith.xori
// The row that the lane names, moved in the same way: 8 elements a slot.
// DISTRIBUTE:         arith.xori
// DISTRIBUTE:         %[[MOVED:.*]] = arith.xori
// DISTRIBUTE:         %[[NAMED:.*]] = arith.muli %[[MOVED]], %c8_i32
// DISTRIBUTE:         %[[PLACE:.*]] = "fold.hold"({{.*}}, %[[SLOT]], {{.*}}access = "aligned", axis = "kept"{{.*}}slots = 1{{.*}}vector = 8
// All copies have arrived when the warps read rows that other warps have copied.
// DISTRIBUTE:         "fold.arrived"() : () -> ()
//
// Phase 1: a fragment is 8 elements of one column. The stages are those of a row: the thread's elements, 4 lanes, 2 warps.
// DISTRIBUTE-NEXT:    %[[X:.*]] = "fold.matrix_load"(%[[TILE:.*]], %[[NAMED]]) {blocks = 4 : i64, transposed = true} : (!llvm.ptr<3>, i32) -> vector<8xbf16>
// DISTRIBUTE:         "fold.block_reduce"
// DISTRIBUTE:         "fold.warp_reduce"
// DISTRIBUTE:         {lanes = 4 : i64, ordered = true, stride = 1 : i64}
// DISTRIBUTE:         "fold.shared_store"
// DISTRIBUTE:         %[[M:.*]] = "fold.interwarp_accumulate"
// Phase 2, and the results: the elements wait in the tile, and are read again.
// DISTRIBUTE:         "fold.matrix_load"(%[[TILE]], %[[NAMED]])
// DISTRIBUTE:         "fold.interwarp_accumulate"
// DISTRIBUTE:         "fold.matrix_load"(%[[TILE]], %[[NAMED]])
// They go where the elements were, which no other warp reads.
// DISTRIBUTE:         "fold.matrix_store"(%{{.*}}, %[[TILE]], %[[NAMED]]) {blocks = 4 : i64, transposed = true}
// DISTRIBUTE-NEXT:    gpu.barrier
// Each thread writes what is in its slot, 16 bytes of a row.
// DISTRIBUTE-NEXT:    %[[Y:.*]] = "fold.held"(%[[PLACE]], %c0_i32) {threads = 128 : i64} : (!llvm.ptr<3>, i32) -> vector<8xbf16>
// DISTRIBUTE-NEXT:    "fold.element_store"(%[[Y]], {{.*}}axis = "kept"
// DISTRIBUTE-NEXT:    gpu.return

// 2. lower-residency: the copy is a `cp.async`. The thread waits for its own, and the barrier for those of the others.
//
// WAIT:             nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16
// WAIT:             nvvm.cp.async.commit.group
// WAIT-NEXT:        nvvm.cp.async.wait.group 0
// WAIT-NEXT:        gpu.barrier
// WAIT-NEXT:        "fold.matrix_load"

// 3. lower-matrix-load and lower-matrix-store: one instruction each. Four registers of two elements are the fragment.
//
// MATRIX-COUNT-3:   nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<col>, num = 4 : i32
// MATRIX:           nvvm.stmatrix
// MATRIX-NOT:       fold.matrix

// 4. PTX. Nothing but blocks is read from the tile, and the row leaves as it came.
//
// PTX:              cp.async.cg.shared.global
// PTX:              bar.sync
// PTX-COUNT-3:      ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// PTX-NOT:          ldmatrix
// PTX:              stmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// PTX:              bar.sync
// PTX:              ld.shared.v4
// PTX:              st.global.v4

// sm_80 has no `stmatrix`: the lanes of a warp wait for each other, and write pairs of elements.
//
// WORDS-COUNT-3:    ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// WORDS:            bar.warp.sync
// WORDS-COUNT-8:    st.shared.b16
// WORDS:            bar.sync
// WORDS:            ld.shared.v4
