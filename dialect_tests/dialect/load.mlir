// fold.load: what one thread reads of a tensor in one access. The op says where the elements are and what is known of their
// alignment; lower-global-access alone decides the width of loads, tails and masks.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @aligned
func.func @aligned(%x: !llvm.ptr<1>, %kept: i32, %r: i32, %row: i32, %one: i32) -> vector<4xf32> {
  // Operands: base, flat kept index, flat reduced index, then the layout: one stride for the kept dim, one for the
  // reduced one. The four elements follow each other along the reduced axis, from a 16-byte boundary.
  // CHECK:      "fold.load"
  // CHECK-SAME: {access = "aligned", axis = "reduced", kept_rank = 1 : i64, reduced_rank = 1 : i64}
  // CHECK-SAME: (!llvm.ptr<1>, i32, i32, i32, i32) -> vector<4xf32>
  %v = "fold.load"(%x, %kept, %r, %row, %one)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned"}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> vector<4xf32>
  return %v : vector<4xf32>
}

// CHECK-LABEL: func.func @shifted
func.func @shifted(%x: !llvm.ptr<1>, %kept: i32, %r: i32, %row: i32, %one: i32, %extent: i32) -> vector<4xf32> {
  // Rows that begin anywhere: accesses are aligned, and the first and the last of a row may hold elements beside it. The
  // extent of the array's memory follows the layout.
  // CHECK:      access = "shifted"
  // CHECK-SAME: (!llvm.ptr<1>, i32, i32, i32, i32, i32) -> vector<4xf32>
  %v = "fold.load"(%x, %kept, %r, %row, %one, %extent)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted"}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32) -> vector<4xf32>
  return %v : vector<4xf32>
}

// CHECK-LABEL: func.func @unaligned
func.func @unaligned(%x: !llvm.ptr<1>, %kept: i32, %r: i32, %one: i32, %row: i32, %before: i32, %behind: i32,
                     %n_kept: i32, %n_reduced: i32) -> vector<4xf32> {
  // Columns that begin anywhere: the vector itself begins between two boundaries. After the layout come the elements of the
  // array before %x and behind the axes, and the sizes of the axes: they say which vectors may leave the array.
  // CHECK:      access = "unaligned", axis = "kept"
  // CHECK-SAME: (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32, i32) -> vector<4xf32>
  %v = "fold.load"(%x, %kept, %r, %one, %row, %before, %behind, %n_kept, %n_reduced)
    {kept_rank = 1, reduced_rank = 1, axis = "kept", access = "unaligned"}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32, i32) -> vector<4xf32>
  return %v : vector<4xf32>
}

// CHECK-LABEL: func.func @staggered
func.func @staggered(%x: !llvm.ptr<1>, %kept: i32, %r: i32, %one: i32, %row: i32, %n_kept: i32, %n_reduced: i32)
    -> vector<4xf32> {
  // Columns that begin anywhere, in aligned accesses: %kept may lie before the first column, and the vector may end behind
  // the last one. The sizes of both axes follow the layout.
  // CHECK:      access = "staggered", axis = "kept"
  // CHECK-SAME: (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32) -> vector<4xf32>
  %v = "fold.load"(%x, %kept, %r, %one, %row, %n_kept, %n_reduced)
    {kept_rank = 1, reduced_rank = 1, axis = "kept", access = "staggered"}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32) -> vector<4xf32>
  return %v : vector<4xf32>
}

// CHECK-LABEL: func.func @of_a_period
func.func @of_a_period(%x: !llvm.ptr<1>, %kept: i32, %r: i32, %column: i32, %one: i32) -> vector<4xf32> {
  // Rows without gaps as one row: %r counts through all of them, from the first column of %kept on.
  // CHECK:      access = "period", axis = "reduced"
  // CHECK-SAME: (!llvm.ptr<1>, i32, i32, i32, i32) -> vector<4xf32>
  %v = "fold.load"(%x, %kept, %r, %column, %one)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "period"}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> vector<4xf32>
  return %v : vector<4xf32>
}

// CHECK-LABEL: func.func @strided_over_two_dims_each
func.func @strided_over_two_dims_each(
    %x: !llvm.ptr<1>, %kept: i64, %r: i64, %kept_size: i64, %reduced_size: i64,
    %k0: i64, %k1: i64, %r0: i64, %r1: i64) -> i8 {
  // A flat index over two dims takes the inner one's size: the layout holds it before the strides. 64-bit indices where
  // the array needs them.
  // CHECK:      "fold.load"
  // CHECK-SAME: {access = "strided", axis = "kept", kept_rank = 2 : i64, reduced_rank = 2 : i64}
  %v = "fold.load"(%x, %kept, %r, %kept_size, %reduced_size, %k0, %k1, %r0, %r1)
    {kept_rank = 2, reduced_rank = 2, axis = "kept", access = "strided"}
    : (!llvm.ptr<1>, i64, i64, i64, i64, i64, i64, i64, i64) -> i8
  return %v : i8
}

// CHECK-LABEL: func.func @tile
func.func @tile(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32,
                %kept: i32, %r: i32, %row: i32, %one: i32) -> vector<4xi8> {
  // From the CTA's copy: the base is the copy, and its origin follows the layout. Indices and strides stay those of the
  // array. Vectors begin anywhere; in shared memory an access may reach beyond the row.
  // CHECK:      access = "tile"
  // CHECK-SAME: (!llvm.ptr<3>, i32, i32, i32, i32, i32) -> vector<4xi8>
  %copy, %origin = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 1, bytes = 1024, threads = 32}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  %v = "fold.load"(%copy, %kept, %r, %row, %one, %origin)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "tile"}
    : (!llvm.ptr<3>, i32, i32, i32, i32, i32) -> vector<4xi8>
  return %v : vector<4xi8>
}

// CHECK-LABEL: func.func @tile_strided
func.func @tile_strided(%copy: !llvm.ptr<3>, %kept: i32, %r: i32, %row: i32, %stride: i32, %origin: i32) -> f32 {
  // Single elements of a copy, as of a middle axis.
  // CHECK:      access = "tile_strided"
  // CHECK-SAME: (!llvm.ptr<3>, i32, i32, i32, i32, i32) -> f32
  %v = "fold.load"(%copy, %kept, %r, %row, %stride, %origin)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "tile_strided"}
    : (!llvm.ptr<3>, i32, i32, i32, i32, i32) -> f32
  return %v : f32
}

// CHECK-LABEL: func.func @coherent
func.func @coherent(%partials: !llvm.ptr<1>, %kept: i32, %part: i32, %one: i32, %n_kept: i32) -> f32 {
  // Values that other CTAs wrote during this kernel must not come from a cache that does not see these writes.
  // CHECK: access = "coherent"
  %v = "fold.load"(%partials, %kept, %part, %one, %n_kept)
    {kept_rank = 1, reduced_rank = 1, axis = "kept", access = "coherent"}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> f32
  return %v : f32
}

// CHECK-LABEL: func.func @one_element
func.func @one_element(%x: !llvm.ptr<1>, %zero: i32) -> f32 {
  // An array of rank 0 has no layout at all.
  // CHECK: kept_rank = 0 : i64, reduced_rank = 0 : i64} : (!llvm.ptr<1>, i32, i32) -> f32
  %v = "fold.load"(%x, %zero, %zero) {kept_rank = 0, reduced_rank = 0, axis = "reduced", access = "strided"}
    : (!llvm.ptr<1>, i32, i32) -> f32
  return %v : f32
}
