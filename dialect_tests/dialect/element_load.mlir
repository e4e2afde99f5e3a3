// fold.element_load: an access of which some elements may lie beside the row. Elements whose reduced index is in
// [first, end) are the row's; the others are undefined, and nothing is read for them that other threads write.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @aligned
func.func @aligned(%x: !llvm.ptr<1>, %kept: i32, %r: i32, %first: i32, %end: i32, %row: i32, %one: i32) -> vector<4xf32> {
  // Operands: base, flat kept index, flat reduced index, the bounds of the row, then the layout. An aligned access lies
  // in the row as a whole or not at all.
  // CHECK:      "fold.element_load"
  // CHECK-SAME: {access = "aligned", axis = "reduced", kept_rank = 1 : i64, reduced_rank = 1 : i64}
  // CHECK-SAME: (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32) -> vector<4xf32>
  %v = "fold.element_load"(%x, %kept, %r, %first, %end, %row, %one)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned"}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32) -> vector<4xf32>
  return %v : vector<4xf32>
}

// CHECK-LABEL: func.func @shifted
func.func @shifted(%x: !llvm.ptr<1>, %kept: i32, %r: i32, %first: i32, %end: i32, %row: i32, %one: i32, %extent: i32)
    -> vector<4xf32> {
  // An access from the boundary before the row: either end of the row may cut it. How many elements of the array
  // can be read beside the row follows the layout.
  // CHECK:      access = "shifted"
  %v = "fold.element_load"(%x, %kept, %r, %first, %end, %row, %one, %extent)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted"}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> vector<4xf32>
  return %v : vector<4xf32>
}

// CHECK-LABEL: func.func @uniform
func.func @uniform(%x: !llvm.ptr<1>, %kept: i32, %r: i32, %first: i32, %end: i32, %row: i32, %one: i32) -> vector<4xf32> {
  // One element that is the same for four neighbouring rows: a weight, say.
  // CHECK:      access = "uniform", axis = "kept"
  %v = "fold.element_load"(%x, %kept, %r, %first, %end, %row, %one)
    {kept_rank = 1, reduced_rank = 1, axis = "kept", access = "uniform"}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32) -> vector<4xf32>
  return %v : vector<4xf32>
}

// CHECK-LABEL: func.func @in_a_tile
func.func @in_a_tile(%tile: !llvm.ptr<3>, %kept: i32, %r: i32, %first: i32, %end: i32, %row: i32, %one: i32, %origin: i32)
    -> f32 {
  // An element of what fold.tile_copy gave. The origin of the copy follows the layout.
  // CHECK:      access = "tile"
  // CHECK-SAME: (!llvm.ptr<3>, i32, i32, i32, i32, i32, i32, i32) -> f32
  %v = "fold.element_load"(%tile, %kept, %r, %first, %end, %row, %one, %origin)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "tile"}
    : (!llvm.ptr<3>, i32, i32, i32, i32, i32, i32, i32) -> f32
  return %v : f32
}

// CHECK-LABEL: func.func @apart_in_a_tile
func.func @apart_in_a_tile(%tile: !llvm.ptr<3>, %kept: i32, %r: i32, %first: i32, %end: i32, %row: i32, %apart: i32,
                           %origin: i32) -> f32 {
  // In a group of rows that lie side by side the elements of a row are apart.
  // CHECK:      access = "tile_strided"
  %v = "fold.element_load"(%tile, %kept, %r, %first, %end, %row, %apart, %origin)
    {kept_rank = 1, reduced_rank = 1, axis = "kept", access = "tile_strided"}
    : (!llvm.ptr<3>, i32, i32, i32, i32, i32, i32, i32) -> f32
  return %v : f32
}

// CHECK-LABEL: func.func @split
func.func @split(%x: !llvm.ptr<1>, %kept: i32, %r: i32, %first: i32, %end: i32, %size: i32, %row: i32, %pitch: i32,
                 %one: i32, %all: i32) -> vector<16xi8> {
  // An access that goes on from one row of two dims into the next, behind a gap. Rows have eight elements at least. The
  // size of the reduced axis follows the layout.
  // CHECK:      access = "split"
  // CHECK-SAME: part = 8 : i64
  %v = "fold.element_load"(%x, %kept, %r, %first, %end, %size, %row, %pitch, %one, %all)
    {kept_rank = 1, reduced_rank = 2, axis = "reduced", access = "split", part = 8}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> vector<16xi8>
  return %v : vector<16xi8>
}
