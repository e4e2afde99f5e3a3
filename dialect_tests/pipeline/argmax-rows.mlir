// Argmax over the rows of a matrix: the same stages as any reduction, with a state of two values. One CTA of 8 warps takes
// a row, so that the register, lane and warp levels have a stage and the grid has none.

// RUN: warpfold-opt %s | FileCheck %s --check-prefix=PROGRAM
// RUN: warpfold-opt %s --pass-pipeline='%{through:distribute},canonicalize,cse' | FileCheck %s --check-prefix=DISTRIBUTE
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-global-access},canonicalize,cse' | FileCheck %s --check-prefix=ACCESS
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-thread-reduce},canonicalize,cse' | FileCheck %s --check-prefix=THREAD
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-warp-shuffle},canonicalize,cse' | FileCheck %s --check-prefix=WARP
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-shared-store},canonicalize,cse' | FileCheck %s --check-prefix=STORE
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-interwarp-accumulate},canonicalize,cse' | FileCheck %s --check-prefix=ACCUMULATE
// RUN: warpfold-opt %s --pass-pipeline='%{ptx}' | %{lines} > %t.ptx
// RUN: FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: FileCheck %s --check-prefix=LOADS < %t.ptx
// RUN: FileCheck %s --check-prefix=SHUFFLES < %t.ptx
// RUN: FileCheck %s --check-prefix=BARRIERS < %t.ptx
// RUN: FileCheck %s --check-prefix=CLEAN < %t.ptx

// 0. The tensor program. fold.iota numbers the elements; value and number are one tuple, and the combine takes the better
// one: NaN before any number, then the greater value, then the lower number. It is plain scalar code.
//
// PROGRAM:      func.func @argmax
// PROGRAM:        %[[I:.*]] = "fold.iota"() {dims = array<i64: 1>} : () -> tensor<?x?xi64>
// PROGRAM-NEXT:   %[[PAIR:.*]] = builtin.unrealized_conversion_cast %{{.*}}, %[[I]]
// PROGRAM-NEXT:   "fold.reduce"(%[[PAIR]])
func.func @argmax(%x: tensor<?x?xf32>) -> tensor<?xi64> attributes {
    fold.target = "sm_90a",
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 4, unroll = 4, lanes = 32, warps = 8,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["aligned"], store_vector = false,
                  ragged = false}} {
  %i = "fold.iota"() {dims = array<i64: 1>} : () -> tensor<?x?xi64>
  %pairs = builtin.unrealized_conversion_cast %x, %i
    : tensor<?x?xf32>, tensor<?x?xi64> to tuple<tensor<?x?xf32>, tensor<?x?xi64>>
  %best = "fold.reduce"(%pairs) ({
    %lowest = arith.constant 0xFF800000 : f32
    %greatest = arith.constant 9223372036854775807 : i64
    %identity = builtin.unrealized_conversion_cast %lowest, %greatest : f32, i64 to tuple<f32, i64>
    "fold.yield"(%identity) : (tuple<f32, i64>) -> ()
  }, {
  ^bb0(%v: f32, %j: i64, %w: f32, %k: i64):
    %true = arith.constant true
    %greater = arith.cmpf ogt, %v, %w : f32
    %v_nan = arith.cmpf une, %v, %v : f32
    %w_nan = arith.cmpf une, %w, %w : f32
    %w_number = arith.xori %w_nan, %true : i1
    %only_v = arith.andi %v_nan, %w_number : i1
    %wins = arith.ori %greater, %only_v : i1
    %equal = arith.cmpf oeq, %v, %w : f32
    %both_nan = arith.andi %v_nan, %w_nan : i1
    %ties = arith.ori %equal, %both_nan : i1
    %earlier = arith.cmpi slt, %j, %k : i64
    %first = arith.andi %ties, %earlier : i1
    %takes = arith.ori %wins, %first : i1
    %value = arith.select %takes, %v, %w : f32
    %index = arith.select %takes, %j, %k : i64
    %state = builtin.unrealized_conversion_cast %value, %index : f32, i64 to tuple<f32, i64>
    "fold.yield"(%state) : (tuple<f32, i64>) -> ()
  }) {dims = array<i64: 1>, commutative = true}
    : (tuple<tensor<?x?xf32>, tensor<?x?xi64>>) -> tuple<tensor<?xf32>, tensor<?xi64>>
  %parts:2 = builtin.unrealized_conversion_cast %best
    : tuple<tensor<?xf32>, tensor<?xi64>> to tensor<?xf32>, tensor<?xi64>
  return %parts#1 : tensor<?xi64>
}

// 1. distribute: a thread holds four values and their four numbers. Three stages, each on the pair; the row's number is
// the CTA's, and only the index is stored.
//
// DISTRIBUTE:       gpu.func @argmax
// DISTRIBUTE:         %[[MINE:.*]] = "fold.thread_reduce"
// DISTRIBUTE:           "fold.load"{{.*}} -> vector<4xf32>
// DISTRIBUTE:           "fold.position"{{.*}} -> vector<4xi64>
// DISTRIBUTE:         {step = 1024 : i64, unroll = 4 : i64} : (i32, i32, tuple<vector<4xf32>, vector<4xi64>>) -> tuple<f32, i64>
// DISTRIBUTE:         %[[OURS:.*]] = "fold.warp_reduce"(%[[MINE]])
// DISTRIBUTE:         %[[BUFFERS:.*]]:2 = "fold.shared_store"({{.*}}, %[[OURS]])
// DISTRIBUTE:         %[[ALL:.*]] = "fold.interwarp_accumulate"({{.*}}, %[[BUFFERS]]#0, %[[BUFFERS]]#1)
// DISTRIBUTE:         %[[PARTS:.*]]:2 = builtin.unrealized_conversion_cast %[[ALL]]
// DISTRIBUTE-NEXT:    "fold.store"(%[[PARTS]]#1,
// DISTRIBUTE-NOT:     fold.grid_finish

// 2. lower-global-access: the numbers are arithmetic on the index now, one for each element of the vector.
//
// ACCESS-NOT:     fold.position
// ACCESS:         "fold.thread_reduce"
// ACCESS:           llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// ACCESS-COUNT-4:   arith.extsi %{{.*}} : i32 to i64
// ACCESS:           vector.from_elements %{{.*}} : vector<4xi64>

// 3. lower-thread-reduce: the loop carries both vectors. The comparisons and selects of the combine run on four elements
// at a time; then halves meet, down to one pair.
//
// THREAD:         scf.for {{.*}} -> (vector<4xf32>, vector<4xi64>)
// THREAD-COUNT-4:   llvm.load
// THREAD:           arith.cmpf ogt, %{{.*}}, %{{.*}} : vector<4xf32>
// THREAD:           arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<4xi1>, vector<4xi64>
// THREAD:         vector.shuffle
// THREAD:         arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<2xi1>, vector<2xi64>
// THREAD:         %[[VALUE:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// THREAD-NEXT:    %[[INDEX:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : i64
// THREAD-NEXT:    %[[PAIR:.*]] = builtin.unrealized_conversion_cast %[[VALUE]], %[[INDEX]]
// THREAD-NEXT:    "fold.warp_reduce"(%[[PAIR]])

// 4. lower-warp-shuffle: in each of the five steps both values are traded, then compared.
//
// WARP:           gpu.shuffle xor %{{.*}}, %c1_i32, %c32_i32 : f32
// WARP-NEXT:      gpu.shuffle xor %{{.*}}, %c1_i32, %c32_i32 : i64
// WARP:           gpu.shuffle xor %{{.*}}, %c16_i32, %c32_i32 : f32
// WARP-NEXT:      gpu.shuffle xor %{{.*}}, %c16_i32, %c32_i32 : i64
// WARP:           "fold.shared_store"

// 5. lower-shared-store: a buffer for the values, another for the numbers; one barrier for both.
//
// STORE-DAG:      llvm.mlir.global internal @partials_0() {{.*}} : !llvm.array<8 x f32>
// STORE-DAG:      llvm.mlir.global internal @partials_1() {{.*}} : !llvm.array<8 x i64>
// STORE:          gpu.barrier
// STORE-NEXT:     "fold.interwarp_accumulate"

// 6. lower-interwarp-accumulate: eight pairs, three steps. The tuple has gone: nothing of the fold dialect is left.
//
// ACCUMULATE:     llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
// ACCUMULATE:     llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> i64
// ACCUMULATE:     gpu.shuffle xor %{{.*}}, %c4_i32, %c32_i32 : f32
// ACCUMULATE:     scf.if
// ACCUMULATE:       llvm.store %{{.*}}, %{{.*}} {alignment = 8 : i64} : i64, !llvm.ptr<1>
// ACCUMULATE-NOT: fold.thread_reduce
// ACCUMULATE-NOT: fold.warp_reduce

// 7. PTX.
//
// PTX:              .visible .entry argmax(
// PTX:              .maxntid 256

// Four vector loads in the unrolled loop, one in the next, four single ones for the tail.
//
// LOADS-COUNT-5:    ld.global.nc.v4
// LOADS-COUNT-4:    ld.global.nc.b32
// LOADS-NOT:        ld.global

// 5 + 3 steps; a 64-bit number is two words, so three shuffles a step.
//
// SHUFFLES-COUNT-24: shfl.sync.bfly
// SHUFFLES-NOT:      shfl.sync

// BARRIERS-COUNT-1: bar.sync
// BARRIERS-NOT:     bar.sync

// One CTA a row: no atomics. No spills, no calls.
//
// CLEAN-NOT:        atom.
// CLEAN-NOT:        .local
// CLEAN-NOT:        __nv_
// CLEAN-NOT:        call
