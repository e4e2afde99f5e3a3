// Distribute: who owns what. A tensor program with a plan becomes a kernel over fragments: the thread's place, a
// fold.thread_reduce with the elementwise code inside, and one stage op for each level of the plan that owns more than
// one part of the reduced axis. Every other level leaves nothing behind: that is all that tells these kernels apart.

// RUN: warpfold-opt %s --split-input-file --pass-pipeline='builtin.module(distribute,canonicalize,cse)' | FileCheck %s

// --- one level: a thread a row ---

// One lane, one warp, one CTA along the reduced axis: the thread's own loop is all there is.
// CHECK-LABEL: gpu.module @thread_a_row_module
// CHECK:         gpu.func @thread_a_row
// CHECK-SAME:      kernel attributes {known_block_size = array<i32: 32, 1, 1>}
// CHECK:           fold.thread_reduce
// CHECK:           {step = 1 : i64, unroll = 1 : i64}
// CHECK-NOT:       fold.warp_reduce
// CHECK-NOT:       fold.shared_store
// CHECK-NOT:       fold.grid_finish
// CHECK:           fold.store
// CHECK-NOT:     func.func
func.func @thread_a_row(%x: tensor<?x?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 1, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["strided"], store_vector = false,
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

// -----

// --- two levels: four lanes a row ---

// A warp takes 8 rows, two warps 16. The target of the function becomes that of the module.
// CHECK-LABEL: gpu.module @four_lanes_a_row_module attributes {fold.target = "sm_80"}
// Parameters: input, output, n_kept, n_reduced, chunk, count, then strides: kept and reduced of x, kept of the result.
// CHECK:      gpu.func @four_lanes_a_row
// CHECK-SAME:   (%[[X:.*]]: !llvm.ptr<1>, %[[OUT:.*]]: !llvm.ptr<1>, %[[N_KEPT:.*]]: i32, %[[N:.*]]: i32, %{{.*}}: i32, %{{.*}}: i32, %[[SK:.*]]: i32, %[[SR:.*]]: i32, %[[SO:.*]]: i32)
// CHECK-SAME:   known_block_size = array<i32: 64, 1, 1>
// thread = warp * 32 + lane; the lane's two lowest bits are its number along the row, the other three its row.
// CHECK:        %[[LANE32:.*]] = arith.andi %{{.*}}, %c31_i32 : i32
// CHECK-NEXT:   %[[WARP:.*]] = arith.shrui %{{.*}}, %c5_i32 : i32
// CHECK-NEXT:   %[[LANE:.*]] = arith.andi %[[LANE32]], %c3_i32 : i32
// CHECK-NEXT:   %[[ROW:.*]] = arith.shrui %[[LANE32]], %c2_i32 : i32
// CHECK-NEXT:   %[[WARPS:.*]] = arith.muli %[[WARP]], %c8_i32 : i32
// CHECK-NEXT:   %[[SLOT:.*]] = arith.addi %[[WARPS]], %[[ROW]] : i32
// CHECK:        %[[TILES:.*]] = arith.muli %{{.*}}, %c16_i32 : i32
// CHECK-NEXT:   %[[KEPT:.*]] = arith.addi %[[TILES]], %[[SLOT]] : i32
// CHECK-NEXT:   %[[IN_RANGE:.*]] = arith.cmpi slt, %[[KEPT]], %[[N_KEPT]] : i32
// The first lane of each row writes, if there is such a row.
// CHECK-NEXT:   %[[LEADS:.*]] = arith.cmpi eq, %[[LANE]], %c0_i32 : i32
// CHECK-NEXT:   %[[OWNER:.*]] = arith.andi %[[IN_RANGE]], %[[LEADS]] : i1
// Interleaved: lane i begins at element 2 i (vectors of two), the next access is 8 elements on. A thread whose row does
// not exist has nothing to do.
// CHECK-NEXT:   %[[BEGIN:.*]] = arith.muli %[[LANE]], %c2_i32 : i32
// CHECK-NEXT:   %[[END:.*]] = arith.select %[[IN_RANGE]], %[[N]], %{{.*}} : i32
// CHECK-NEXT:   %[[MINE:.*]] = "fold.thread_reduce"(%[[BEGIN]], %[[END]], %cst) ({
// CHECK-NEXT:   ^bb0(%[[R:.*]]: i32):
// CHECK-NEXT:     %[[V:.*]] = "fold.load"(%[[X]], %[[KEPT]], %[[R]], %[[SK]], %[[SR]])
// CHECK-SAME:       {access = "aligned", axis = "reduced", kept_rank = 1 : i64, reduced_rank = 1 : i64}
// What lies past the row's end counts as the identity; the squares are computed in place.
// CHECK:          %[[SQUARE:.*]] = arith.mulf %[[V]], %[[V]] : vector<2xf32>
// CHECK:          %[[LIVE:.*]] = "fold.live"(%[[R]], %c0_i32, %[[END]]) : (i32, i32, i32) -> vector<2xi1>
// CHECK:          arith.select %[[LIVE]], %[[SQUARE]], %cst : vector<2xi1>, vector<2xf32>
// CHECK:        {step = 8 : i64, unroll = 4 : i64} : (i32, i32, vector<2xf32>) -> f32
// The lane level.
// CHECK-NEXT:   %[[OURS:.*]] = "fold.warp_reduce"(%[[MINE]]) ({
// CHECK:        {lanes = 4 : i64, ordered = false, stride = 1 : i64}
// After the reduction: its square root, by all lanes, stored by one.
// CHECK-NEXT:   %[[NORM:.*]] = math.sqrt %[[OURS]] : f32
// CHECK-NEXT:   "fold.store"(%[[NORM]], %[[OUT]], %[[KEPT]], %[[OWNER]], %[[SO]])
func.func @four_lanes_a_row(%x: tensor<?x?xf32>) -> tensor<?xf32> attributes {
    fold.target = "sm_80",
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 2, unroll = 4, lanes = 4, warps = 1,
                 warps_kept = 2, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["aligned"], store_vector = false,
                  ragged = false}} {
  %squares = arith.mulf %x, %x : tensor<?x?xf32>
  %r = "fold.reduce"(%squares) ({
    %zero = arith.constant 0.0 : f32
    "fold.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {dims = array<i64: 1>, commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  %norm = math.sqrt %r : tensor<?xf32>
  return %norm : tensor<?xf32>
}

// -----

// --- columns: registers and warps, no lanes ---

// Neighbouring lanes read neighbouring columns, four each; the four warps share the rows. No lane has a part of another
// lane's column, so there is no lane stage.
// An SM must be able to hold eight of these CTAs, half its threads, so that ptxas has registers for an address an
// access, and as many CTAs run as there are.
// CHECK-LABEL: gpu.func @columns
// CHECK-SAME:   nvvm.minctasm = 8 : i32
// CHECK:        %[[LANE:.*]] = arith.andi %{{.*}}, %c31_i32 : i32
// CHECK-NEXT:   %[[WARP:.*]] = arith.shrui %{{.*}}, %c5_i32 : i32
// CHECK:        %[[SLOT:.*]] = arith.muli %{{.*}}, %c4_i32 : i32
// CHECK:        %[[MINE:.*]] = "fold.thread_reduce"
// CHECK:          "fold.load"{{.*}} {access = "aligned", axis = "kept", kept_rank = 1 : i64, reduced_rank = 1 : i64}
// Elements along the kept axis are all live, or none is: one bit for the four of them.
// CHECK-NEXT:     %[[LIVE:.*]] = "fold.live"{{.*}} -> i1
// CHECK-NEXT:     arith.select %[[LIVE]], {{.*}} : vector<4xf32>
// CHECK:        {step = 4 : i64, unroll = 2 : i64} : (i32, i32, vector<4xf32>) -> vector<4xf32>
// CHECK-NOT:    fold.warp_reduce
// CHECK:        %[[BUFFER:.*]] = "fold.shared_store"(%{{.*}}, %{{.*}}, %{{.*}}, %[[MINE]]) {rows = 4 : i64, slots = 128 : i64}
// When the warps have met, the threads lie anew: 128 results, 128 threads, one each. So each takes up the four states of
// one column, where it had four columns before.
// CHECK-NEXT:   %[[FIRST:.*]] = arith.muli %[[WARP]], %c32_i32 : i32
// CHECK-NEXT:   %[[OWN:.*]] = arith.addi %[[FIRST]], %[[LANE]] : i32
// CHECK:        %[[OURS:.*]] = "fold.interwarp_accumulate"(%{{.*}}, %[[OWN]], %[[BUFFER]])
// CHECK:        {lanes = 1 : i64, ordered = false, rows = 4 : i64, slots = 128 : i64, stride = 32 : i64} {{.*}} -> f32
// CHECK-NEXT:   "fold.store"(%[[OURS]], {{.*}} {kept_rank = 1 : i64, reduced_rank = 0 : i64, vector = false}
func.func @columns(%x: tensor<?x?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = "kept", walk = "interleaved", vector = 4, unroll = 2, lanes = 1, warps = 4,
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

// -----

// A middle axis: columns of two dims, whose elements have a stride each. The results are those of a new array: they
// follow each other over both dims (`flat`), so a store looks at the inner stride alone, and four of them are side by
// side. What is not flat has the outer stride and the inner size too.
// CHECK-LABEL: gpu.func @middle_axis
// CHECK-SAME:    (%[[X:.*]]: !llvm.ptr<1>, %[[OUT:.*]]: !llvm.ptr<1>, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %[[INNER:.*]]: i32, %[[S0:.*]]: i32, %[[S1:.*]]: i32, %[[SR:.*]]: i32, %{{.*}}: i32, %[[SO:.*]]: i32)
// CHECK:           "fold.load"(%[[X]], %[[KEPT:[0-9]+]], %{{.*}}, %[[INNER]], %[[S0]], %[[S1]], %[[SR]]) {access = "aligned", axis = "kept", kept_rank = 2 : i64, reduced_rank = 1 : i64}
// CHECK:         "fold.store"(%{{.*}}, %[[OUT]], %[[KEPT]], %{{.*}}, %[[SO]]) {kept_rank = 1 : i64, reduced_rank = 0 : i64, vector = true}
func.func @middle_axis(%x: tensor<?x?x?xf32>) -> tensor<?x?xf32> attributes {
    fold.plan = {fast = "kept", walk = "interleaved", vector = 4, unroll = 2, lanes = 1, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 2, reduced_rank = 1, index_bits = 32, access = ["aligned"], store_vector = true,
                  ragged = false, flat = true}} {
  %r = "fold.reduce"(%x) ({
    %zero = arith.constant 0.0 : f32
    "fold.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {dims = array<i64: 2>, commutative = true} : (tensor<?x?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// -----

// Results in an array of other strides.
// CHECK-LABEL: gpu.func @not_flat
// CHECK-SAME:    %[[INNER:[a-z0-9]+]]: i32, %{{[a-z0-9]+}}: i32, %{{[a-z0-9]+}}: i32, %{{[a-z0-9]+}}: i32, %[[O0:[a-z0-9]+]]: i32, %[[O1:[a-z0-9]+]]: i32)
// CHECK:         "fold.store"({{.*}}, %[[INNER]], %[[O0]], %[[O1]]) {kept_rank = 2 : i64, reduced_rank = 0 : i64, vector = false}
func.func @not_flat(%x: tensor<?x?x?xf32>) -> tensor<?x?xf32> attributes {
    fold.plan = {fast = "kept", walk = "interleaved", vector = 4, unroll = 2, lanes = 1, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 2, reduced_rank = 1, index_bits = 32, access = ["aligned"], store_vector = false,
                  ragged = false}} {
  %r = "fold.reduce"(%x) ({
    %zero = arith.constant 0.0 : f32
    "fold.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {dims = array<i64: 2>, commutative = true} : (tensor<?x?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// -----

// --- all levels: the mean of a whole array ---

// CTA y takes chunk y of the elements; its eight warps meet in shared memory; the last CTA to come reduces the partials
// in just the same stages, and stores.
// CHECK-LABEL: gpu.func @mean
// CHECK-SAME:    (%{{.*}}: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>, %[[PARTIALS:.*]]: !llvm.ptr<1>, %[[COUNTER:.*]]: !llvm.ptr<1>, %[[N_KEPT:.*]]: i64, %[[N:.*]]: i64, %[[CHUNK:.*]]: i64, %[[COUNT:.*]]: i64, %{{.*}}: i64)
// CHECK:         %[[FIRST:.*]] = arith.muli %{{.*}}, %[[CHUNK]] : i64
// CHECK-NEXT:    %[[NEXT:.*]] = arith.addi %[[FIRST]], %[[CHUNK]] : i64
// CHECK-NEXT:    arith.minsi %[[NEXT]], %[[N]] : i64
// CHECK:         "fold.thread_reduce"
// CHECK:         {step = 1024 : i64, unroll = 8 : i64} : (i64, i64, vector<4xf32>) -> f32
// CHECK:         "fold.warp_reduce"
// CHECK:         "fold.shared_store"
// CHECK:         %[[CTA:.*]] = "fold.interwarp_accumulate"
// CHECK:         %[[PARTS:.*]] = arith.index_cast %grid_dim_y : index to i64
// CHECK-NEXT:    "fold.grid_finish"(%{{.*}}, %[[PARTS]], %{{.*}}, %[[N_KEPT]], %{{.*}}, %[[CTA]], %[[PARTIALS]], %[[COUNTER]])
// The second round: partials are read past the caches, four at a time.
// CHECK:           "fold.thread_reduce"
// CHECK:             "fold.load"(%[[PARTIALS]], {{.*}}access = "coherent"
// CHECK:           {step = 256 : i64, unroll = 4 : i64} : (i64, i64, f32) -> f32
// CHECK:           "fold.warp_reduce"
// CHECK:           "fold.shared_store"
// CHECK:           %[[ALL:.*]] = "fold.interwarp_accumulate"
// The count is a kernel argument; dividing by it is done once, at the very end.
// CHECK:           %[[DIVISOR:.*]] = arith.sitofp %[[COUNT]] : i64 to f32
// CHECK-NEXT:      %[[MEAN:.*]] = arith.divf %[[ALL]], %[[DIVISOR]] : f32
// CHECK-NEXT:      "fold.store"(%[[MEAN]]
// CHECK:         {finish = "last_block"}
func.func @mean(%x: tensor<?xf32>) -> tensor<f32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 4, unroll = 8, lanes = 32, warps = 8,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "last_block", tree = "tree-v7"},
    fold.facts = {kept_rank = 0, reduced_rank = 1, index_bits = 64, access = ["aligned"], store_vector = false,
                  ragged = false}} {
  %r = "fold.reduce"(%x) ({
    %zero = arith.constant 0.0 : f32
    "fold.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {dims = array<i64: 0>, commutative = true} : (tensor<?xf32>) -> tensor<f32>
  %n = "fold.count"() : () -> i64
  %float = arith.sitofp %n : i64 to f32
  %divisor = "fold.broadcast"(%float) {dims = array<i64>} : (f32) -> tensor<f32>
  %mean = arith.divf %r, %divisor : tensor<f32>
  return %mean : tensor<f32>
}

// -----

// --- numbers of rows and of elements ---

// A program that reads its rows again has several numberings, each with a base and strides among the kernel's parameters.
// The number of a row is made once, as one value for all elements of an access; those of elements for each access.
// CHECK-LABEL: gpu.func @causal
// CHECK-SAME:    %[[ROW_BASE:[^:]*]]: i32, %[[ROW_STRIDE:[^:]*]]: i32, %[[BASE:[^:]*]]: i32, %[[STRIDE:[^:]*]]: i32) kernel
// CHECK:         %[[ROW:.*]] = arith.minsi
// CHECK:         %[[COLUMNS:.*]] = "fold.position"(%[[ROW]], %{{.*}}, %[[BASE]], %[[STRIDE]]) {axis = "reduced", kept_rank = 0 : i64, reduced_rank = 1 : i64} : (i32, i32, i32, i32) -> vector<4xi32>
// CHECK:         %[[NUMBER:.*]] = "fold.position"(%[[ROW]], %{{.*}}, %[[ROW_BASE]], %[[ROW_STRIDE]]) {axis = "reduced", kept_rank = 1 : i64, reduced_rank = 0 : i64} : (i32, i32, i32, i32) -> i32
// CHECK:         %[[ROWS:.*]] = vector.broadcast %[[NUMBER]] : i32 to vector<4xi32>
// CHECK:         arith.cmpi sle, %[[COLUMNS]], %[[ROWS]]
func.func @causal(%x: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 4, unroll = 1, lanes = 32, warps = 1,
                 warps_kept = 4, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7", resident = "registers", held = 1},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["aligned"], store_vector = false,
                  ragged = false, stores = ["aligned"], numberings = ["kept", "reduced"]}} {
  %row = "fold.iota"() {dims = array<i64: 0>, numbering = 0} : () -> tensor<?xi32>
  %column = "fold.iota"() {dims = array<i64: 1>, numbering = 1} : () -> tensor<?x?xi32>
  %rows = "fold.broadcast"(%row) {dims = array<i64: 1>} : (tensor<?xi32>) -> tensor<?x?xi32>
  %below = arith.cmpi sle, %column, %rows : tensor<?x?xi32>
  %zero = arith.constant 0.0 : f32
  %zeros = "fold.broadcast"(%zero) {dims = array<i64: 0, 1>} : (f32) -> tensor<?x?xf32>
  %y = arith.select %below, %x, %zeros : tensor<?x?xi1>, tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// -----

// --- argmax: a state of two values ---

// The number of each element becomes a fold.position with the index stride and base among the kernel's parameters. The
// state is one tuple, and only its second half is stored.
// CHECK-LABEL: gpu.func @argmax
// CHECK:         %[[IDENTITY:.*]] = builtin.unrealized_conversion_cast %{{.*}}, %{{.*}} : vector<4xf32>, vector<4xi64> to tuple<vector<4xf32>, vector<4xi64>>
// CHECK:         "fold.thread_reduce"(%{{.*}}, %{{.*}}, %[[IDENTITY]]) ({
// CHECK-NEXT:    ^bb0(%[[R:.*]]: i32):
// CHECK:           "fold.load"
// CHECK:           "fold.position"(%{{.*}}, %[[R]], %{{.*}}, %{{.*}}) {axis = "reduced", kept_rank = 0 : i64, reduced_rank = 1 : i64} : (i32, i32, i32, i32) -> vector<4xi64>
// Both values of an element past the end are replaced by the identity's.
// CHECK:           %[[LIVE:.*]] = "fold.live"
// CHECK:           arith.select %[[LIVE]], %{{.*}}, %{{.*}} : vector<4xi1>, vector<4xf32>
// CHECK:           arith.select %[[LIVE]], %{{.*}}, %{{.*}} : vector<4xi1>, vector<4xi64>
// CHECK:         -> tuple<f32, i64>
// CHECK:         %[[OURS:.*]] = "fold.warp_reduce"
// CHECK:         (tuple<f32, i64>) -> tuple<f32, i64>
// CHECK:         %[[PARTS:.*]]:2 = builtin.unrealized_conversion_cast %[[OURS]] : tuple<f32, i64> to f32, i64
// CHECK:         "fold.store"(%[[PARTS]]#1,
func.func @argmax(%x: tensor<?x?xf32>) -> tensor<?xi64> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 4, unroll = 1, lanes = 32, warps = 1,
                 warps_kept = 4, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["shifted"], store_vector = false,
                  ragged = false}} {
  %i = "fold.iota"() {dims = array<i64: 1>} : () -> tensor<?x?xi64>
  %s = builtin.unrealized_conversion_cast %x, %i
    : tensor<?x?xf32>, tensor<?x?xi64> to tuple<tensor<?x?xf32>, tensor<?x?xi64>>
  %r = "fold.reduce"(%s) ({
    %lowest = arith.constant 0xFF800000 : f32
    %last = arith.constant 9223372036854775807 : i64
    %state = builtin.unrealized_conversion_cast %lowest, %last : f32, i64 to tuple<f32, i64>
    "fold.yield"(%state) : (tuple<f32, i64>) -> ()
  }, {
  ^bb0(%v: f32, %j: i64, %w: f32, %k: i64):
    %better = arith.cmpf ogt, %v, %w : f32
    %value = arith.select %better, %v, %w : f32
    %index = arith.select %better, %j, %k : i64
    %state = builtin.unrealized_conversion_cast %value, %index : f32, i64 to tuple<f32, i64>
    "fold.yield"(%state) : (tuple<f32, i64>) -> ()
  }) {dims = array<i64: 1>, commutative = true}
    : (tuple<tensor<?x?xf32>, tensor<?x?xi64>>) -> tuple<tensor<?xf32>, tensor<?xi64>>
  %parts:2 = builtin.unrealized_conversion_cast %r
    : tuple<tensor<?xf32>, tensor<?xi64>> to tensor<?xf32>, tensor<?xi64>
  return %parts#1 : tensor<?xi64>
}

// -----

// --- a tile: rows are reduced from a copy in shared memory ---

// Two lanes a row, but the CTA owns more rows than its 128 slots: as many as fit 16 KiB. What a tile is comes last among
// the parameters: results of a CTA, elements from one CTA's first to the next one's, from its first to its last, of the array.
// CHECK-LABEL: gpu.func @odd_rows
// CHECK-SAME:    (%[[X:.*]]: !llvm.ptr<1>, %[[OUT:.*]]: !llvm.ptr<1>, %[[N_KEPT:.*]]: i32, %[[N:.*]]: i32, %{{.*}}: i32, %{{.*}}: i32, %[[SK:.*]]: i32, %[[SR:.*]]: i32, %[[SO:.*]]: i32, %[[RESULTS:.*]]: i32, %[[PITCH:.*]]: i32, %[[LENGTH:.*]]: i32, %[[EXTENT:.*]]: i32)
// CHECK-SAME:    known_block_size = array<i32: 256, 1, 1>
// All threads copy, then wait for each other: the only barrier.
// CHECK:         %[[BLOCK:.*]] = arith.index_cast %block_id_x : index to i32
// CHECK-NEXT:    %[[AT:.*]] = arith.muli %[[BLOCK]], %[[PITCH]] : i32
// CHECK-NEXT:    %[[COPY:.*]]:2 = "fold.tile_copy"(%[[X]], %[[AT]], %[[LENGTH]], %[[EXTENT]], %{{.*}}) {bytes = 16384 : i64, item = 4 : i64, threads = 256 : i64}
// CHECK-NEXT:    gpu.barrier
// The CTA's results, or what is left of them, 128 at a time. All threads go round equally often, since lanes meet in
// shuffles.
// CHECK-NEXT:    %[[BEGIN:.*]] = arith.muli %[[BLOCK]], %[[RESULTS]] : i32
// CHECK-NEXT:    %[[NEXT:.*]] = arith.addi %[[BEGIN]], %[[RESULTS]] : i32
// CHECK-NEXT:    %[[END:.*]] = arith.minsi %[[NEXT]], %[[N_KEPT]] : i32
// CHECK-NEXT:    scf.for %[[GROUP:.*]] = %[[BEGIN]] to %[[END]] step %c128_i32
// CHECK-NEXT:      %[[KEPT:.*]] = arith.addi %[[GROUP]], %{{.*}} : i32
// CHECK-NEXT:      %[[IN_RANGE:.*]] = arith.cmpi slt, %[[KEPT]], %[[END]] : i32
// From here on all is as without a tile, but where elements are read.
// CHECK:           "fold.thread_reduce"
// CHECK:             "fold.load"(%[[COPY]]#0, %[[KEPT]], %{{.*}}, %[[SK]], %[[SR]], %[[COPY]]#1) {access = "tile", axis = "reduced", kept_rank = 1 : i64, reduced_rank = 1 : i64}
// CHECK:           {step = 2 : i64, unroll = 1 : i64}
// CHECK:           "fold.warp_reduce"
// CHECK:           "fold.store"(%{{.*}}, %[[OUT]], %[[KEPT]], %{{.*}}, %[[SO]])
// CHECK-NOT:     gpu.barrier
// CHECK:         gpu.return
func.func @odd_rows(%x: tensor<?x?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 2, warps = 1,
                 warps_kept = 8, tile_bytes = 16384, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["tile"], store_vector = false,
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

// -----

// Inputs share a tile by the size of their elements: here floats and the bytes of a mask, 4 to 1, in whole accesses. An
// input that all results share, as the weights here, is read where it is.
// CHECK-LABEL: gpu.func @weighted_rows
// CHECK:         %[[SLOT:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
// CHECK:         "fold.tile_copy"{{.*}} {bytes = 816 : i64, item = 4 : i64, threads = 32 : i64}
// CHECK:         "fold.tile_copy"{{.*}} {bytes = 192 : i64, item = 1 : i64, threads = 32 : i64}
// CHECK-NEXT:    gpu.barrier
// A thread a row meets no other: it begins at its own slot and stops after its last row, so that every round has one.
// CHECK-NEXT:    %[[BEGIN:.*]] = arith.muli
// CHECK-NEXT:    %[[NEXT:.*]] = arith.addi %[[BEGIN]], %{{.*}} : i32
// CHECK-NEXT:    %[[END:.*]] = arith.minsi %[[NEXT]], %{{.*}} : i32
// CHECK-NEXT:    %[[OWN:.*]] = arith.addi %[[BEGIN]], %[[SLOT]] : i32
// CHECK-NEXT:    scf.for %[[KEPT:.*]] = %[[OWN]] to %[[END]] step %c32_i32
// CHECK-NEXT:      "fold.thread_reduce"
// CHECK:             "fold.load"(%{{.*}}#0, %[[KEPT]], {{.*}} {access = "tile_strided", {{.*}} -> i1
// CHECK:             "fold.load"(%{{.*}}#0, %[[KEPT]], {{.*}} {access = "tile", {{.*}} -> f32
// CHECK:             "fold.load"({{.*}} {access = "strided", {{.*}} : (!llvm.ptr<1>, {{.*}} -> f32
// CHECK:           "fold.store"(%{{.*}}, %{{.*}}, %[[KEPT]], %true, %{{.*}})
func.func @weighted_rows(%x: tensor<?x?xf32>, %weights: tensor<?x?xf32>, %mask: tensor<?x?xi1>) -> tensor<?xf32>
    attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 1, warps = 1,
                 warps_kept = 1, tile_bytes = 1024, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["tile", "strided", "tile_strided"],
                  store_vector = false, ragged = false}} {
  %weighted = arith.mulf %x, %weights : tensor<?x?xf32>
  %none = arith.constant 0.0 : f32
  %nothing = "fold.broadcast"(%none) {dims = array<i64: 0, 1>} : (f32) -> tensor<?x?xf32>
  %used = arith.select %mask, %weighted, %nothing : tensor<?x?xi1>, tensor<?x?xf32>
  %r = "fold.reduce"(%used) ({
    %zero = arith.constant 0.0 : f32
    "fold.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {dims = array<i64: 1>, commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

// Two halves an access. They are taken out of the words around them, so threads may read 32 bytes beyond the elements.
// CHECK-LABEL: gpu.func @rows_of_halves
// CHECK:         %[[COPY:.*]]:2 = "fold.tile_copy"{{.*}} {beyond = 32 : i64, bytes = 1024 : i64, item = 2 : i64, threads = 32 : i64}
// CHECK:         "fold.load"(%[[COPY]]#0, {{.*}}, %[[COPY]]#1) {access = "tile", {{.*}} -> vector<2xf16>
// CHECK:         {step = 2 : i64, unroll = 1 : i64} : (i32, i32, vector<2xf16>) -> f16
func.func @rows_of_halves(%x: tensor<?x?xf16>) -> tensor<?xf16> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 2, unroll = 1, lanes = 1, warps = 1,
                 warps_kept = 1, tile_bytes = 1024, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["tile"], store_vector = false,
                  ragged = false}} {
  %r = "fold.reduce"(%x) ({
    %lowest = arith.constant 0xFC00 : f16
    "fold.yield"(%lowest) : (f16) -> ()
  }, {
  ^bb0(%a: f16, %b: f16):
    %c = arith.maximumf %a, %b : f16
    "fold.yield"(%c) : (f16) -> ()
  }) {dims = array<i64: 1>, commutative = true} : (tensor<?x?xf16>) -> tensor<?xf16>
  return %r : tensor<?xf16>
}

// -----

// --- in order: the blocked walk ---

// Each of the 64 threads of a row takes a contiguous piece: a 64th of the chunk, rounded up, from piece * position on,
// and every stage keeps lower threads on the left.
// CHECK-LABEL: gpu.func @in_order
// CHECK-SAME:    (%{{.*}}: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>, %{{.*}}: i32, %[[N:.*]]: i32, %[[CHUNK:.*]]: i32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32)
// CHECK:         %[[UP:.*]] = arith.addi %[[CHUNK]], %c63_i32 : i32
// CHECK-NEXT:    %[[PIECE:.*]] = arith.shrui %[[UP]], %c6_i32 : i32
// CHECK-NEXT:    %[[BEGIN:.*]] = arith.muli %{{.*}}, %[[PIECE]] : i32
// CHECK-NEXT:    %[[STOP:.*]] = arith.addi %[[BEGIN]], %[[PIECE]] : i32
// CHECK-NEXT:    arith.minsi %[[N]], %[[STOP]] : i32
// CHECK:         {step = 1 : i64, unroll = 4 : i64}
// CHECK:         {lanes = 32 : i64, ordered = true, stride = 1 : i64}
// CHECK:         {lanes = 32 : i64, ordered = true, rows = 2 : i64, slots = 1 : i64, stride = 1 : i64}
func.func @in_order(%x: tensor<?x?xi32>) -> tensor<?xi32> attributes {
    fold.plan = {fast = "reduced", walk = "blocked", vector = 1, unroll = 4, lanes = 32, warps = 2,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["strided"], store_vector = false,
                  ragged = false}} {
  %r = "fold.reduce"(%x) ({
    %zero = arith.constant 0 : i32
    "fold.yield"(%zero) : (i32) -> ()
  }, {
  ^bb0(%a: i32, %b: i32):
    %base = arith.constant 10 : i32
    %shifted = arith.muli %a, %base : i32
    %c = arith.addi %shifted, %b : i32
    "fold.yield"(%c) : (i32) -> ()
  }) {dims = array<i64: 1>, commutative = false} : (tensor<?x?xi32>) -> tensor<?xi32>
  return %r : tensor<?xi32>
}

// Lanes that meet in each step read neighbours: each warp has a piece of whole steps, of 64 elements, and makes the steps
// of its first lane. There is no stage for lanes afterwards.
// CHECK-LABEL: gpu.func @in_order_by_steps
// CHECK-SAME:    (%{{.*}}: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>, %{{.*}}: i32, %[[N:.*]]: i32, %[[CHUNK:.*]]: i32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32)
// CHECK:         %[[UP:.*]] = arith.addi %[[CHUNK]], %c1_i32 : i32
// CHECK-NEXT:    %[[EACH:.*]] = arith.shrui %[[UP]], %c1_i32 : i32
// CHECK-NEXT:    %[[STEPS:.*]] = arith.addi %[[EACH]], %c63_i32 : i32
// CHECK-NEXT:    %[[PIECE:.*]] = arith.andi %[[STEPS]], %c-64_i32 : i32
// CHECK-NEXT:    arith.muli %{{.*}}, %[[PIECE]] : i32
// CHECK:         %[[BESIDE:.*]] = arith.muli %{{.*}}, %c2_i32 : i32
// CHECK:         "fold.thread_reduce"
// CHECK:           arith.addi %{{.*}}, %[[BESIDE]] : i32
// CHECK:           vector<2xi32>
// CHECK:         {joined = 32 : i64, step = 64 : i64, unroll = 4 : i64} : (i32, i32, i32) -> i32
// CHECK-NOT:     fold.warp_reduce
// CHECK:         {lanes = 32 : i64, ordered = true, rows = 2 : i64, slots = 1 : i64, stride = 1 : i64}
func.func @in_order_by_steps(%x: tensor<?x?xi32>) -> tensor<?xi32> attributes {
    fold.plan = {fast = "reduced", walk = "blocked", vector = 2, unroll = 4, lanes = 32, warps = 2,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7", meet = "steps"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["aligned"], store_vector = false,
                  ragged = false}} {
  %r = "fold.reduce"(%x) ({
    %zero = arith.constant 0 : i32
    "fold.yield"(%zero) : (i32) -> ()
  }, {
  ^bb0(%a: i32, %b: i32):
    %base = arith.constant 10 : i32
    %shifted = arith.muli %a, %base : i32
    %c = arith.addi %shifted, %b : i32
    "fold.yield"(%c) : (i32) -> ()
  }) {dims = array<i64: 1>, commutative = false} : (tensor<?x?xi32>) -> tensor<?xi32>
  return %r : tensor<?xi32>
}

// -----

// --- two kernels in one module ---

// The first leaves partials and has no output, the second reduces them: both go into one gpu.module, named for the first.
// CHECK-LABEL: gpu.module @first_module
// CHECK:         gpu.func @first(%[[X:.*]]: !llvm.ptr<1>, %[[PARTIALS:.*]]: !llvm.ptr<1>, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32)
// CHECK:           "fold.grid_finish"(%{{.*}}, %[[PARTIALS]])
// CHECK:           }, {
// CHECK-NEXT:        "fold.yield"() : () -> ()
// CHECK:           {finish = "two_kernels"}
// CHECK-NOT:       fold.store
// CHECK-NOT:     gpu.module
// CHECK:         gpu.func @second
// CHECK:           fold.store
func.func @first(%x: tensor<?xi32>) -> tensor<i32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 32, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "two_kernels", tree = "tree-v7"},
    fold.facts = {kept_rank = 0, reduced_rank = 1, index_bits = 32, access = ["strided"], store_vector = false,
                  ragged = false}} {
  %r = "fold.reduce"(%x) ({
    %zero = arith.constant 0 : i32
    "fold.yield"(%zero) : (i32) -> ()
  }, {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    "fold.yield"(%c) : (i32) -> ()
  }) {dims = array<i64: 0>, commutative = true} : (tensor<?xi32>) -> tensor<i32>
  return %r : tensor<i32>
}

func.func @second(%x: tensor<?xi32>) -> tensor<i32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 32, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 0, reduced_rank = 1, index_bits = 32, access = ["strided"], store_vector = false,
                  ragged = false}} {
  %r = "fold.reduce"(%x) ({
    %zero = arith.constant 0 : i32
    "fold.yield"(%zero) : (i32) -> ()
  }, {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    "fold.yield"(%c) : (i32) -> ()
  }) {dims = array<i64: 0>, commutative = true} : (tensor<?xi32>) -> tensor<i32>
  return %r : tensor<i32>
}

// -----

// A function without a plan is not a tensor program and stays.
// CHECK-LABEL: func.func @no_plan
// CHECK-NEXT:    return
func.func @no_plan() {
  return
}

// -----

// --- ragged rows: they lie where arrays say, and everything after that is as for any row ---

// Two warps of eight lanes a row. The kernel gets two more pointers, and the strides by which the rows are numbered.
// CHECK-LABEL: gpu.module @segments_module
// CHECK:       gpu.func @segments
// CHECK-SAME:    (%[[X:.*]]: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>, %[[BEGIN:.*]]: !llvm.ptr<1>, %[[END:.*]]: !llvm.ptr<1>, %[[N_KEPT:.*]]: i32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %[[SK:.*]]: i32, %[[SR:.*]]: i32, %{{.*}}: i32, %[[ROW:.*]]: i32)
// CHECK:         gpu.block_id x
// CHECK:         %[[TILES:.*]] = arith.muli %{{.*}}, %c4_i32 : i32
// CHECK-NEXT:    %[[KEPT:.*]] = arith.addi %[[TILES]], %{{.*}} : i32
// CHECK-NEXT:    %[[IN_RANGE:.*]] = arith.cmpi slt, %[[KEPT]], %[[N_KEPT]] : i32
// Threads beyond the last row look at the last row, so that nothing outside the arrays is read.
// CHECK:         %[[LAST:.*]] = arith.subi %[[N_KEPT]], %c1_i32 : i32
// CHECK-NEXT:    %[[KNOWN:.*]] = arith.minsi %[[KEPT]], %[[LAST]] : i32
// CHECK-NEXT:    %[[FIRST:.*]] = "fold.load"(%[[BEGIN]], %[[KNOWN]], %c0_i32, %[[ROW]]) {access = "strided", axis = "kept", kept_rank = 1 : i64, reduced_rank = 0 : i64}
// CHECK-NEXT:    %[[LIMIT:.*]] = "fold.load"(%[[END]], %[[KNOWN]], %c0_i32, %[[ROW]])
// They have no elements: their walk ends where it begins.
// CHECK-NEXT:    %[[FROM:.*]] = arith.addi %[[FIRST]], %{{.*}} : i32
// CHECK-NEXT:    %[[TO:.*]] = arith.select %[[IN_RANGE]], %[[LIMIT]], %[[FIRST]] : i32
// CHECK:         "fold.thread_reduce"(%[[FROM]], %[[TO]], %{{.*}}) ({
// CHECK-NEXT:    ^bb0(%[[R:.*]]: i32):
// CHECK-NEXT:      "fold.load"(%[[X]], %[[KEPT]], %[[R]], %[[SK]], %[[SR]])
// CHECK:         fold.warp_reduce
// CHECK:         fold.shared_store
// CHECK:         fold.interwarp_accumulate
// CHECK:         fold.store
func.func @segments(%x: tensor<?x?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 8, warps = 2,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["strided"], store_vector = false,
                  ragged = true}} {
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

// -----

// The blocked walk cuts each row's own length into pieces; the number of an element counts from the row's origin, and
// the count is the row's.
// CHECK-LABEL: gpu.module @numbered_module
// CHECK:       gpu.func @numbered
// CHECK-SAME:    (%{{.*}}: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>, %[[BEGIN:.*]]: !llvm.ptr<1>, %[[END:.*]]: !llvm.ptr<1>, %[[ORIGIN:.*]]: !llvm.ptr<1>, %[[COUNT:.*]]: !llvm.ptr<1>, %[[N_KEPT:.*]]: i64,
// CHECK:         %[[FIRST:.*]] = "fold.load"(%[[BEGIN]],
// CHECK-NEXT:    %[[LIMIT:.*]] = "fold.load"(%[[END]],
// CHECK-NEXT:    %[[LENGTH:.*]] = arith.subi %[[LIMIT]], %[[FIRST]] : i64
// CHECK-NEXT:    %[[ZEROTH:.*]] = "fold.load"(%[[ORIGIN]],
// CHECK-NEXT:    %[[N:.*]] = "fold.load"(%[[COUNT]],
// CHECK-NEXT:    %[[UP:.*]] = arith.addi %[[LENGTH]], %c31_i64 : i64
// CHECK-NEXT:    %[[PIECE:.*]] = arith.shrui %[[UP]], %c5_i64 : i64
// CHECK:         ^bb0(%[[R:.*]]: i64):
// CHECK:           %[[NUMBER:.*]] = arith.subi %[[R]], %[[ZEROTH]] : i64
// CHECK-NEXT:      "fold.position"(%{{.*}}, %[[NUMBER]],
// CHECK:         arith.addi %{{.*}}, %[[N]] : i64
func.func @numbered(%x: tensor<?x?xi64>) -> tensor<?xi64> attributes {
    fold.plan = {fast = "reduced", walk = "blocked", vector = 1, unroll = 1, lanes = 32, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 64, access = ["strided"], store_vector = false,
                  ragged = true}} {
  %i = "fold.iota"() {dims = array<i64: 1>} : () -> tensor<?x?xi64>
  %y = arith.muli %x, %i : tensor<?x?xi64>
  %r = "fold.reduce"(%y) ({
    %zero = arith.constant 0 : i64
    "fold.yield"(%zero) : (i64) -> ()
  }, {
  ^bb0(%a: i64, %b: i64):
    %c = arith.addi %a, %b : i64
    "fold.yield"(%c) : (i64) -> ()
  }) {dims = array<i64: 1>, commutative = false} : (tensor<?x?xi64>) -> tensor<?xi64>
  %n = "fold.count"() : () -> i64
  %all = "fold.broadcast"(%n) {dims = array<i64: 0>} : (i64) -> tensor<?xi64>
  %s = arith.addi %r, %all : tensor<?xi64>
  return %s : tensor<?xi64>
}

// -----

// --- the threads of a CTA meet in memory ---

// Lanes and warps are one level: 64 positions, in one op, in both rounds. The states lie in global memory, so the kernel
// has one more pointer for each value.
// CHECK-LABEL: gpu.func @in_global_memory
// CHECK-SAME:    (%[[X:[a-z0-9]*]]: !llvm.ptr<1>, %[[OUT:[a-z0-9]*]]: !llvm.ptr<1>, %[[PARTIAL:[a-z0-9]*]]: !llvm.ptr<1>, %[[COUNTER:[a-z0-9]*]]: !llvm.ptr<1>, %[[SCRATCH:[a-z0-9]*]]: !llvm.ptr<1>,
// CHECK:        %[[MINE:.*]] = "fold.thread_reduce"
// CHECK-NOT:    fold.warp_reduce
// CHECK:        %[[OURS:.*]] = "fold.cta_reduce"(%{{.*}}, %{{.*}}, %[[MINE]], %[[SCRATCH]]) ({
// CHECK:        }) {lanes = 32 : i64, method = "sequential", ordered = false, rows = 64 : i64, slots = 1 : i64}
// CHECK:        "fold.grid_finish"
// CHECK:          %[[LAST:.*]] = "fold.thread_reduce"
// CHECK:          "fold.cta_reduce"(%{{.*}}, %{{.*}}, %[[LAST]], %[[SCRATCH]]) ({
func.func @in_global_memory(%x: tensor<?x?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 32, warps = 2,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "sequential", exchange = "global", coarsening = 4,
                 finish = "last_block", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["strided"], store_vector = false,
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

// -----

// Each thread has results of its own: nothing to combine, whatever the plan says of the CTA.
// CHECK-LABEL: gpu.func @alone
// CHECK-NOT:   fold.cta_reduce
// CHECK:       gpu.return
func.func @alone(%x: tensor<?x?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 1, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "serial", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["strided"], store_vector = false,
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

// -----

// Four CTAs a cluster: each takes a chunk of its own, lanes meet as always, and the warps of all of them at once. The
// first CTA writes the result.
// CHECK-LABEL:  gpu.func @cluster
// CHECK-SAME:   nvvm.cluster_dim = array<i32: 1, 4, 1>
// CHECK:        %[[Y:.*]] = gpu.block_id y
// CHECK-NEXT:   %[[PART:.*]] = arith.index_cast %[[Y]] : index to i32
// CHECK-NEXT:   %[[RANK:.*]] = arith.andi %[[PART]], %c3_i32 : i32
// CHECK-NEXT:   %[[LEADS:.*]] = arith.cmpi eq, %[[RANK]], %c0_i32 : i32
// CHECK-NEXT:   %[[OWNER:.*]] = arith.andi %{{.*}}, %[[LEADS]] : i1
// CHECK-NEXT:   arith.muli %[[PART]], %arg4 : i32
// CHECK:        %[[OURS:.*]] = "fold.warp_reduce"
// CHECK-NOT:    fold.shared_store
// CHECK:        %[[ALL:.*]] = "fold.cluster_reduce"(%[[RANK]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[OURS]]) ({
// CHECK:        }) {counted = 1 : i64, ctas = 4 : i64, lanes = 32 : i64, ordered = false, rows = 8 : i64, slots = 1 : i64, stride = 1 : i64}
// CHECK-NOT:    fold.grid_finish
// CHECK:        "fold.store"(%[[ALL]], %arg1, %{{.*}}, %[[OWNER]],
func.func @cluster(%x: tensor<?x?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 32, warps = 8,
                 warps_kept = 1, tile_bytes = 0, cluster = 4, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["strided"], store_vector = false,
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

// -----

// Several clusters, of CTAs that meet in memory: to the cluster such a CTA is one warp. The first CTA of each leaves one
// partial state and takes a ticket; the one that comes last goes on alone.
// CHECK-LABEL:  gpu.func @clusters
// CHECK:        %[[PART:.*]] = arith.index_cast %block_id_y : index to i32
// CHECK-NEXT:   %[[RANK:.*]] = arith.andi %[[PART]], %c1_i32 : i32
// CHECK-NEXT:   %[[LEADS:.*]] = arith.cmpi eq, %[[RANK]], %c0_i32 : i32
// CHECK:        %[[OURS:.*]] = "fold.cta_reduce"
// CHECK:        "fold.cluster_reduce"(%[[RANK]], %c0_i32, %{{.*}}, %{{.*}}, %{{.*}}, %[[OURS]])
// CHECK:        }) {counted = 1 : i64, ctas = 2 : i64, lanes = 32 : i64, ordered = false, rows = 1 : i64, slots = 1 : i64, stride = 1 : i64}
// CHECK-NEXT:   scf.if %[[LEADS]] {
// CHECK-NEXT:     %[[CLUSTER:.*]] = arith.shrui %[[PART]], %c1_i32 : i32
// CHECK-NEXT:     %[[SIZE:.*]] = gpu.grid_dim y
// CHECK-NEXT:     %[[CTAS:.*]] = arith.index_cast %[[SIZE]] : index to i32
// CHECK-NEXT:     %[[CLUSTERS:.*]] = arith.shrui %[[CTAS]], %c1_i32 : i32
// CHECK-NEXT:     "fold.grid_finish"(%[[CLUSTER]], %[[CLUSTERS]],
// CHECK:            "fold.thread_reduce"
// CHECK:            "fold.cta_reduce"
// CHECK-NOT:        "fold.cluster_reduce"
// CHECK:            "fold.store"
func.func @clusters(%x: tensor<?x?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 32, warps = 8,
                 warps_kept = 1, tile_bytes = 0, cluster = 2, cta = "sequential", exchange = "shared", coarsening = 0,
                 finish = "last_block", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["strided"], store_vector = false,
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

// -----

// --- narrow rows without gaps: the walk by periods ---

// All 64 threads lie side by side along several rows. A row of the kernel is what lies in memory from the first column
// of its tile on: elements are counted through all rows, accesses begin at the boundary before, and lie a period apart.
// The period is so many rows of so many columns as the launch says.
// CHECK-LABEL: gpu.func @narrow
// CHECK-SAME:    (%[[X:.*]]: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>, %[[PARTIALS:.*]]: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>, %[[COLUMNS:.*]]: i32, %[[N:.*]]: i32, %[[CHUNK:.*]]: i32, %{{.*}}: i32, %[[STRIDE:.*]]: i32, %{{.*}}: i32, %{{.*}}: i32, %[[ROWS:.*]]: i32)
// CHECK:         %[[PERIOD:.*]] = arith.muli %[[ROWS]], %[[COLUMNS]] : i32
// CHECK:         %[[SLOT:.*]] = arith.muli %[[THREAD:.*]], %c4_i32 : i32
// CHECK:         %[[FIRST_KEPT:.*]] = arith.muli %{{.*}}, %[[COLUMNS]] : i32
// CHECK:         %[[ON:.*]] = arith.cmpi slt, %[[SLOT]], %[[PERIOD]] : i32
// CHECK:         %[[OWNER:.*]] = arith.cmpi slt, %[[THREAD]], %[[COLUMNS]] : i32
// CHECK:         %[[LIMIT:.*]] = arith.muli %[[N]], %[[COLUMNS]] : i32
// CHECK:         %[[OWN:.*]] = arith.muli %[[CHUNK]], %[[COLUMNS]] : i32
// CHECK:         %[[LEAD:.*]] = "fold.lead"(%[[X]], %[[FIRST_KEPT]], %[[STRIDE]]) {bytes = 4 : i64, kept_rank = 1 : i64, lanes = 4 : i64, reduced_rank = 0 : i64}
// CHECK:         arith.subi %{{.*}}, %[[LEAD]] : i32
// CHECK:         %[[MINE:.*]] = "fold.thread_reduce"(%{{.*}}, %{{.*}}, %{{.*}}, %[[PERIOD]]) ({
// CHECK:           "fold.load"(%[[X]], %[[FIRST_KEPT]], %{{.*}}) {access = "period", axis = "reduced", kept_rank = 1 : i64, reduced_rank = 1 : i64} : ({{.*}}) -> vector<4xf32>
// CHECK:           "fold.live"({{.*}}) : (i32, i32, i32) -> vector<4xi1>
// CHECK:         {step = 1 : i64, unroll = 2 : i64} : (i32, i32, vector<4xf32>, i32) -> vector<4xf32>
// The rows meet, and only now has a thread a column.
// CHECK:         %[[OURS:.*]] = "fold.period_reduce"(%[[THREAD]], %[[ON]], %[[MINE]], %[[ROWS]], %[[COLUMNS]], %[[LEAD]])
// CHECK:         {threads = 64 : i64} : (i32, i1, vector<4xf32>, i32, i32, i32) -> f32
// The states of the parts of a tile lie side by side, so that they are such rows, too, and the last CTA walks them so.
// CHECK:         %[[START:.*]] = arith.muli %{{.*}}, %[[FIRST_KEPT]] : i32
// CHECK-NEXT:    %[[AT:.*]] = arith.addi %[[START]], %[[THREAD]] : i32
// CHECK:         "fold.grid_finish"(%{{.*}}, %{{.*}}, %[[AT]], %[[COLUMNS]], %[[OWNER]], %[[OURS]], %[[PARTIALS]], %{{.*}}) ({
// CHECK:           %[[AGAIN:.*]] = arith.andi %[[START]], %c3_i32 : i32
// CHECK:           "fold.load"(%[[PARTIALS]], %[[START]], %{{.*}}) {access = "coherent", axis = "reduced"
// CHECK:           "fold.period_reduce"(%[[THREAD]], %[[ON]], %{{.*}}, %[[ROWS]], %[[COLUMNS]], %[[AGAIN]])
func.func @narrow(%x: tensor<?x?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = "kept", walk = "period", vector = 4, unroll = 2, lanes = 1, warps = 1,
                 warps_kept = 2, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared",
                 coarsening = 0, finish = "last_block", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["period"], store_vector = false,
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

// -----

// --- columns that begin anywhere: staggered warps ---

// Each of eight warps reads every eighth row. All lanes lie along the columns, of which all CTAs have as many, in whole
// accesses.
// CHECK-LABEL: gpu.func @staggered
// CHECK-SAME:    (%[[X:.*]]: !llvm.ptr<1>, %[[OUT:.*]]: !llvm.ptr<1>, %[[COLUMNS:.*]]: i32, %[[N:.*]]: i32, %{{.*}}: i32, %{{.*}}: i32, %[[SK:.*]]: i32, %[[SR:.*]]: i32, %{{.*}}: i32)
// CHECK:         %[[WARP:.*]] = arith.andi %{{.*}}, %c7_i32 : i32
// CHECK:         %[[POSITION:.*]] = arith.addi %[[WARP]], %{{.*}} : i32
// CHECK:         %[[SLOT:.*]] = arith.muli %{{.*}}, %c4_i32 : i32
// CHECK:         %[[TILES:.*]] = arith.index_cast %grid_dim_x : index to i32
// CHECK:         %[[ACCESSES:.*]] = arith.divui %{{.*}}, %c4_i32 : i32
// CHECK:         %[[UP:.*]] = arith.addi %[[ACCESSES]], %{{.*}} : i32
// CHECK-NEXT:    %[[EACH:.*]] = arith.divui %[[UP]], %[[TILES]] : i32
// CHECK-NEXT:    %[[PITCH:.*]] = arith.muli %[[EACH]], %c4_i32 : i32
// CHECK:         %[[TILE:.*]] = arith.muli %{{.*}}, %[[PITCH]] : i32
// CHECK-NEXT:    %[[KEPT:.*]] = arith.addi %[[TILE]], %[[SLOT]] : i32
// Where a warp's rows begin follows from where the tile begins in the first row, and from how far apart rows lie.
// CHECK:         %[[FIRST:.*]] = "fold.lead"(%[[X]], %[[TILE]], %[[SK]]) {bytes = 4 : i64, kept_rank = 1 : i64, lanes = 4 : i64, reduced_rank = 0 : i64}
// CHECK-NEXT:    %[[FURTHER:.*]] = arith.muli %[[POSITION]], %[[SR]] : i32
// CHECK-NEXT:    %[[SUM:.*]] = arith.addi %[[FIRST]], %[[FURTHER]] : i32
// CHECK-NEXT:    %[[LEAD:.*]] = arith.andi %[[SUM]], %c3_i32 : i32
// CHECK-NEXT:    %[[START:.*]] = arith.subi %[[KEPT]], %[[LEAD]] : i32
// One lane more reads than there are columns for, since the last of them may lie in its access.
// CHECK-NEXT:    %[[ONE_MORE:.*]] = arith.addi %[[PITCH]], %c4_i32 : i32
// CHECK-NEXT:    %[[BESIDE:.*]] = arith.cmpi slt, %[[SLOT]], %[[ONE_MORE]] : i32
// CHECK-NEXT:    %[[BEFORE_END:.*]] = arith.cmpi slt, %[[START]], %[[COLUMNS]] : i32
// CHECK-NEXT:    %[[READS:.*]] = arith.andi %[[BESIDE]], %[[BEFORE_END]] : i1
// CHECK-NEXT:    %[[END:.*]] = arith.select %[[READS]], %[[N]], %c0_i32 : i32
// CHECK-NEXT:    %[[STATE:.*]] = "fold.thread_reduce"(%[[POSITION]], %[[END]], %cst) ({
// CHECK:           "fold.load"(%[[X]], %[[START]], %{{.*}}, %[[SK]], %[[SR]], %[[COLUMNS]], %[[N]]) {access = "staggered", axis = "kept"
// CHECK:         {step = 8 : i64, unroll = 2 : i64}
// No lane stage. In shared memory there is room for an access before a warp's columns and one after them: it leaves its
// states as much earlier as its accesses began, and then all warps' states of a column lie at one place.
// CHECK:         %[[PLACE:.*]] = arith.addi %[[SLOT]], %c4_i32 : i32
// CHECK-NEXT:    %[[SHIFTED:.*]] = arith.subi %[[PLACE]], %[[LEAD]] : i32
// CHECK:         %[[STATES:.*]] = "fold.shared_store"(%[[WARP]], %[[SHIFTED]], %{{.*}}, %[[STATE]]) {apart = true, rows = 8 : i64, slots = 132 : i64}
// Then the threads lie anew, one column each, which those beyond the tile's columns do not own.
// CHECK:         %[[COLUMN:.*]] = arith.addi %[[TILE]], %[[OWN:[0-9]+]] : i32
// CHECK-NEXT:    %[[EXISTS:.*]] = arith.cmpi slt, %[[COLUMN]], %[[COLUMNS]] : i32
// CHECK:         %[[WITHIN:.*]] = arith.cmpi slt, %[[OWN]], %[[PITCH]] : i32
// CHECK-NEXT:    %[[OWNER:.*]] = arith.andi %{{.*}}, %[[WITHIN]] : i1
// CHECK-NEXT:    %[[BESIDE_OWN:.*]] = arith.addi %[[OWN]], %c4_i32 : i32
// CHECK-NEXT:    %[[TAKEN:.*]] = arith.minsi %[[BESIDE_OWN]], %c127_i32 : i32
// CHECK-NEXT:    %[[OURS:.*]] = "fold.interwarp_accumulate"(%{{.*}}, %[[TAKEN]], %[[STATES]])
// CHECK:         {lanes = 1 : i64, ordered = false, rows = 8 : i64, slots = 132 : i64, stride = 32 : i64}
// CHECK:         "fold.store"(%[[OURS]], %[[OUT]], %[[COLUMN]], %[[OWNER]], %{{.*}}, %[[COLUMNS]]) {bounded = true
func.func @staggered(%x: tensor<?x?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = "kept", walk = "staggered", vector = 4, unroll = 2, lanes = 1, warps = 8,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["staggered"], store_vector = false,
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

// -----

// --- elements and results that are repeated ---

// The launch says how often elements are repeated, at how many places a result is stored, and how far these are apart.
// CHECK-LABEL: gpu.func @expanded
// CHECK-SAME:    (%{{.*}}: !llvm.ptr<1>, %[[OUT:.*]]: !llvm.ptr<1>, %[[N:.*]]: i32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %[[TIMES:.*]]: i32, %[[COPIES:.*]]: i32, %[[APART:.*]]: i32)
// CHECK:         %[[POSITION:.*]] = arith.andi %{{.*}}, %c7_i32 : i32
// CHECK:         %[[ON:.*]] = arith.cmpi slt, %[[KEPT:.*]], %[[N]] : i32
// CHECK:         %[[ONCE:.*]] = "fold.warp_reduce"
// The state of the elements once is combined with itself: as many times more as the bits of a number say.
// CHECK:         %[[MORE:.*]] = arith.subi %[[TIMES]], %c1_i32 : i32
// CHECK-NEXT:    %[[ALL:.*]]:3 = scf.while (%[[LEFT:.*]] = %[[MORE]], %{{.*}} = %[[ONCE]], %{{.*}} = %[[ONCE]]) : (i32, f32, f32) -> (i32, f32, f32) {
// CHECK-NEXT:      %[[SOME:.*]] = arith.cmpi sgt, %[[LEFT]], %c0_i32 : i32
// CHECK-NEXT:      scf.condition(%[[SOME]])
// CHECK:         ^bb0(%[[REST:.*]]: i32, %[[FOUND:.*]]: f32, %[[DOUBLED:.*]]: f32):
// CHECK-NEXT:      %[[BIT:.*]] = arith.andi %[[REST]], %c1_i32 : i32
// CHECK-NEXT:      %[[ODD:.*]] = arith.cmpi ne, %[[BIT]], %c0_i32 : i32
// CHECK-NEXT:      %[[JOINED:.*]] = arith.addf %[[FOUND]], %[[DOUBLED]] : f32
// CHECK-NEXT:      %[[NOW:.*]] = arith.select %[[ODD]], %[[JOINED]], %[[FOUND]] : f32
// CHECK-NEXT:      %[[NEXT:.*]] = arith.shrui %[[REST]], %c1_i32 : i32
// CHECK-NEXT:      %[[TWICE:.*]] = arith.addf %[[DOUBLED]], %[[DOUBLED]] : f32
// CHECK-NEXT:      scf.yield %[[NEXT]], %[[NOW]], %[[TWICE]] : i32, f32, f32
// The lanes that share a result take it from the first of them, and store a copy each.
// CHECK:         %[[FIRST:.*]] = arith.andi %{{.*}}, %c-8_i32 : i32
// CHECK-NEXT:    %[[RESULT:.*]], %{{.*}} = gpu.shuffle idx %[[ALL]]#1, %[[FIRST]], %c32_i32 : f32
// CHECK-NEXT:    scf.for %[[PLACES:.*]] = %c0_i32 to %[[COPIES]] step %c8_i32
// CHECK-NEXT:      %[[PLACE:.*]] = arith.addi %[[PLACES]], %[[POSITION]] : i32
// CHECK-NEXT:      %[[THERE:.*]] = arith.cmpi slt, %[[PLACE]], %[[COPIES]] : i32
// CHECK-NEXT:      %[[MINE:.*]] = arith.andi %[[ON]], %[[THERE]] : i1
// CHECK-NEXT:      %[[OFFSET:.*]] = arith.muli %[[PLACE]], %[[APART]] : i32
// CHECK-NEXT:      %[[BASE:.*]] = llvm.getelementptr %[[OUT]][%[[OFFSET]]] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
// CHECK-NEXT:      "fold.store"(%[[RESULT]], %[[BASE]], %[[KEPT]], %[[MINE]], %{{.*}})
func.func @expanded(%x: tensor<?x?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 8, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["strided"], store_vector = false,
                  ragged = false, repeats = true}} {
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
