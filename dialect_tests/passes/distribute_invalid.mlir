// Errors of distribute.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(distribute)'

// expected-error @below {{WF320: distribute expects a function with the attribute fold.facts, a dictionary, got none}}
func.func @no_facts(%x: tensor<?xf32>) -> tensor<f32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 32, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"}} {
  %r = "fold.reduce"(%x) ({
    %zero = arith.constant 0.0 : f32
    "fold.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = array<i64: 0>, commutative = true} : (tensor<?xf32>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// expected-error @below {{WF320: distribute expects a function with exactly one fold.reduce, got 0}}
func.func @no_reduction(%x: tensor<?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 32, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 0, index_bits = 32, access = ["strided"], store_vector = false,
                  ragged = false}} {
  return %x : tensor<?xf32>
}

// -----

// A state of two values whose results nobody reads.
// expected-error @below {{WF320: distribute expects a function with a use of the fold.reduce, got none}}
func.func @unused(%x: tuple<tensor<?xf32>, tensor<?xf32>>, %y: tensor<f32>) -> tensor<f32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 32, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 0, reduced_rank = 1, index_bits = 32, access = ["strided", "strided"], store_vector = false,
                  ragged = false}} {
  %r = "fold.reduce"(%x) ({
    %zero = arith.constant 0.0 : f32
    %state = builtin.unrealized_conversion_cast %zero, %zero : f32, f32 to tuple<f32, f32>
    "fold.yield"(%state) : (tuple<f32, f32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %state = builtin.unrealized_conversion_cast %a, %b : f32, f32 to tuple<f32, f32>
    "fold.yield"(%state) : (tuple<f32, f32>) -> ()
  }) {dims = array<i64: 0>, commutative = true}
    : (tuple<tensor<?xf32>, tensor<?xf32>>) -> tuple<tensor<f32>, tensor<f32>>
  return %y : tensor<f32>
}

// -----

// Only elementwise operations with one result can be fused; this one looks at the tensor as a whole.
// expected-error @unknown {{WF321: distribute has no rule for tensor.generate on tensor<?xf32>}}
func.func @not_elementwise(%n: index) -> tensor<f32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 32, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 0, reduced_rank = 1, index_bits = 32, access = ["strided"], store_vector = false,
                  ragged = false}} {
  %c8 = arith.constant 8 : index
  %x = tensor.generate %c8 {
  ^bb0(%i: index):
    %one = arith.constant 1.0 : f32
    tensor.yield %one : f32
  } : tensor<?xf32>
  %r = "fold.reduce"(%x) ({
    %zero = arith.constant 0.0 : f32
    "fold.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = array<i64: 0>, commutative = true} : (tensor<?xf32>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// expected-error @below {{WF322: fold.facts of @no_access expects access = an array of one of aligned shifted unaligned period staggered strided tile tile_strided whole uniform kept gathered number bits bits_across bits_strided bits_transposed bits_exchanged transposed exchanged reversed split side section matrix, got none}}
func.func @no_access(%x: tensor<?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 32, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 0, index_bits = 32, store_vector = false,
                  ragged = false}} {
  return %x : tensor<?xf32>
}

// -----

// expected-error @below {{WF323: fold.plan of @another_field has no field xyz: it has fast walk vector unroll lanes warps warps_kept tile_bytes cluster cta exchange coarsening finish tree}}
func.func @another_field(%x: tensor<?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {xyz = 1, fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 32, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 0, index_bits = 32, access = ["strided"], store_vector = false,
                  ragged = false}} {
  return %x : tensor<?xf32>
}

// -----

// expected-error @below {{WF322: fold.plan of @another_type expects warps = a power of two from 1 to 32, or any number up to 32 where persistent CTAs take one row at a time, got "a"}}
func.func @another_type(%x: tensor<?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 32, warps = "a",
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 0, index_bits = 32, access = ["strided"], store_vector = false,
                  ragged = false}} {
  return %x : tensor<?xf32>
}

// -----

// expected-error @below {{WF322: fold.plan of @no_field expects fast = one of reduced kept both, got 1.000000e+00 : f64}}
func.func @no_field(%x: tensor<?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = 1.0},
    fold.facts = {kept_rank = 1, reduced_rank = 0, index_bits = 32, access = ["strided"], store_vector = false,
                  ragged = false}} {
  return %x : tensor<?xf32>
}

// -----

// expected-error @below {{WF320: distribute expects a function with tensors of kept_rank + reduced_rank = 3 dims, got tensor<?xf32>}}
func.func @another_rank(%x: tensor<?xf32>) -> tensor<f32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 32, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 2, reduced_rank = 1, index_bits = 32, access = ["strided"], store_vector = false,
                  ragged = false}} {
  %r = "fold.reduce"(%x) ({
    %zero = arith.constant 0.0 : f32
    "fold.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    "fold.yield"(%sum) : (f32) -> ()
  }) {dims = array<i64: 0>, commutative = true} : (tensor<?xf32>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// Ragged rows begin between boundaries of vectors, and long ones are cut before the kernel.
// expected-error @below {{WF320: distribute expects a function with vector = 1, tile_bytes = 0, cluster = 1, finish = cta for ragged rows, got vector = 4, tile_bytes = 0, cluster = 1, finish = last_block}}
func.func @shared_segments(%x: tensor<?xf32>) -> tensor<f32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 4, unroll = 1, lanes = 32, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "last_block", tree = "tree-v7"},
    fold.facts = {kept_rank = 0, reduced_rank = 1, index_bits = 32, access = ["aligned"], store_vector = false,
                  ragged = true}} {
  %r = "fold.reduce"(%x) ({
    %zero = arith.constant 0.0 : f32
    "fold.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = array<i64: 0>, commutative = true} : (tensor<?xf32>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// expected-error @below {{WF322: fold.plan of @too_many_lanes expects lanes = a power of two from 1 to 32, got 33 : i64}}
func.func @too_many_lanes(%x: tensor<?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 33, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 0, index_bits = 32, access = ["strided"], store_vector = false,
                  ragged = false}} {
  return %x : tensor<?xf32>
}

// -----

// expected-error @below {{WF323: fold.plan of @misspelt has no field warp (did you mean warps?): it has}}
func.func @misspelt(%x: tensor<?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 32, warp = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 0, index_bits = 32, access = ["strided"], store_vector = false,
                  ragged = false}} {
  return %x : tensor<?xf32>
}

// -----

// expected-error @below {{WF322: fold.facts of @another_width expects index_bits = one of 32 64, got 16 : i64}}
func.func @another_width(%x: tensor<?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 32, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 0, index_bits = 16, access = ["strided"], store_vector = false,
                  ragged = false}} {
  return %x : tensor<?xf32>
}

// -----

// expected-error @below {{WF322: fold.facts of @accesses_of_two expects access = an access for each of 1 tensor(s), got 2 of them}}
func.func @accesses_of_two(%x: tensor<?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 32, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 0, index_bits = 32, access = ["strided", "strided"], store_vector = false,
                  ragged = false}} {
  return %x : tensor<?xf32>
}

// -----

// A program without a plan was not written by warpfold.
// expected-error @below {{WF320: distribute expects a function with the attribute fold.plan, a dictionary, got none}}
func.func @no_plan(%x: tensor<?xf32>) -> tensor<f32> {
  %r = "fold.reduce"(%x) ({
    %zero = arith.constant 0.0 : f32
    "fold.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = array<i64: 0>, commutative = true} : (tensor<?xf32>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// expected-error @below {{WF320: distribute expects a function with a numbering below 1 of each fold.iota, got 1}}
func.func @no_such_numbering(%x: tensor<?x?xi32>) -> tensor<?x?xi32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 32, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7", resident = "registers", held = 1},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["strided"], store_vector = false,
                  ragged = false, stores = ["strided"], numberings = ["reduced"]}} {
  %i = "fold.iota"() {dims = array<i64: 1>, numbering = 1} : () -> tensor<?x?xi32>
  %y = arith.addi %x, %i : tensor<?x?xi32>
  return %y : tensor<?x?xi32>
}

// -----

// expected-error @below {{WF320: distribute expects a function with 1 fold.scan for resident = 'chain', got 0}}
func.func @no_scan(%x: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 32, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7", resident = "chain", held = 1},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["strided"], store_vector = false,
                  ragged = false, stores = ["strided"]}} {
  return %x : tensor<?x?xf32>
}

// -----

// expected-error @below {{WF320: distribute expects a function with a fold.scan along the reduced dims [1], got [0]}}
func.func @scan_along_the_kept_dim(%x: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 1, lanes = 32, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7", resident = "chain", held = 1},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["strided"], store_vector = false,
                  ragged = false, stores = ["strided"]}} {
  %r = "fold.scan"(%x) ({
    %zero = arith.constant 0.0 : f32
    "fold.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    "fold.yield"(%a) : (f32) -> ()
  }) {dims = array<i64: 0>, exclusive = false} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
