// The whole way of a ReLU that keeps its mask as bits: a program without a fold, with two results of each element.
// Read it from top to bottom: each part shows what the IR looks like after one more pass.
//
// The plan: a row belongs to the 32 lanes of a warp, and a lane owns one access of 16 bytes. So a lane has 4 truth
// values, and 8 lanes that follow each other have the 32 of a word. The fact `full` says that every access lies in the
// row as a whole: nothing is checked.

// RUN: warpfold-opt %s | FileCheck %s --check-prefix=PROGRAM
// RUN: warpfold-opt %s --pass-pipeline='%{through:distribute},canonicalize,cse' | FileCheck %s --check-prefix=DISTRIBUTE
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-global-access},canonicalize,cse' | FileCheck %s --check-prefix=ACCESS
// RUN: warpfold-opt %s --pass-pipeline='%{through:lower-ballot},canonicalize,cse' | FileCheck %s --check-prefix=BALLOT
// RUN: warpfold-opt %s --pass-pipeline='%{ptx}' | %{lines} > %t.ptx
// RUN: FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: FileCheck %s --check-prefix=CLEAN < %t.ptx

// 0. The tensor program. The mask is a tensor of truth values; that it lies in memory as bits is a fact of the kernel
// (`stores`), as the layout of any array is. `ugt` is true for NaN, which a ReLU passes on.
//
// PROGRAM:      func.func @relu(%[[X:.*]]: tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xi1>)
// PROGRAM:        %[[ZEROS:.*]] = "fold.broadcast"
// PROGRAM-NEXT:   %[[Y:.*]] = arith.maximumf %[[X]], %[[ZEROS]] : tensor<?x?xf32>
// PROGRAM-NEXT:   %[[MASK:.*]] = arith.cmpf ugt, %[[X]], %[[ZEROS]] : tensor<?x?xf32>
// PROGRAM-NEXT:   return %[[Y]], %[[MASK]]
func.func @relu(%x: tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xi1>) attributes {
    fold.target = "sm_90a",
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 4, unroll = 1, lanes = 32, warps = 1, warps_kept = 1,
                 tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0, finish = "cta",
                 tree = "tree-v7", resident = "registers", held = 1},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["aligned"], stores = ["aligned", "bits"],
                  store_vector = false, ragged = false, full = true}} {
  %zero = arith.constant 0.0 : f32
  %zeros = "fold.broadcast"(%zero) {dims = array<i64: 0, 1>} : (f32) -> tensor<?x?xf32>
  %y = arith.maximumf %x, %zeros : tensor<?x?xf32>
  %bits = arith.cmpf ugt, %x, %zeros : tensor<?x?xf32>
  return %y, %bits : tensor<?x?xf32>, tensor<?x?xi1>
}

// 1. distribute: tensors become fragments of 4 elements. One access is read; the ReLU is written as it was read. The
// mask goes through `fold.ballot`, whose word belongs to 8 lanes, and each lane offers it to the store.
//
// DISTRIBUTE:      %[[F:.*]] = "fold.load"(%arg0, {{.*}} -> vector<4xf32>
// DISTRIBUTE-NEXT: %[[M:.*]] = arith.maximumf %[[F]], %{{.*}} : vector<4xf32>
// DISTRIBUTE-NEXT: %[[T:.*]] = arith.cmpf ugt, %[[F]], %{{.*}} : vector<4xf32>
// DISTRIBUTE-NEXT: "fold.element_store"(%[[M]], %arg1, {{.*}}access = "aligned"
// DISTRIBUTE-NEXT: %[[WORD:.*]] = "fold.ballot"(%[[T]]) : (vector<4xi1>) -> i32
// DISTRIBUTE-NEXT: "fold.element_store"(%[[WORD]], %arg2, {{.*}}access = "bits"

// 2. lower-global-access: addresses and accesses. The offset of a bit is that of its element. The lane whose first bit
// is number 0 of a word stores it, at the offset divided by 32. The ballot stays outside of the branch: all lanes of
// the warp take part in it.
//
// ACCESS:      llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// ACCESS:      scf.if
// ACCESS:        llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// ACCESS:      %[[W:.*]] = "fold.ballot"
// ACCESS:      %[[BIT:.*]] = arith.andi %[[AT:.*]], %c31_i32 : i32
// ACCESS-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %[[BIT]], %c0_i32 : i32
// ACCESS-NEXT: %[[HERE:.*]] = arith.andi %{{.*}}, %[[FIRST]] : i1
// ACCESS-NEXT: scf.if %[[HERE]] {
// ACCESS-NEXT:   %[[PLACE:.*]] = arith.shrsi %[[AT]], %c5_i32 : i32
// ACCESS-NEXT:   llvm.getelementptr %arg2[%[[PLACE]]]
// ACCESS-NEXT:   llvm.store %[[W]], %{{.*}} {alignment = 4 : i64} : i32, !llvm.ptr<1>

// 3. lower-ballot: a lane puts its 4 bits side by side and moves them to their place, 4 times its number among 8. Three
// exchanges join the registers: of pairs of lanes, of fours, of all eight.
//
// BALLOT-COUNT-3: arith.ori
// BALLOT:      %[[LANE:.*]] = gpu.lane_id
// BALLOT:      arith.andi %{{.*}}, %c7_i32 : i32
// BALLOT-NEXT: arith.muli %{{.*}}, %c4_i32 : i32
// BALLOT-NEXT: %[[OWN:.*]] = arith.shli
// BALLOT-NEXT: %[[ONE:.*]], %{{.*}} = gpu.shuffle xor %[[OWN]], %c1_i32, %c32_i32 : i32
// BALLOT-NEXT: %[[PAIR:.*]] = arith.ori %[[OWN]], %[[ONE]] : i32
// BALLOT-NEXT: %[[TWO:.*]], %{{.*}} = gpu.shuffle xor %[[PAIR]], %c2_i32, %c32_i32 : i32
// BALLOT-NEXT: %[[FOUR:.*]] = arith.ori %[[PAIR]], %[[TWO]] : i32
// BALLOT-NEXT: %[[REST:.*]], %{{.*}} = gpu.shuffle xor %[[FOUR]], %c4_i32, %c32_i32 : i32
// BALLOT-NEXT: arith.ori %[[FOUR]], %[[REST]] : i32

// 4. The PTX has one load and one store of 16 bytes, three shuffles, and a store of a word.
//
// PTX: ld.global.nc.v4.b32
// PTX: st.global.v4.b32
// PTX: shfl.sync.bfly.b32 {{.*}}, 1, 31, -1;
// PTX: shfl.sync.bfly.b32 {{.*}}, 2, 31, -1;
// PTX: shfl.sync.bfly.b32 {{.*}}, 4, 31, -1;
// PTX: st.global.b32

// No barrier, no shared memory, no loop, and nothing left of the dialect.
//
// CLEAN-NOT: bar.sync
// CLEAN-NOT: .shared
// CLEAN-NOT: fold.
