// The register stage: the lowering of fold.thread_reduce. A loop runs the body `unroll` times a step, so that as many
// loads are in flight, and combines their values as a tree: rounding errors grow with the logarithm, and the order is kept.

// RUN: warpfold-opt %s --pass-pipeline='builtin.module(lower-thread-reduce,unroll-loops,canonicalize,cse)' | FileCheck %s

// Four accesses in flight, 256 elements apart: a loop step is 1024.
// CHECK-LABEL: func.func @four_in_flight
// CHECK-SAME:    (%{{.*}}: !llvm.ptr<1>, %[[BEGIN:.*]]: i32, %[[END:.*]]: i32)
func.func @four_in_flight(%x: !llvm.ptr<1>, %begin: i32, %end: i32) -> f32 {
  // CHECK:      scf.for %[[R:.*]] = %[[BEGIN]] to %[[END]] step %c1024_i32 iter_args(%[[STATE:.*]] = %cst) -> (f32)
  // CHECK:      arith.addi %[[R]], %c256_i32
  // CHECK:      arith.addi %[[R]], %c512_i32
  // CHECK:      arith.addi %[[R]], %c768_i32
  // All loads come before the first addition.
  // CHECK:      %[[V0:.*]] = llvm.load
  // CHECK:      %[[V1:.*]] = llvm.load
  // CHECK:      %[[V2:.*]] = llvm.load
  // CHECK:      %[[V3:.*]] = llvm.load
  // The tree: neighbours first. Its root goes to the right of the running state.
  // CHECK-NEXT: %[[LOW:.*]] = arith.addf %[[V0]], %[[V1]] : f32
  // CHECK-NEXT: %[[HIGH:.*]] = arith.addf %[[V2]], %[[V3]] : f32
  // CHECK-NEXT: %[[FOUR:.*]] = arith.addf %[[LOW]], %[[HIGH]] : f32
  // CHECK-NEXT: %[[NEXT:.*]] = arith.addf %[[STATE]], %[[FOUR]] : f32
  // CHECK-NEXT: scf.yield %[[NEXT]] : f32
  %zero = arith.constant 0.0 : f32
  %s = "fold.thread_reduce"(%begin, %end, %zero) ({
  ^bb0(%r: i32):
    %where = llvm.getelementptr %x[%r] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %v = llvm.load %where : !llvm.ptr<1> -> f32
    "fold.yield"(%v) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 256, unroll = 4} : (i32, i32, f32) -> f32
  return %s : f32
}

// A walk of one step at most is a branch that is taken if there is a step; otherwise the state stays unchanged. The step is
// that of a loop; with `chain` one access is combined after another.
// CHECK-LABEL: func.func @once
// CHECK-SAME:    (%{{.*}}: !llvm.ptr<1>, %[[BEGIN:.*]]: i32, %[[END:.*]]: i32, %[[SO_FAR:.*]]: f32)
func.func @once(%x: !llvm.ptr<1>, %begin: i32, %end: i32, %so_far: f32) -> f32 {
  // CHECK:      %[[SOME:.*]] = arith.cmpi slt, %[[BEGIN]], %[[END]] : i32
  // CHECK-NEXT: %[[ALL:.*]] = scf.if %[[SOME]] -> (f32) {
  // CHECK-NEXT:   %[[NEXT:.*]] = arith.addi %[[BEGIN]], %c256_i32 : i32
  // CHECK-NEXT:   llvm.getelementptr %{{.*}}[%[[BEGIN]]]
  // CHECK-NEXT:   %[[V0:.*]] = llvm.load
  // CHECK-NEXT:   llvm.getelementptr %{{.*}}[%[[NEXT]]]
  // CHECK-NEXT:   %[[V1:.*]] = llvm.load
  // CHECK-NEXT:   %[[ONE:.*]] = arith.addf %[[SO_FAR]], %[[V0]] : f32
  // CHECK-NEXT:   %[[BOTH:.*]] = arith.addf %[[ONE]], %[[V1]] : f32
  // CHECK-NEXT:   scf.yield %[[BOTH]] : f32
  // CHECK-NEXT: } else {
  // CHECK-NEXT:   scf.yield %[[SO_FAR]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[ALL]]
  %s = "fold.thread_reduce"(%begin, %end, %so_far) ({
  ^bb0(%r: i32):
    %where = llvm.getelementptr %x[%r] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %v = llvm.load %where : !llvm.ptr<1> -> f32
    "fold.yield"(%v) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 256, unroll = 2, chain = true, once = true} : (i32, i32, f32) -> f32
  return %s : f32
}

// A vector along the reduced axis has a running sum for each of its eight elements until the loop ends. Then the even
// elements are added to the odd ones, and again, down to a scalar.
// CHECK-LABEL: func.func @horizontal
func.func @horizontal(%begin: i32, %end: i32, %x: vector<8xf32>) -> f32 {
  // CHECK:      %[[V8:.*]] = scf.for
  // CHECK-NEXT:   arith.addf %{{.*}}, %{{.*}} : vector<8xf32>
  // CHECK:      %[[E4:.*]] = vector.shuffle %[[V8]], %{{.*}} [0, 2, 4, 6]
  // CHECK-NEXT: %[[O4:.*]] = vector.shuffle %[[V8]], %{{.*}} [1, 3, 5, 7]
  // CHECK-NEXT: %[[V4:.*]] = arith.addf %[[E4]], %[[O4]] : vector<4xf32>
  // CHECK-NEXT: %[[E2:.*]] = vector.shuffle %[[V4]], %{{.*}} [0, 2]
  // CHECK-NEXT: %[[O2:.*]] = vector.shuffle %[[V4]], %{{.*}} [1, 3]
  // CHECK-NEXT: %[[V2:.*]] = arith.addf %[[E2]], %[[O2]] : vector<2xf32>
  // CHECK-NEXT: %[[E1:.*]] = vector.extract %[[V2]][0]
  // CHECK-NEXT: %[[O1:.*]] = vector.extract %[[V2]][1]
  // CHECK-NEXT: %[[R:.*]] = arith.addf %[[E1]], %[[O1]] : f32
  // CHECK-NEXT: return %[[R]]
  %s = "fold.thread_reduce"(%begin, %end, %x) ({
  ^bb0(%r: i32):
    "fold.yield"(%x) : (vector<8xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 256, unroll = 1} : (i32, i32, vector<8xf32>) -> f32
  return %s : f32
}

// A vector along the kept axis: four separate results. The scalar combine and its constant become vector code.
// CHECK-LABEL: func.func @four_columns
func.func @four_columns(%begin: i32, %end: i32, %x: vector<4xi32>) -> vector<4xi32> {
  // CHECK-DAG:  %[[MODULUS:.*]] = arith.constant dense<1000> : vector<4xi32>
  // CHECK:      %[[R:.*]] = scf.for
  // CHECK-NEXT:   %[[PRODUCT:.*]] = arith.muli %{{.*}}, %{{.*}} : vector<4xi32>
  // CHECK-NEXT:   arith.remui %[[PRODUCT]], %[[MODULUS]] : vector<4xi32>
  // CHECK:      return %[[R]] : vector<4xi32>
  %s = "fold.thread_reduce"(%begin, %end, %x) ({
  ^bb0(%r: i32):
    "fold.yield"(%x) : (vector<4xi32>) -> ()
  }, {
  ^bb0(%a: i32, %b: i32):
    %modulus = arith.constant 1000 : i32
    %product = arith.muli %a, %b : i32
    %c = arith.remui %product, %modulus : i32
    "fold.yield"(%c) : (i32) -> ()
  }) {step = 1, unroll = 1} : (i32, i32, vector<4xi32>) -> vector<4xi32>
  return %s : vector<4xi32>
}

// A state of two values: the loop carries both, and the tuple is gone inside.
// CHECK-LABEL: func.func @value_and_index
func.func @value_and_index(%begin: i32, %end: i32, %x: vector<2xf32>, %i: vector<2xi64>) -> tuple<f32, i64> {
  // CHECK:      %[[R:.*]]:2 = scf.for {{.*}} -> (vector<2xf32>, vector<2xi64>)
  // CHECK-NEXT:   %[[BETTER:.*]] = arith.cmpf oge, %{{.*}}, %{{.*}} : vector<2xf32>
  // CHECK-NEXT:   arith.select %[[BETTER]], %{{.*}}, %{{.*}} : vector<2xi1>, vector<2xf32>
  // CHECK-NEXT:   arith.select %[[BETTER]], %{{.*}}, %{{.*}} : vector<2xi1>, vector<2xi64>
  // CHECK:      vector.extract %[[R]]#0[0]
  // CHECK:      %[[VALUE:.*]] = arith.select %{{.*}} : f32
  // CHECK-NEXT: %[[INDEX:.*]] = arith.select %{{.*}} : i64
  // CHECK-NEXT: builtin.unrealized_conversion_cast %[[VALUE]], %[[INDEX]] : f32, i64 to tuple<f32, i64>
  %first = builtin.unrealized_conversion_cast %x, %i
    : vector<2xf32>, vector<2xi64> to tuple<vector<2xf32>, vector<2xi64>>
  %s = "fold.thread_reduce"(%begin, %end, %first) ({
  ^bb0(%r: i32):
    "fold.yield"(%first) : (tuple<vector<2xf32>, vector<2xi64>>) -> ()
  }, {
  ^bb0(%v: f32, %j: i64, %w: f32, %k: i64):
    %better = arith.cmpf oge, %v, %w : f32
    %value = arith.select %better, %v, %w : f32
    %index = arith.select %better, %j, %k : i64
    %c = builtin.unrealized_conversion_cast %value, %index : f32, i64 to tuple<f32, i64>
    "fold.yield"(%c) : (tuple<f32, i64>) -> ()
  }) {step = 64, unroll = 1} : (i32, i32, tuple<vector<2xf32>, vector<2xi64>>) -> tuple<f32, i64>
  return %s : tuple<f32, i64>
}

// A count beside a sum. The count does not depend on the elements, so it is a scalar, and so is the division by it; the
// sum is a vector.
// CHECK-LABEL: func.func @count_and_sum
// CHECK-SAME:    (%{{.*}}: i32, %{{.*}}: i32, %[[X:.*]]: vector<4xf32>)
func.func @count_and_sum(%begin: i32, %end: i32, %x: vector<4xf32>) -> tuple<vector<4xf32>, vector<4xf32>> {
  // CHECK:      %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[N:.*]] = %{{.*}}, %[[S:.*]] = %{{.*}}) -> (f32, vector<4xf32>)
  // CHECK-NEXT:   %[[MORE:.*]] = arith.addf %[[N]], %{{.*}} : f32
  // CHECK-NEXT:   %[[WEIGHT:.*]] = arith.divf %{{.*}}, %[[MORE]] : f32
  // CHECK-NEXT:   %[[WEIGHTS:.*]] = vector.broadcast %[[WEIGHT]] : f32 to vector<4xf32>
  // CHECK-NEXT:   %[[PART:.*]] = arith.mulf %[[X]], %[[WEIGHTS]] : vector<4xf32>
  // CHECK-NEXT:   %[[SUM:.*]] = arith.addf %[[S]], %[[PART]] : vector<4xf32>
  // CHECK-NEXT:   scf.yield %[[MORE]], %[[SUM]] : f32, vector<4xf32>
  // CHECK:      vector.broadcast %[[R]]#0 : f32 to vector<4xf32>
  %zeros = arith.constant dense<0.0> : vector<4xf32>
  %first = builtin.unrealized_conversion_cast %zeros, %zeros
    : vector<4xf32>, vector<4xf32> to tuple<vector<4xf32>, vector<4xf32>>
  %s = "fold.thread_reduce"(%begin, %end, %first) ({
  ^bb0(%r: i32):
    %all = arith.constant dense<true> : vector<4xi1>
    %ones = arith.constant dense<1.0> : vector<4xf32>
    %counts = arith.select %all, %ones, %zeros : vector<4xi1>, vector<4xf32>
    %lifted = builtin.unrealized_conversion_cast %counts, %x
      : vector<4xf32>, vector<4xf32> to tuple<vector<4xf32>, vector<4xf32>>
    "fold.yield"(%lifted) : (tuple<vector<4xf32>, vector<4xf32>>) -> ()
  }, {
  ^bb0(%n: f32, %a: f32, %m: f32, %b: f32):
    %more = arith.addf %n, %m : f32
    %weight = arith.divf %m, %more : f32
    %part = arith.mulf %b, %weight : f32
    %sum = arith.addf %a, %part : f32
    %c = builtin.unrealized_conversion_cast %more, %sum : f32, f32 to tuple<f32, f32>
    "fold.yield"(%c) : (tuple<f32, f32>) -> ()
  }) {step = 4, unroll = 1} : (i32, i32, tuple<vector<4xf32>, vector<4xf32>>) -> tuple<vector<4xf32>, vector<4xf32>>
  return %s : tuple<vector<4xf32>, vector<4xf32>>
}

// Bytes that are added up to one number: a word of them at a time, and one 64-bit addition a step.
// CHECK-LABEL: func.func @bytes
// CHECK-SAME:    (%{{.*}}: i32, %{{.*}}: i32, %[[X:.*]]: vector<8xi8>)
func.func @bytes(%begin: i32, %end: i32, %x: vector<8xi8>) -> i64 {
  // CHECK:      scf.for {{.*}} iter_args(%[[STATE:.*]] = %{{.*}}) -> (i64)
  // CHECK:        %[[WORDS:.*]] = vector.bitcast %[[X]] : vector<8xi8> to vector<2xi32>
  // CHECK:        %[[W0:.*]] = vector.extract %[[WORDS]][0]
  // CHECK-NEXT:   %[[W1:.*]] = vector.extract %[[WORDS]][1]
  // CHECK-NEXT:   %[[T0:.*]] = llvm.call_intrinsic "llvm.nvvm.idp4a.s.s"(%[[W0]], %c16843009_i32, %c0_i32)
  // CHECK-NEXT:   %[[T1:.*]] = llvm.call_intrinsic "llvm.nvvm.idp4a.s.s"(%[[W1]], %c16843009_i32, %[[T0]])
  // CHECK-NEXT:   %[[WIDE:.*]] = arith.extsi %[[T1]] : i32 to i64
  // CHECK-NEXT:   arith.addi %[[STATE]], %[[WIDE]] : i64
  %zeros = arith.constant dense<0> : vector<8xi64>
  %s = "fold.thread_reduce"(%begin, %end, %zeros) ({
  ^bb0(%r: i32):
    %wide = arith.extsi %x : vector<8xi8> to vector<8xi64>
    "fold.yield"(%wide) : (vector<8xi64>) -> ()
  }, {
  ^bb0(%a: i64, %b: i64):
    %c = arith.addi %a, %b : i64
    "fold.yield"(%c) : (i64) -> ()
  }) {step = 8, unroll = 1} : (i32, i32, vector<8xi64>) -> i64
  return %s : i64
}

// Bytes that are not zero are counted: the high bit of each such byte, 128 times as much, and shifted down at the end.
// CHECK-LABEL: func.func @bytes_that_are_set
func.func @bytes_that_are_set(%begin: i32, %end: i32, %x: vector<4xi8>) -> i64 {
  // CHECK:        arith.andi %{{.*}}, %c2139062143_i32 : i32
  // CHECK:        arith.andi %{{.*}}, %c-2139062144_i32 : i32
  // CHECK-NEXT:   %[[COUNTS:.*]] = llvm.call_intrinsic "llvm.nvvm.idp4a.u.u"
  // CHECK-NEXT:   %[[COUNT:.*]] = arith.shrui %[[COUNTS]], %c7_i32 : i32
  // CHECK-NEXT:   arith.extui %[[COUNT]] : i32 to i64
  %zeros = arith.constant dense<0> : vector<4xi64>
  %s = "fold.thread_reduce"(%begin, %end, %zeros) ({
  ^bb0(%r: i32):
    %nothing = arith.constant dense<0> : vector<4xi8>
    %set = arith.cmpi ne, %x, %nothing : vector<4xi8>
    %wide = arith.extui %set : vector<4xi1> to vector<4xi64>
    "fold.yield"(%wide) : (vector<4xi64>) -> ()
  }, {
  ^bb0(%a: i64, %b: i64):
    %c = arith.addi %a, %b : i64
    "fold.yield"(%c) : (i64) -> ()
  }) {step = 4, unroll = 1} : (i32, i32, vector<4xi64>) -> i64
  return %s : i64
}

// Each byte of an access belongs to a result of its own. With one access, each result takes its byte of the word.
// CHECK-LABEL: func.func @columns_of_bytes
func.func @columns_of_bytes(%begin: i32, %end: i32, %x: vector<4xi8>) -> vector<4xi64> {
  // CHECK:      %[[T0:.*]] = llvm.call_intrinsic "llvm.nvvm.idp4a.s.s"(%[[W:.*]], %c1_i32, %c0_i32)
  // CHECK-NEXT: %[[T1:.*]] = llvm.call_intrinsic "llvm.nvvm.idp4a.s.s"(%[[W]], %c256_i32, %c0_i32)
  // CHECK-NEXT: %[[T2:.*]] = llvm.call_intrinsic "llvm.nvvm.idp4a.s.s"(%[[W]], %c65536_i32, %c0_i32)
  // CHECK-NEXT: %[[T3:.*]] = llvm.call_intrinsic "llvm.nvvm.idp4a.s.s"(%[[W]], %c16777216_i32, %c0_i32)
  // CHECK-NEXT: %[[FOUR:.*]] = vector.from_elements %[[T0]], %[[T1]], %[[T2]], %[[T3]] : vector<4xi32>
  // CHECK-NEXT: %[[WIDE:.*]] = arith.extsi %[[FOUR]] : vector<4xi32> to vector<4xi64>
  // CHECK-NEXT: arith.addi %{{.*}}, %[[WIDE]] : vector<4xi64>
  %zeros = arith.constant dense<0> : vector<4xi64>
  %s = "fold.thread_reduce"(%begin, %end, %zeros) ({
  ^bb0(%r: i32):
    %wide = arith.extsi %x : vector<4xi8> to vector<4xi64>
    "fold.yield"(%wide) : (vector<4xi64>) -> ()
  }, {
  ^bb0(%a: i64, %b: i64):
    %c = arith.addi %a, %b : i64
    "fold.yield"(%c) : (i64) -> ()
  }) {step = 4, unroll = 1} : (i32, i32, vector<4xi64>) -> vector<4xi64>
  return %s : vector<4xi64>
}

// Two permutations (0x5140, 0x7362) interleave the bytes of two accesses: half a word for each result.
// CHECK-LABEL: func.func @columns_of_two_rows
func.func @columns_of_two_rows(%begin: i32, %end: i32, %x: vector<4xi8>) -> vector<4xi32> {
  // CHECK:      %[[LOW:.*]] = llvm.call_intrinsic "llvm.nvvm.prmt"(%[[A:.*]], %[[B:.*]], %c20800_i32)
  // CHECK-NEXT: %[[HIGH:.*]] = llvm.call_intrinsic "llvm.nvvm.prmt"(%[[A]], %[[B]], %c29538_i32)
  // CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.idp4a.s.s"(%[[LOW]], %c257_i32, %{{.*}})
  // CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.idp4a.s.s"(%[[LOW]], %c16842752_i32, %{{.*}})
  // CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.idp4a.s.s"(%[[HIGH]], %c257_i32, %{{.*}})
  // CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.idp4a.s.s"(%[[HIGH]], %c16842752_i32, %{{.*}})
  %zeros = arith.constant dense<0> : vector<4xi32>
  %s = "fold.thread_reduce"(%begin, %end, %zeros) ({
  ^bb0(%r: i32):
    %wide = arith.extsi %x : vector<4xi8> to vector<4xi32>
    "fold.yield"(%wide) : (vector<4xi32>) -> ()
  }, {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    "fold.yield"(%c) : (i32) -> ()
  }) {step = 1, unroll = 2} : (i32, i32, vector<4xi32>) -> vector<4xi32>
  return %s : vector<4xi32>
}

// For four accesses further permutations of halves (0x5410, 0x7632) give a word for each result.
// CHECK-LABEL: func.func @columns_of_four_rows
func.func @columns_of_four_rows(%begin: i32, %end: i32, %x: vector<4xi8>) -> vector<4xi32> {
  // CHECK-COUNT-4: llvm.call_intrinsic "llvm.nvvm.prmt"
  // CHECK-DAG:     %[[FIRST:.*]] = llvm.call_intrinsic "llvm.nvvm.prmt"(%{{.*}}, %{{.*}}, %c21520_i32)
  // CHECK-DAG:     llvm.call_intrinsic "llvm.nvvm.prmt"(%{{.*}}, %{{.*}}, %c30258_i32)
  // CHECK:         llvm.call_intrinsic "llvm.nvvm.idp4a.u.u"(%[[FIRST]], %c16843009_i32, %{{.*}})
  // CHECK-COUNT-3: llvm.call_intrinsic "llvm.nvvm.idp4a.u.u"(%{{.*}}, %c16843009_i32, %{{.*}})
  // CHECK-NOT:     llvm.call_intrinsic
  // CHECK:         scf.yield
  %zeros = arith.constant dense<0> : vector<4xi32>
  %s = "fold.thread_reduce"(%begin, %end, %zeros) ({
  ^bb0(%r: i32):
    %wide = arith.extui %x : vector<4xi8> to vector<4xi32>
    "fold.yield"(%wide) : (vector<4xi32>) -> ()
  }, {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    "fold.yield"(%c) : (i32) -> ()
  }) {step = 1, unroll = 4} : (i32, i32, vector<4xi32>) -> vector<4xi32>
  return %s : vector<4xi32>
}

// The bytes are added straight to a state of 32 bits, without a sum of the step.
// CHECK-LABEL: func.func @columns_of_bytes_in_32_bits
func.func @columns_of_bytes_in_32_bits(%begin: i32, %end: i32, %x: vector<4xi8>) -> vector<4xi32> {
  // CHECK:      scf.for {{.*}} iter_args(%[[STATE:.*]] = %{{.*}}) -> (vector<4xi32>)
  // CHECK-DAG:    %[[W:.*]] = vector.extract %{{.*}}[0] : i32 from vector<1xi32>
  // CHECK-DAG:    %[[S0:.*]] = vector.extract %[[STATE]][0]
  // CHECK:        %[[T0:.*]] = llvm.call_intrinsic "llvm.nvvm.idp4a.u.u"(%[[W]], %c1_i32, %[[S0]])
  // CHECK:        %[[NEXT:.*]] = vector.from_elements %[[T0]], %{{.*}}, %{{.*}}, %{{.*}} : vector<4xi32>
  // CHECK-NEXT:   scf.yield %[[NEXT]]
  %zeros = arith.constant dense<0> : vector<4xi32>
  %s = "fold.thread_reduce"(%begin, %end, %zeros) ({
  ^bb0(%r: i32):
    %wide = arith.extui %x : vector<4xi8> to vector<4xi32>
    "fold.yield"(%wide) : (vector<4xi32>) -> ()
  }, {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    "fold.yield"(%c) : (i32) -> ()
  }) {step = 4, unroll = 1} : (i32, i32, vector<4xi32>) -> vector<4xi32>
  return %s : vector<4xi32>
}

// Whether any byte is set: words are joined as they are, and the answer is one comparison with zero. What lies past the
// end is masked a word at a time: of a word of ones, 4 (4 - LEFT) bits are shifted out twice, as a shift by 32 would be
// none.
// CHECK-LABEL: func.func @any_byte
func.func @any_byte(%begin: i32, %end: i32, %x: vector<4xi8>) -> i1 {
  // CHECK:      scf.for {{.*}} iter_args(%[[STATE:.*]] = %{{.*}}) -> (i32)
  // CHECK:        %[[LEFT:.*]] = arith.subi %{{.*}}, %{{.*}} : i32
  // CHECK:        %[[FEWER:.*]] = arith.shrui %c-1_i32, %[[HALF:.*]] : i32
  // CHECK-NEXT:   %[[INSIDE:.*]] = arith.shrui %[[FEWER]], %[[HALF]] : i32
  // CHECK-NEXT:   %[[MASKED:.*]] = arith.andi %{{.*}}, %[[INSIDE]] : i32
  // CHECK-NEXT:   %[[NEXT:.*]] = arith.ori %[[STATE]], %[[MASKED]] : i32
  // CHECK-NEXT:   scf.yield %[[NEXT]] : i32
  // CHECK:      %[[ANY:.*]] = arith.cmpi ne, %{{.*}}, %c0_i32 : i32
  // CHECK-NEXT: return %[[ANY]]
  %none = arith.constant dense<false> : vector<4xi1>
  %s = "fold.thread_reduce"(%begin, %end, %none) ({
  ^bb0(%r: i32):
    %nothing = arith.constant dense<0> : vector<4xi8>
    %set = arith.cmpi ne, %x, %nothing : vector<4xi8>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %number = vector.from_elements %c0, %c1, %c2, %c3 : vector<4xi32>
    %left = arith.subi %end, %r : i32
    %bound = vector.broadcast %left : i32 to vector<4xi32>
    %live = arith.cmpi slt, %number, %bound : vector<4xi32>
    %wanted = arith.select %live, %set, %none : vector<4xi1>, vector<4xi1>
    "fold.yield"(%wanted) : (vector<4xi1>) -> ()
  }, {
  ^bb0(%a: i1, %b: i1):
    %c = arith.ori %a, %b : i1
    "fold.yield"(%c) : (i1) -> ()
  }) {step = 4, unroll = 1} : (i32, i32, vector<4xi1>) -> i1
  return %s : i1
}

// Whether all bytes are set, in one step at most. Their highest bits say so, so these alone are compared at the end.
// CHECK-LABEL: func.func @all_bytes
func.func @all_bytes(%begin: i32, %end: i32, %x: vector<8xi8>) -> i1 {
  // CHECK:      %[[WORDS:.*]]:2 = scf.if %{{.*}} -> (i32, i32) {
  // CHECK:        arith.andi %{{.*}}, %c-2139062144_i32 : i32
  // CHECK:        arith.andi %{{.*}}, %c-2139062144_i32 : i32
  // CHECK:        scf.yield %{{.*}}, %{{.*}} : i32, i32
  // CHECK:      } else {
  // A state with all values true is a word of ones.
  // CHECK-NEXT:   scf.yield %c-1_i32, %c-1_i32 : i32, i32
  // CHECK:      %[[BOTH:.*]] = arith.andi %[[WORDS]]#0, %[[WORDS]]#1 : i32
  // CHECK-NEXT: %[[HIGH:.*]] = arith.andi %[[BOTH]], %c-2139062144_i32 : i32
  // CHECK-NEXT: %[[ALL:.*]] = arith.cmpi eq, %[[HIGH]], %c-2139062144_i32 : i32
  // CHECK-NEXT: return %[[ALL]]
  %every = arith.constant dense<true> : vector<8xi1>
  %s = "fold.thread_reduce"(%begin, %end, %every) ({
  ^bb0(%r: i32):
    %nothing = arith.constant dense<0> : vector<8xi8>
    %set = arith.cmpi ne, %x, %nothing : vector<8xi8>
    "fold.yield"(%set) : (vector<8xi1>) -> ()
  }, {
  ^bb0(%a: i1, %b: i1):
    %c = arith.andi %a, %b : i1
    "fold.yield"(%c) : (i1) -> ()
  }) {step = 8, unroll = 1, once = true} : (i32, i32, vector<8xi1>) -> i1
  return %s : i1
}

// An `or` of bytes widened to integers is neither a sum nor a truth value: it is not packed.
// CHECK-LABEL: func.func @union_of_bytes
func.func @union_of_bytes(%begin: i32, %end: i32, %x: vector<4xi8>) -> vector<4xi64> {
  // CHECK-NOT: idp4a
  // CHECK:     arith.ori %{{.*}}, %{{.*}} : vector<4xi64>
  %zeros = arith.constant dense<0> : vector<4xi64>
  %s = "fold.thread_reduce"(%begin, %end, %zeros) ({
  ^bb0(%r: i32):
    %wide = arith.extsi %x : vector<4xi8> to vector<4xi64>
    "fold.yield"(%wide) : (vector<4xi64>) -> ()
  }, {
  ^bb0(%a: i64, %b: i64):
    %c = arith.ori %a, %b : i64
    "fold.yield"(%c) : (i64) -> ()
  }) {step = 4, unroll = 1} : (i32, i32, vector<4xi64>) -> vector<4xi64>
  return %s : vector<4xi64>
}

// The greatest byte, two bytes an instruction: of two halves the upper bytes say which is greater. A word gives the
// extremes of its odd bytes, and shifted up by one those of the even ones. In the end the upper half of what all halves
// give has the greatest byte of all on top.
// CHECK-LABEL: func.func @greatest_byte
func.func @greatest_byte(%begin: i32, %end: i32, %x: vector<4xi8>) -> i32 {
  // The state begins with the lowest byte, -128, in every place.
  // CHECK-DAG:  %[[ODD:.*]] = llvm.bitcast %c-2139062144_i32 : i32 to vector<2xi16>
  // CHECK-DAG:  %[[EVEN:.*]] = llvm.bitcast %c-2139062272_i32 : i32 to vector<2xi16>
  // CHECK:      scf.for {{.*}} iter_args(%[[S1:.*]] = %[[ODD]], %[[S0:.*]] = %[[EVEN]]) -> (vector<2xi16>, vector<2xi16>)
  // CHECK:        %[[W:.*]] = vector.extract %{{.*}}[0] : i32 from vector<1xi32>
  // CHECK-NEXT:   %[[UP:.*]] = arith.shli %[[W]], %c8_i32 : i32
  // CHECK-NEXT:   %[[X1:.*]] = llvm.bitcast %[[W]] : i32 to vector<2xi16>
  // CHECK-NEXT:   %[[X0:.*]] = llvm.bitcast %[[UP]] : i32 to vector<2xi16>
  // CHECK-NEXT:   arith.maxsi %[[X1]], %[[S1]] : vector<2xi16>
  // CHECK-NEXT:   arith.maxsi %[[X0]], %[[S0]] : vector<2xi16>
  // CHECK:      %[[BOTH:.*]] = arith.maxsi %{{.*}}, %{{.*}} : vector<2xi16>
  // CHECK:      %[[TOP:.*]] = arith.maxsi %[[BOTH]], %{{.*}} : vector<2xi16>
  // CHECK-NEXT: %[[BITS:.*]] = llvm.bitcast %[[TOP]] : vector<2xi16> to i32
  // CHECK-NEXT: %[[BYTE:.*]] = arith.shrsi %[[BITS]], %c24_i32 : i32
  // CHECK-NEXT: return %[[BYTE]]
  %last = arith.constant dense<-128> : vector<4xi32>
  %s = "fold.thread_reduce"(%begin, %end, %last) ({
  ^bb0(%r: i32):
    %wide = arith.extsi %x : vector<4xi8> to vector<4xi32>
    "fold.yield"(%wide) : (vector<4xi32>) -> ()
  }, {
  ^bb0(%a: i32, %b: i32):
    %c = arith.maxsi %a, %b : i32
    "fold.yield"(%c) : (i32) -> ()
  }) {step = 4, unroll = 1} : (i32, i32, vector<4xi32>) -> i32
  return %s : i32
}

// An initial state that no byte can hold, such as a user's own identity, would not fit in halves: the widened elements are
// compared.
// CHECK-LABEL: func.func @greatest_byte_or_less
func.func @greatest_byte_or_less(%begin: i32, %end: i32, %x: vector<4xi8>) -> i32 {
  // CHECK-NOT:  vector<2xi16>
  // CHECK:      arith.maxsi %{{.*}}, %{{.*}} : vector<4xi32>
  %last = arith.constant dense<-129> : vector<4xi32>
  %s = "fold.thread_reduce"(%begin, %end, %last) ({
  ^bb0(%r: i32):
    %wide = arith.extsi %x : vector<4xi8> to vector<4xi32>
    "fold.yield"(%wide) : (vector<4xi32>) -> ()
  }, {
  ^bb0(%a: i32, %b: i32):
    %c = arith.maxsi %a, %b : i32
    "fold.yield"(%c) : (i32) -> ()
  }) {step = 4, unroll = 1} : (i32, i32, vector<4xi32>) -> i32
  return %s : i32
}

// Four columns of bf16, two in a register, which are widened after the walk. Masked elements are infinity, selected bit by
// bit. The second access is combined first, so that no thread waits for the first one before it has issued both.
// CHECK-LABEL: func.func @least_of_columns
func.func @least_of_columns(%begin: i32, %end: i32, %x: vector<4xbf16>) -> vector<4xf32> {
  // CHECK-DAG:  %[[NONE:.*]] = llvm.bitcast %c2139127680_i32 : i32 to vector<2xbf16>
  // CHECK:      scf.for {{.*}} iter_args(%[[S0:.*]] = %[[NONE]], %[[S1:.*]] = %[[NONE]]) -> (vector<2xbf16>, vector<2xbf16>)
  // CHECK-DAG:    %[[W:.*]] = vector.extract %{{.*}}[0] : i32 from vector<2xi32>
  // CHECK-DAG:    %[[FIRST:.*]] = arith.cmpi sgt
  // CHECK-DAG:    %[[MASK:.*]] = arith.extsi %[[FIRST]] : i1 to i32
  // CHECK:        %[[SOME:.*]] = arith.andi %[[W]], %[[MASK]] : i32
  // CHECK-NEXT:   %[[OUTSIDE:.*]] = arith.xori %[[MASK]], %c-1_i32 : i32
  // CHECK-NEXT:   %[[REST:.*]] = arith.andi %[[OUTSIDE]], %c2139127680_i32 : i32
  // CHECK-NEXT:   %[[CHOSEN:.*]] = arith.ori %[[SOME]], %[[REST]] : i32
  // CHECK:        %[[X0:.*]] = llvm.bitcast %[[CHOSEN]] : i32 to vector<2xbf16>
  // CHECK:        %[[BOTH:.*]] = arith.minimumf %{{.*}}, %[[X0]] : vector<2xbf16>
  // CHECK-NEXT:   arith.minimumf %[[BOTH]], %[[S0]] : vector<2xbf16>
  // CHECK-NEXT:   %[[OTHERS:.*]] = arith.minimumf %{{.*}}, %{{.*}} : vector<2xbf16>
  // CHECK-NEXT:   arith.minimumf %[[OTHERS]], %[[S1]] : vector<2xbf16>
  // CHECK:      %[[ALL:.*]] = vector.bitcast %{{.*}} : vector<2xi32> to vector<4xbf16>
  // CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[ALL]] : vector<4xbf16> to vector<4xf32>
  // CHECK-NEXT: return %[[WIDE]]
  %last = arith.constant dense<0x7F800000> : vector<4xf32>
  %s = "fold.thread_reduce"(%begin, %end, %last) ({
  ^bb0(%r: i32):
    %wide = arith.extf %x : vector<4xbf16> to vector<4xf32>
    %left = arith.subi %end, %r : i32
    %c0 = arith.constant 0 : i32
    %some = arith.cmpi sgt, %left, %c0 : i32
    %live = vector.broadcast %some : i1 to vector<4xi1>
    %wanted = arith.select %live, %wide, %last : vector<4xi1>, vector<4xf32>
    "fold.yield"(%wanted) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.minimumf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 1, unroll = 2} : (i32, i32, vector<4xf32>) -> vector<4xf32>
  return %s : vector<4xf32>
}

// Blocks need no loop: all their elements are in registers. Four rows of three: the first elements of all rows are one
// fragment, and so are the second and the third ones. The fragments are combined as a tree.
// CHECK-LABEL: func.func @rows_of_three
// CHECK-SAME:    (%[[A:.*]]: vector<4xf32>, %[[B:.*]]: vector<4xf32>, %[[C:.*]]: vector<4xf32>)
func.func @rows_of_three(%a: vector<4xf32>, %b: vector<4xf32>, %c: vector<4xf32>) -> vector<4xf32> {
  // CHECK-NOT:  scf
  // CHECK:      %[[FIRST:.*]] = vector.from_elements
  // CHECK-NEXT: %[[SECOND:.*]] = vector.from_elements
  // CHECK-NEXT: %[[THIRD:.*]] = vector.from_elements
  // CHECK-NEXT: %[[TWO:.*]] = arith.addf %[[SECOND]], %[[THIRD]] : vector<4xf32>
  // CHECK-NEXT: %[[ALL:.*]] = arith.addf %[[FIRST]], %[[TWO]] : vector<4xf32>
  // CHECK-NEXT: return %[[ALL]]
  %sums = "fold.block_reduce"(%a, %b, %c) ({
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    "fold.yield"(%z) : (f32) -> ()
  }) {elements = 3, columns = 1} : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  return %sums : vector<4xf32>
}

// Truth values stay words. Of sixteen pairs of bytes each word holds two: a mask for the lower one, one for the upper one,
// and what is not zero becomes a one; four of these are a word of results.
// CHECK-LABEL: func.func @any_of_pairs
func.func @any_of_pairs(%a: vector<16xi8>, %b: vector<16xi8>, %out: !llvm.ptr<1>) {
  // CHECK-DAG:  %[[UPPER:.*]] = arith.constant -65536 : i32
  // CHECK-DAG:  %[[LOWER:.*]] = arith.constant 65535 : i32
  // CHECK:      %[[LOW:.*]] = arith.andi %{{.*}}, %[[LOWER]] : i32
  // CHECK-NEXT: arith.minui %[[LOW]], %c1_i32 : i32
  // CHECK:      %[[HIGH:.*]] = arith.andi %{{.*}}, %[[UPPER]] : i32
  // CHECK-NEXT: arith.minui %[[HIGH]], %c1_i32 : i32
  // CHECK:      llvm.store %{{.*}}, %{{.*}} : vector<16xi8>
  %zeros = arith.constant dense<0> : vector<16xi8>
  %p = arith.cmpi ne, %a, %zeros : vector<16xi8>
  %q = arith.cmpi ne, %b, %zeros : vector<16xi8>
  %any = "fold.block_reduce"(%p, %q) ({
  ^bb0(%x: i1, %y: i1):
    %z = arith.ori %x, %y : i1
    "fold.yield"(%z) : (i1) -> ()
  }) {elements = 2, columns = 1} : (vector<16xi1>, vector<16xi1>) -> vector<16xi1>
  %bytes = arith.extui %any : vector<16xi1> to vector<16xi8>
  llvm.store %bytes, %out {alignment = 16 : i64} : vector<16xi8>, !llvm.ptr<1>
  return
}

// Bytes with their numbers below, in words of 32 bits of which the least is wanted. The numbers go up along the walk, so
// in a step of sixteen only the first of the greatest bytes can be that. Each byte, turned over, gets its place in the
// step beside it: two are a word. Noted is the least of them, and where its step begins.
// CHECK-LABEL: func.func @argmax
// CHECK-SAME:    (%[[BEGIN:.*]]: i32, %[[END:.*]]: i32, %[[X:.*]]: !llvm.ptr<1>, %[[BASE:.*]]: i32, %[[STRIDE:.*]]: i32)
func.func @argmax(%begin: i32, %end: i32, %x: !llvm.ptr<1>, %base: i32, %stride: i32) -> i32 {
  %least = arith.constant dense<2147483647> : vector<8xi32>
  // CHECK:      %[[NOTED:.*]]:2 = scf.for %[[R:.*]] = %[[BEGIN]] to %[[END]] step %c512_i32
  // CHECK-SAME:     iter_args(%[[BEST:.*]] = %c2147483647_i32, %[[AT:.*]] = %[[BEGIN]]) -> (i32, i32)
  // CHECK-COUNT-2: llvm.load %{{.*}} : !llvm.ptr<1> -> vector<8xi8>
  // Places 0 to 3, as bytes, each below one of the four bytes of a word.
  // CHECK:        %[[KEYS:.*]] = arith.xori %{{.*}}, %c-1_i32 : i32
  // CHECK:        llvm.call_intrinsic "llvm.nvvm.prmt"(%[[KEYS]], %c50462976_i32, %c5380_i32)
  // CHECK-NEXT:   llvm.call_intrinsic "llvm.nvvm.prmt"(%[[KEYS]], %c50462976_i32, %c14118_i32)
  // Eight words of two bytes: seven comparisons, and one more of the two halves of the last word.
  // CHECK-COUNT-7: arith.minsi %{{.*}} : vector<2xi16>
  // CHECK:        %[[UPPER:.*]] = arith.shli %[[PAIR:.*]], %c16_i32 : i32
  // CHECK-NEXT:   %[[LEAST:.*]] = arith.minsi %[[UPPER]], %[[PAIR]] : i32
  // An equal key of a later step does not come first: the comparison leaves out the places.
  // CHECK-NEXT:   %[[KEY:.*]] = arith.andi %[[BEST]], %c-8388608_i32 : i32
  // CHECK-NEXT:   %[[FIRST:.*]] = arith.cmpi slt, %[[LEAST]], %[[KEY]] : i32
  // CHECK-NEXT:   arith.select %[[FIRST]], %[[LEAST]], %[[BEST]] : i32
  // CHECK-NEXT:   arith.select %[[FIRST]], %[[R]], %[[AT]] : i32
  // The place says which element it was: accesses lie 256 apart, their elements one.
  // CHECK:      %[[PLACE:.*]] = arith.andi %{{.*}}, %c127_i32 : i32
  // CHECK:      %[[ACCESS:.*]] = arith.shrui %[[PLACE]], %c3_i32 : i32
  // CHECK-NEXT: %[[LANE:.*]] = arith.andi %[[PLACE]], %c7_i32 : i32
  // CHECK-NEXT: %[[FAR:.*]] = arith.muli %[[ACCESS]], %c256_i32 : i32
  // CHECK-NEXT: %[[THERE:.*]] = arith.addi %[[NOTED]]#1, %[[FAR]] : i32
  // CHECK-NEXT: %[[ELEMENT:.*]] = arith.addi %[[THERE]], %[[LANE]] : i32
  // Its number and its word are computed like the program's.
  // CHECK:      arith.muli %[[ELEMENT]], %[[STRIDE]] : i32
  // CHECK:      %[[WORD:.*]] = arith.xori %{{.*}}, %c-16777216_i32 : i32
  // CHECK-NEXT: arith.select %{{.*}}, %[[WORD]], %c2147483647_i32 : i32
  %state = "fold.thread_reduce"(%begin, %end, %least) ({
  ^bb0(%r: i32):
    %where = llvm.getelementptr %x[%r] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
    %bytes = llvm.load %where {alignment = 8} : !llvm.ptr<1> -> vector<8xi8>
    %wide = arith.extsi %bytes : vector<8xi8> to vector<8xi32>
    %far = arith.muli %r, %stride : i32
    %n0 = arith.addi %base, %far : i32
    %c1 = arith.constant 1 : i32
    %d1 = arith.muli %c1, %stride : i32
    %n1 = arith.addi %n0, %d1 : i32
    %c2 = arith.constant 2 : i32
    %d2 = arith.muli %c2, %stride : i32
    %n2 = arith.addi %n0, %d2 : i32
    %c3 = arith.constant 3 : i32
    %d3 = arith.muli %c3, %stride : i32
    %n3 = arith.addi %n0, %d3 : i32
    %c4 = arith.constant 4 : i32
    %d4 = arith.muli %c4, %stride : i32
    %n4 = arith.addi %n0, %d4 : i32
    %c5 = arith.constant 5 : i32
    %d5 = arith.muli %c5, %stride : i32
    %n5 = arith.addi %n0, %d5 : i32
    %c6 = arith.constant 6 : i32
    %d6 = arith.muli %c6, %stride : i32
    %n6 = arith.addi %n0, %d6 : i32
    %c7 = arith.constant 7 : i32
    %d7 = arith.muli %c7, %stride : i32
    %n7 = arith.addi %n0, %d7 : i32
    %numbers = vector.from_elements %n0, %n1, %n2, %n3, %n4, %n5, %n6, %n7 : vector<8xi32>
    %word = "fold.word"(%wide, %numbers) {bits = 8, falls = true, unsigned = false} : (vector<8xi32>, vector<8xi32>) -> vector<8xi32>
    "fold.yield"(%word) : (vector<8xi32>) -> ()
  }, {
  ^bb0(%a: i32, %b: i32):
    %c = arith.minsi %a, %b : i32
    "fold.yield"(%c) : (i32) -> ()
  }) {step = 256, unroll = 2, numbers = "up", places = true} : (i32, i32, vector<8xi32>) -> i32
  return %state : i32
}

// Each element belongs to a result of its own. With two rows of four i16 each element gets the place of its row below it,
// and the loop notes one element for each column.
// CHECK-LABEL: func.func @argmin_of_columns
func.func @argmin_of_columns(%begin: i32, %end: i32, %x: !llvm.ptr<1>) -> vector<4xi64> {
  // CHECK:      scf.for %[[R:.*]] = %{{.*}} iter_args(%[[BEST:.*]] = %{{.*}}, %[[AT:.*]] = %{{.*}}) -> (vector<4xi32>, vector<4xi32>)
  // CHECK:        %[[LOW:.*]] = arith.shli %[[WORD:.*]], %c16_i32 : i32
  // CHECK-NEXT:   %[[HIGH:.*]] = arith.andi %[[WORD]], %c-65536_i32 : i32
  // CHECK:        arith.addi %{{.*}}, %c1_i32 : i32
  // CHECK-COUNT-4: arith.minsi %{{.*}} : i32
  // CHECK:        %[[FIRST:.*]] = arith.cmpi slt, %{{.*}} : vector<4xi32>
  // CHECK-NEXT:   arith.select %[[FIRST]], %{{.*}}, %[[BEST]] : vector<4xi1>, vector<4xi32>
  // Four words are made at the end, of the rows that they are in.
  // CHECK:      arith.extsi %{{.*}} : vector<4xi16> to vector<4xi64>
  // CHECK:      arith.extui %{{.*}} : vector<4xi32> to vector<4xi64>
  // CHECK-NEXT: arith.ori %{{.*}} : vector<4xi64>
  %least = arith.constant dense<9223372036854775807> : vector<4xi64>
  %state = "fold.thread_reduce"(%begin, %end, %least) ({
  ^bb0(%r: i32):
    %c4 = arith.constant 4 : i32
    %row = arith.muli %r, %c4 : i32
    %where = llvm.getelementptr %x[%row] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i16
    %values = llvm.load %where {alignment = 8} : !llvm.ptr<1> -> vector<4xi16>
    %wide = arith.extsi %values : vector<4xi16> to vector<4xi32>
    %numbers = vector.from_elements %r, %r, %r, %r : vector<4xi32>
    %word = "fold.word"(%wide, %numbers) {bits = 32, falls = false, unsigned = false} : (vector<4xi32>, vector<4xi32>) -> vector<4xi64>
    "fold.yield"(%word) : (vector<4xi64>) -> ()
  }, {
  ^bb0(%a: i64, %b: i64):
    %c = arith.minsi %a, %b : i64
    "fold.yield"(%c) : (i64) -> ()
  }) {step = 8, unroll = 2, numbers = "up"} : (i32, i32, vector<4xi64>) -> vector<4xi64>
  return %state : vector<4xi64>
}

// Floats of 32 bits, and words of 64. A step finds the
// greatest and then which it was: an element takes a maximum, a comparison and a selection.
// CHECK-LABEL: func.func @argmax_of_floats
func.func @argmax_of_floats(%begin: i32, %end: i32, %x: vector<8xf32>) -> i64 {
  // CHECK:      scf.for %[[R:.*]] = %{{.*}} iter_args(%[[BEST:.*]] = %{{.*}}, %[[AT:.*]] = %{{.*}}, %[[N:.*]] = %c0_i32)
  // CHECK-SAME:     -> (f32, i32, i32)
  // One NaN, and one zero.
  // CHECK:        %[[Y:.*]] = math.fma %{{.*}} : vector<8xf32>
  // CHECK:        %[[GREATEST:.*]] = arith.maximumf %{{.*}} : f32
  // CHECK-NEXT:   %[[BITS:.*]] = arith.bitcast %[[GREATEST]] : f32 to i32
  // Of equal elements the first one counts: the search runs from the last element to the first.
  // CHECK:        %[[LAST:.*]] = arith.bitcast %{{.*}} : f32 to i32
  // CHECK-NEXT:   %[[IS:.*]] = arith.cmpi eq, %[[LAST]], %[[BITS]] : i32
  // CHECK-NEXT:   arith.select %[[IS]], %c7_i32, %c0_i32 : i32
  // CHECK:        %[[GREATER:.*]] = arith.cmpf ugt, %[[GREATEST]], %[[BEST]] : f32
  // CHECK-NEXT:   %[[NUMBER:.*]] = arith.cmpf ord, %[[BEST]], %[[BEST]] : f32
  // CHECK-NEXT:   %[[FIRST:.*]] = arith.andi %[[GREATER]], %[[NUMBER]] : i1
  // CHECK-NEXT:   arith.select %[[FIRST]], %[[GREATEST]], %[[BEST]] : f32
  // CHECK-NEXT:   arith.select %[[FIRST]], %[[R]], %[[AT]] : i32
  // Without a step nothing was noted.
  // CHECK:      arith.cmpi slt, %{{.*}} : i32
  // CHECK:      arith.shli %{{.*}} : i64
  %least = arith.constant dense<9223372036854775807> : vector<8xi64>
  %state = "fold.thread_reduce"(%begin, %end, %least) ({
  ^bb0(%r: i32):
    %numbers = vector.from_elements %r, %r, %r, %r, %r, %r, %r, %r : vector<8xi32>
    %word = "fold.word"(%x, %numbers) {bits = 32, falls = true, unsigned = false} : (vector<8xf32>, vector<8xi32>) -> vector<8xi64>
    "fold.yield"(%word) : (vector<8xi64>) -> ()
  }, {
  ^bb0(%a: i64, %b: i64):
    %c = arith.minsi %a, %b : i64
    "fold.yield"(%c) : (i64) -> ()
  }) {step = 8, unroll = 1, numbers = "up"} : (i32, i32, vector<8xi64>) -> i64
  return %state : i64
}

// Sums relative to an anchor, as in log-sum-exp: the elements of a step and the state share an anchor. It is a scalar, and
// a step computes it first. Then each element takes one exponential, and so does the state; the rest are additions. Pair
// by pair each element would take a comparison and selections, too.
// CHECK-LABEL: func.func @one_anchor
// CHECK-SAME:    (%{{.*}}: i32, %{{.*}}: i32, %[[X:.*]]: vector<4xf32>)
func.func @one_anchor(%begin: i32, %end: i32, %x: vector<4xf32>) -> (f32, f32) {
  // CHECK:      %[[ONES:.*]] = arith.constant dense<1.000000e+00> : vector<4xf32>
  // CHECK:      %[[ALL:.*]]:2 = scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %[[S:.*]] = %{{.*}}) -> (f32, vector<4xf32>)
  // CHECK:        arith.maximumf %{{.*}} : vector<2xf32>
  // CHECK:        %[[STEP:.*]] = arith.maximumf %{{.*}} : f32
  // CHECK-NEXT:   %[[K:.*]] = arith.maximumf %[[M]], %[[STEP]] : f32
  // The state so far, relative to the new anchor.
  // CHECK-NEXT:   %[[BACK:.*]] = arith.subf %[[M]], %[[K]] : f32
  // CHECK-NEXT:   %[[E:.*]] = math.exp2 %[[BACK]] : f32
  // CHECK-NEXT:   %[[SPREAD:.*]] = vector.broadcast %[[E]] : f32 to vector<4xf32>
  // CHECK-NEXT:   %[[SEEN:.*]] = arith.mulf %[[S]], %[[SPREAD]] : vector<4xf32>
  // Two accesses, added to the state: here they load the same value, so their exponential is computed once.
  // CHECK:        %[[FAR:.*]] = arith.subf %[[X]], %{{.*}} : vector<4xf32>
  // CHECK-NEXT:   %[[EACH:.*]] = math.exp2 %[[FAR]] : vector<4xf32>
  // CHECK-NEXT:   %[[FIRST:.*]] = math.fma %[[ONES]], %[[EACH]], %[[SEEN]] fastmath<contract> : vector<4xf32>
  // CHECK-NEXT:   %[[BOTH:.*]] = math.fma %[[ONES]], %[[EACH]], %[[FIRST]] fastmath<contract> : vector<4xf32>
  // CHECK-NEXT:   scf.yield %[[K]], %[[BOTH]] : f32, vector<4xf32>
  // At the end the elements have one anchor, and are added.
  // CHECK:      arith.addf %{{.*}} : vector<2xf32>
  // CHECK:      %[[SUM:.*]] = arith.addf %{{.*}} : f32
  // CHECK-NEXT: return %[[ALL]]#0, %[[SUM]] : f32, f32
  %low = arith.constant dense<0xFF800000> : vector<4xf32>
  %zeros = arith.constant dense<0.0> : vector<4xf32>
  %none = builtin.unrealized_conversion_cast %low, %zeros : vector<4xf32>, vector<4xf32> to tuple<vector<4xf32>, vector<4xf32>>
  %all = "fold.thread_reduce"(%begin, %end, %none) ({
  ^bb0(%r: i32):
    %ones = arith.constant dense<1.0> : vector<4xf32>
    %each = builtin.unrealized_conversion_cast %x, %ones : vector<4xf32>, vector<4xf32> to tuple<vector<4xf32>, vector<4xf32>>
    "fold.yield"(%each) : (tuple<vector<4xf32>, vector<4xf32>>) -> ()
  }, {
  ^bb0(%ma: f32, %sa: f32, %mb: f32, %sb: f32):
    %k = arith.maximumf %ma, %mb : f32
    %da = arith.subf %ma, %k : f32
    %ea = math.exp2 %da : f32
    %ta = arith.mulf %sa, %ea : f32
    %db = arith.subf %mb, %k : f32
    %eb = math.exp2 %db : f32
    %tb = arith.mulf %sb, %eb : f32
    %t = arith.addf %ta, %tb : f32
    %both = builtin.unrealized_conversion_cast %k, %t : f32, f32 to tuple<f32, f32>
    "fold.yield"(%both) : (tuple<f32, f32>) -> ()
  }) {step = 128, unroll = 2} : (i32, i32, tuple<vector<4xf32>, vector<4xf32>>) -> tuple<f32, f32>
  %m, %s = builtin.unrealized_conversion_cast %all : tuple<f32, f32> to f32, f32
  return %m, %s : f32, f32
}

// A sum over four lanes by the tensor cores: the words of an access are added as they are. All lanes of the warp stay in
// the loop until the last one is done, with words of zeros.
// CHECK-LABEL: func.func @four_lanes_summed
// CHECK-SAME:    (%[[BEGIN:.*]]: i32, %[[END:.*]]: i32, %[[X:.*]]: vector<8xbf16>)
func.func @four_lanes_summed(%begin: i32, %end: i32, %x: vector<8xbf16>) -> f32 {
  // CHECK:      %[[LOOP:.*]]:3 = scf.while (%[[R:.*]] = %[[BEGIN]], %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}})
  // CHECK-NEXT:   %[[HERE:.*]] = arith.cmpi slt, %[[R]], %[[END]] : i32
  // CHECK-NEXT:   %[[SOME:.*]] = nvvm.vote.sync any %{{.*}}, %[[HERE]] -> i1
  // CHECK-NEXT:   scf.condition(%[[SOME]])
  // CHECK:        scf.if %{{.*}} -> (i32, i32, i32, i32)
  // CHECK:          vector.bitcast %[[X]] : vector<8xbf16> to vector<4xi32>
  // CHECK:        else
  // CHECK-NEXT:     scf.yield %c0_i32, %c0_i32, %c0_i32, %c0_i32
  // CHECK:        "fold.matrix_reduce"(%{{.*}}, %{{.*}}) {lanes = 4 : i64} : (vector<8xbf16>, vector<2xf32>) -> vector<2xf32>
  // CHECK:      %[[SUM:.*]] = arith.addf %[[LOOP]]#1, %[[LOOP]]#2 : f32
  // CHECK-NEXT: return %[[SUM]]
  %zeros = arith.constant dense<0.0> : vector<8xf32>
  %sum = "fold.thread_reduce"(%begin, %end, %zeros) ({
  ^bb0(%r: i32):
    %w = arith.extf %x : vector<8xbf16> to vector<8xf32>
    "fold.yield"(%w) : (vector<8xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 32, unroll = 1, summed = 4} : (i32, i32, vector<8xf32>) -> f32
  return %sum : f32
}

// -----

// --- lanes that meet in each step ---

// Two accesses of two elements, two lanes: the elements of each are combined; the lower lane then takes the first access
// of both lanes and the upper one the second, lower lane on the left; one more exchange joins the accesses, and the state
// comes last.
// CHECK-LABEL: func.func @lanes_that_meet_in_steps
// CHECK:         scf.for {{.*}} iter_args(%[[STATE:.*]] = %{{.*}}) -> (i32)
// CHECK:         arith.muli
// CHECK-NEXT:    %[[FIRST:.*]] = arith.addi
// CHECK:         arith.muli
// CHECK-NEXT:    %[[SECOND:.*]] = arith.addi
// CHECK:         %[[UPPER:.*]] = arith.cmpi ne
// CHECK-NEXT:    %[[GIVEN:.*]] = arith.select %[[UPPER]], %[[FIRST]], %[[SECOND]] : i32
// CHECK:         %[[GOT:.*]], %{{.*}} = gpu.shuffle xor %[[GIVEN]]
// CHECK:         arith.select %[[UPPER]], %[[GOT]], %[[FIRST]] : i32
// CHECK-NEXT:    arith.select %[[UPPER]], %[[SECOND]], %[[GOT]] : i32
// CHECK:         gpu.shuffle xor
// CHECK-NOT:     gpu.shuffle
// CHECK:         arith.muli %[[STATE]], %{{.*}} : i32
// CHECK:         scf.yield
func.func @lanes_that_meet_in_steps(%begin: i32, %end: i32, %x: vector<2xi32>) -> i32 {
  %zero = arith.constant 0 : i32
  %state = "fold.thread_reduce"(%begin, %end, %zero) ({
  ^bb0(%r: i32):
    %s = vector.broadcast %r : i32 to vector<2xi32>
    %y = arith.addi %x, %s : vector<2xi32>
    "fold.yield"(%y) : (vector<2xi32>) -> ()
  }, {
  ^bb0(%a: i32, %b: i32):
    %base = arith.constant 10 : i32
    %shifted = arith.muli %a, %base : i32
    %c = arith.addi %shifted, %b : i32
    "fold.yield"(%c) : (i32) -> ()
  }) {step = 4, unroll = 2, joined = 2} : (i32, i32, i32) -> i32
  return %state : i32
}

// -----

// Rolled: both accesses are read before a loop combines them, one after another.
// CHECK-LABEL: func.func @rolled
func.func @rolled(%x: !llvm.ptr<1>, %begin: i32, %end: i32) -> vector<2xf32> {
  // CHECK:      scf.if
  // CHECK:        %[[ONE:.*]] = llvm.load
  // CHECK:        %[[OTHER:.*]] = llvm.load
  // CHECK:        %[[SUM:.*]]:{{[0-9]+}} = scf.for {{.*}} iter_args(%[[SO_FAR:.*]] = %cst, {{.*}} %[[OWN:.*]] = %[[ONE]], {{.*}} = %[[OTHER]])
  // CHECK-NEXT:     %[[SQUARES:.*]] = arith.mulf %[[OWN]], %[[OWN]]
  // CHECK-NEXT:     arith.addf %[[SO_FAR]], %[[SQUARES]]
  // CHECK:        scf.yield %[[SUM]]#0
  %zeros = arith.constant dense<0.0> : vector<2xf32>
  %s = "fold.thread_reduce"(%begin, %end, %zeros) ({
  ^bb0(%r: i32):
    %at = llvm.getelementptr %x[%r] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %two = llvm.load %at : !llvm.ptr<1> -> vector<2xf32>
    %squares = arith.mulf %two, %two : vector<2xf32>
    "fold.yield"(%squares) : (vector<2xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 64, unroll = 2, once = true, chain = true, rolled = true} : (i32, i32, vector<2xf32>) -> vector<2xf32>
  return %s : vector<2xf32>
}

// -----

// The list of a warp: elements are compared with its last one, and only where a lane has one below that does the least
// of all lanes go into its place, in one turn after another. The last access of a step comes first. The loop ends for all
// lanes at once, and then all of them get the list.
// CHECK-LABEL: func.func @list_of_a_warp
// CHECK:      %[[ALL:.*]]:3 = scf.while
// CHECK:        nvvm.vote.sync any
// CHECK:        scf.condition
// CHECK:      %[[READ:.*]]:2 = scf.if
// CHECK:      arith.cmpi sle, %[[READ]]#1
// CHECK:      nvvm.vote.sync any
// CHECK:      %[[THEN:.*]]:2 = scf.if
// CHECK:        scf.while
// CHECK:          nvvm.redux.sync min
// CHECK:          scf.condition
// CHECK:          gpu.shuffle up
// CHECK:          arith.maxsi
// CHECK-NEXT:     arith.minsi
// CHECK-NEXT:     gpu.shuffle idx
// CHECK:      arith.cmpi sle, %[[READ]]#0, %[[THEN]]#1
// CHECK:      %[[P:.*]], %{{.*}} = gpu.shuffle idx %[[ALL]]#1, %c0_i32
// CHECK:      %[[Q:.*]], %{{.*}} = gpu.shuffle idx %[[ALL]]#1, %c1_i32
// CHECK:      builtin.unrealized_conversion_cast %[[P]], %[[Q]]
module attributes {gpu.container_module} {
  gpu.module @kernels attributes {fold.target = "sm_90a"} {
    func.func @list_of_a_warp(%begin: i32, %end: i32, %x: i32) -> tuple<i32, i32> {
      %none = arith.constant 2147483647 : i32
      %init = builtin.unrealized_conversion_cast %none, %none : i32, i32 to tuple<i32, i32>
      %state = "fold.thread_reduce"(%begin, %end, %init) ({
      ^bb0(%r: i32):
        %key = arith.xori %x, %r : i32
        %highest = arith.constant 2147483647 : i32
        %list = builtin.unrealized_conversion_cast %key, %highest : i32, i32 to tuple<i32, i32>
        "fold.yield"(%list) : (tuple<i32, i32>) -> ()
      }, {
      ^bb0(%a: i32, %b: i32, %c: i32, %d: i32):
        %p = arith.minsi %a, %d : i32
        %q = arith.minsi %b, %c : i32
        %least = arith.minsi %p, %q : i32
        %other = arith.maxsi %p, %q : i32
        %both = builtin.unrealized_conversion_cast %least, %other : i32, i32 to tuple<i32, i32>
        "fold.yield"(%both) : (tuple<i32, i32>) -> ()
      }) {step = 32, unroll = 2, warp = true} : (i32, i32, tuple<i32, i32>) -> tuple<i32, i32>
      return %state : tuple<i32, i32>
    }
  }
}
