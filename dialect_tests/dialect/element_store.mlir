// fold.element_store: a thread writes the elements of an access, the twin of fold.element_load.

// RUN: warpfold-opt %s | warpfold-opt | FileCheck %s

// CHECK-LABEL: func.func @whole
func.func @whole(%v: vector<4xf32>, %y: !llvm.ptr<1>, %kept: i32, %r: i32, %first: i32, %end: i32, %on: i1, %row: i32,
                 %one: i32) {
  // Operands: the fragment, base, flat kept index, flat reduced index, the bounds of the row, whether the thread writes,
  // then the layout. All elements of a whole access lie in the row.
  // CHECK:      "fold.element_store"
  // CHECK-SAME: {access = "aligned", axis = "reduced", kept_rank = 1 : i64, reduced_rank = 1 : i64, whole = true}
  // CHECK-SAME: (vector<4xf32>, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32, i32) -> ()
  "fold.element_store"(%v, %y, %kept, %r, %first, %end, %on, %row, %one)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", whole = true}
    : (vector<4xf32>, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32, i32) -> ()
  return
}

// CHECK-LABEL: func.func @cut
func.func @cut(%v: vector<4xf32>, %y: !llvm.ptr<1>, %kept: i32, %r: i32, %first: i32, %end: i32, %on: i1, %row: i32,
               %one: i32) {
  // Either end of the row may cut this access.
  // CHECK:      access = "shifted"
  // CHECK-SAME: whole = false
  "fold.element_store"(%v, %y, %kept, %r, %first, %end, %on, %row, %one)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted", whole = false}
    : (vector<4xf32>, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32, i32) -> ()
  return
}

// CHECK-LABEL: func.func @in_a_tile
func.func @in_a_tile(%v: f32, %tile: !llvm.ptr<3>, %kept: i32, %r: i32, %first: i32, %end: i32, %on: i1, %row: i32,
                     %one: i32, %origin: i32) {
  // An element of what fold.tile_reserve gave. Its origin follows the layout.
  // CHECK:      access = "tile"
  // CHECK-SAME: (f32, !llvm.ptr<3>, i32, i32, i32, i32, i1, i32, i32, i32) -> ()
  "fold.element_store"(%v, %tile, %kept, %r, %first, %end, %on, %row, %one, %origin)
    {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "tile", whole = false}
    : (f32, !llvm.ptr<3>, i32, i32, i32, i32, i1, i32, i32, i32) -> ()
  return
}

// CHECK-LABEL: func.func @apart_in_a_tile
func.func @apart_in_a_tile(%v: f32, %tile: !llvm.ptr<3>, %kept: i32, %r: i32, %first: i32, %end: i32, %on: i1,
                           %row: i32, %apart: i32, %origin: i32) {
  // In a group of rows that lie side by side the elements of a row are apart.
  // CHECK:      access = "tile_strided"
  "fold.element_store"(%v, %tile, %kept, %r, %first, %end, %on, %row, %apart, %origin)
    {kept_rank = 1, reduced_rank = 1, axis = "kept", access = "tile_strided", whole = false}
    : (f32, !llvm.ptr<3>, i32, i32, i32, i32, i1, i32, i32, i32) -> ()
  return
}
