// The whole way of a softmax over the rows of a matrix: a program with two folds, whose elements are used three times.
// Read it from top to bottom: each part shows what the IR looks like after one more pass.
//
// The program has two phases, because the second fold needs what the first one left, and then results:
//   phase 1   m = the maximum of the row
//   phase 2   s = the sum of exp(x - m)
//   results   exp(x - m) / s, one for each element
//
// The plan: a row of 64 floats belongs to 8 lanes, and a warp has 4 rows. A lane owns 2 accesses of 16 bytes, and keeps
// them in registers until it writes the results (`resident`, `held`). So memory is read once, and the loop over
// the row has disappeared. The fact `full` says that every access lies in the row as a whole: nothing is checked.

// RUN: warpfold-opt %s | FileCheck %s --check-prefix=PROGRAM
// RUN: warpfold-opt %s --pass-pipeline='%{through:distribute},canonicalize,cse' | FileCheck %s --check-prefix=DISTRIBUTE
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-global-access},canonicalize,cse' | FileCheck %s --check-prefix=ACCESS
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-thread-reduce},canonicalize,cse' | FileCheck %s --check-prefix=THREAD
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-warp-shuffle},canonicalize,cse' | FileCheck %s --check-prefix=WARP
// RUN: warpfold-opt %s --pass-pipeline='%{through:expand-math},canonicalize,cse' | FileCheck %s --check-prefix=MATH
// RUN: warpfold-opt %s --pass-pipeline='%{ptx}' | %{lines} > %t.ptx
// RUN: FileCheck %s --check-prefix=LOADS < %t.ptx
// RUN: FileCheck %s --check-prefix=SHUFFLES < %t.ptx
// RUN: FileCheck %s --check-prefix=DIVISIONS < %t.ptx
// RUN: FileCheck %s --check-prefix=STORES < %t.ptx
// RUN: FileCheck %s --check-prefix=CLEAN < %t.ptx

// 0. The tensor program. A fold takes dim 1 away, and `fold.broadcast` gives it back: that is all there is to a program
// that reads its rows again. The subtraction is at most zero, which the expansion of `exp` will use.
//
// PROGRAM:      func.func @softmax(%[[X:.*]]: tensor<?x?xf32>) -> tensor<?x?xf32>
// PROGRAM-NEXT:   %[[M:.*]] = "fold.reduce"(%[[X]]) ({
// PROGRAM:          arith.maximumf
// PROGRAM:        %[[MS:.*]] = "fold.broadcast"(%[[M]]) {dims = array<i64: 1>} : (tensor<?xf32>) -> tensor<?x?xf32>
// PROGRAM-NEXT:   %[[D:.*]] = arith.subf %[[X]], %[[MS]] {fold.at_most_zero} : tensor<?x?xf32>
// PROGRAM-NEXT:   %[[E:.*]] = math.exp %[[D]] : tensor<?x?xf32>
// PROGRAM-NEXT:   %[[S:.*]] = "fold.reduce"(%[[E]]) ({
// PROGRAM:          arith.addf
// PROGRAM:        %[[SS:.*]] = "fold.broadcast"(%[[S]]) {dims = array<i64: 1>} : (tensor<?xf32>) -> tensor<?x?xf32>
// PROGRAM-NEXT:   %[[Y:.*]] = arith.divf %[[E]], %[[SS]] : tensor<?x?xf32>
// PROGRAM-NEXT:   return %[[Y]] : tensor<?x?xf32>
func.func @softmax(%x: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {
    fold.target = "sm_90a",
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 4, unroll = 1, lanes = 8, warps = 1, warps_kept = 1,
                 tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0, finish = "cta",
                 tree = "tree-v7", resident = "registers", held = 2},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["aligned"], stores = ["aligned"],
                  store_vector = false, ragged = false, full = true}} {
  %m = "fold.reduce"(%x) ({
    %low = arith.constant 0xFF800000 : f32
    "fold.yield"(%low) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.maximumf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {dims = array<i64: 1>, commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  %ms = "fold.broadcast"(%m) {dims = array<i64: 1>} : (tensor<?xf32>) -> tensor<?x?xf32>
  %d = arith.subf %x, %ms {fold.at_most_zero} : tensor<?x?xf32>
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
  %y = arith.divf %e, %ss : tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// 1. distribute: one thread's view. Each access is one load, and its four elements are values of the kernel, which the
// later phases use again. A phase has the stages of a plain reduction: the thread's own elements meet, then the lanes
// of the row. All 8 lanes know the result of a butterfly, so a broadcast to elements is a broadcast inside the thread.
//
// DISTRIBUTE:       gpu.func @softmax(%[[X:\w+]]: !llvm.ptr<1>, %[[Y:\w+]]: !llvm.ptr<1>, %[[ROWS:\w+]]: i32,
// DISTRIBUTE-SAME:    known_block_size = array<i32: 32, 1, 1>
// A thread of a row beyond the last one reads the last row, so that all lanes take part in the shuffles; it stores
// nothing.
// DISTRIBUTE:         %[[EXISTS:.*]] = arith.cmpi slt, %[[OWN:.*]], %[[ROWS]] : i32
// DISTRIBUTE:         %[[ROW:.*]] = arith.minsi %[[OWN]], %{{.*}} : i32
// The second access begins 8 lanes of 4 elements after the first one.
// DISTRIBUTE:         %[[AT1:.*]] = arith.addi %[[AT0:.*]], %c32_i32 : i32
// DISTRIBUTE-NEXT:    %[[X0:.*]] = "fold.load"(%[[X]], %[[ROW]], %[[AT0]], {{.*}}access = "aligned", axis = "reduced"{{.*}} -> vector<4xf32>
// DISTRIBUTE-NEXT:    %[[X1:.*]] = "fold.load"(%[[X]], %[[ROW]], %[[AT1]], {{.*}}access = "aligned", axis = "reduced"{{.*}} -> vector<4xf32>
// DISTRIBUTE-NOT:     fold.load
//
// Phase 1: the maximum.
// DISTRIBUTE:         %[[MINE:.*]] = "fold.block_reduce"(%[[X0]], %[[X1]]) ({
// DISTRIBUTE:           arith.maximumf
// DISTRIBUTE:         }) {columns = 1 : i64, elements = 8 : i64} : (vector<4xf32>, vector<4xf32>) -> f32
// DISTRIBUTE-NEXT:    %[[M:.*]] = "fold.warp_reduce"(%[[MINE]]) ({
// DISTRIBUTE:         }) {lanes = 8 : i64, ordered = true, stride = 1 : i64} : (f32) -> f32
//
// Phase 2: the sum of the exponentials. These are made once, and wait in registers for the results.
// DISTRIBUTE-NEXT:    %[[MS:.*]] = vector.broadcast %[[M]] : f32 to vector<4xf32>
// DISTRIBUTE-NEXT:    %[[D0:.*]] = arith.subf %[[X0]], %[[MS]] {fold.at_most_zero} : vector<4xf32>
// DISTRIBUTE-NEXT:    %[[E0:.*]] = math.exp %[[D0]] : vector<4xf32>
// DISTRIBUTE-NEXT:    %[[D1:.*]] = arith.subf %[[X1]], %[[MS]] {fold.at_most_zero} : vector<4xf32>
// DISTRIBUTE-NEXT:    %[[E1:.*]] = math.exp %[[D1]] : vector<4xf32>
// DISTRIBUTE-NEXT:    %[[SUM:.*]] = "fold.block_reduce"(%[[E0]], %[[E1]]) ({
// DISTRIBUTE:           arith.addf
// DISTRIBUTE:         %[[S:.*]] = "fold.warp_reduce"(%[[SUM]]) ({
// DISTRIBUTE:         }) {lanes = 8 : i64, ordered = true, stride = 1 : i64} : (f32) -> f32
//
// The results: each thread writes the elements that it has read, so the array may be its own result.
// DISTRIBUTE-NEXT:    %[[SS:.*]] = vector.broadcast %[[S]] : f32 to vector<4xf32>
// DISTRIBUTE-NEXT:    %[[Y0:.*]] = arith.divf %[[E0]], %[[SS]] : vector<4xf32>
// DISTRIBUTE-NEXT:    "fold.element_store"(%[[Y0]], %[[Y]], %[[ROW]], %[[AT0]], {{.*}}, %[[EXISTS]], {{.*}}whole = true}
// DISTRIBUTE-NEXT:    %[[Y1:.*]] = arith.divf %[[E1]], %[[SS]] : vector<4xf32>
// DISTRIBUTE-NEXT:    "fold.element_store"(%[[Y1]], %[[Y]], %[[ROW]], %[[AT1]], {{.*}}, %[[EXISTS]], {{.*}}whole = true}
// DISTRIBUTE-NEXT:    gpu.return

// 2. lower-global-access: two loads and two stores of 16 bytes. Only the stores ask whether the row exists.
//
// ACCESS-COUNT-2: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// ACCESS-NOT:     llvm.load
// ACCESS:         scf.if
// ACCESS:           llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// ACCESS:         scf.if
// ACCESS:           llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// ACCESS-NOT:     llvm.store

// 3. lower-thread-reduce: the 8 elements of a thread as a tree of neighbours: pairs, then pairs of pairs.
//
// THREAD:           %[[A:.*]] = vector.extract %[[X0:.*]][0] : f32
// THREAD-NEXT:      %[[B:.*]] = vector.extract %[[X0]][1] : f32
// THREAD:           %[[AB:.*]] = arith.maximumf %[[A]], %[[B]] : f32
// THREAD-NEXT:      %[[CD:.*]] = arith.maximumf
// THREAD-NEXT:      %[[ABCD:.*]] = arith.maximumf %[[AB]], %[[CD]] : f32
// THREAD-NEXT:      arith.maximumf
// THREAD-NEXT:      arith.maximumf
// THREAD-NEXT:      %[[EFGH:.*]] = arith.maximumf
// THREAD-NEXT:      %[[MINE:.*]] = arith.maximumf %[[ABCD]], %[[EFGH]] : f32
// THREAD-NEXT:      "fold.warp_reduce"(%[[MINE]])
// THREAD-COUNT-7:   arith.addf
// THREAD-NEXT:      "fold.warp_reduce"
// THREAD-NOT:       fold.block_reduce

// 4. lower-warp-shuffle: three shuffles a phase, for 8 lanes. No op of the fold dialect is left.
//
// WARP:             gpu.func @softmax
// WARP:             gpu.shuffle xor %{{.*}}, %c1_i32, %c32_i32 : f32
// WARP:             gpu.shuffle xor %{{.*}}, %c2_i32, %c32_i32 : f32
// WARP:             gpu.shuffle xor %{{.*}}, %c4_i32, %c32_i32 : f32
// WARP:             math.exp
// WARP-COUNT-3:     gpu.shuffle xor
// WARP:             arith.divf
// WARP-NOT:         gpu.shuffle
// WARP-NOT:         "fold.

// 5. expand-math: the exponential as arithmetic, a polynomial of degree 6 and a shift into the exponent. Since no
// argument is above zero, there is no upper bound, and one of the two factors is a constant.
//
// MATH:             %[[D:.*]] = arith.subf %{{.*}} {fold.at_most_zero} : vector<4xf32>
// MATH-NEXT:        %[[C:.*]] = llvm.call_intrinsic "llvm.maximum"(%[[D]], %{{.*}})
// MATH-NEXT:        llvm.call_intrinsic "llvm.fma"(%[[C]],
// MATH:             arith.shli
// MATH-COUNT-6:     llvm.call_intrinsic "llvm.fma"
// MATH-NOT:         math.exp

// 6. PTX. The row is read once, through the read-only path, and written once.
//
// LOADS-COUNT-2:    ld.global.nc.v4
// LOADS-NOT:        ld.
//
// SHUFFLES-COUNT-6: shfl.sync.bfly
// SHUFFLES-NOT:     shfl.sync
//
// The program divides each element. The library's softmax divides once a row, and multiplies by the reciprocal.
// DIVISIONS-COUNT-8: div.rn.f32
// DIVISIONS-NOT:     div.
//
// STORES-COUNT-2:   st.global.v4
// STORES-NOT:       st.

// No shared memory, no barrier, no spills to local memory, no calls.
//
// CLEAN-NOT:        .shared
// CLEAN-NOT:        bar.sync
// CLEAN-NOT:        .local
// CLEAN-NOT:        call
