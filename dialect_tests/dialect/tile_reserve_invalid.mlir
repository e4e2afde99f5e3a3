// Errors of fold.tile_reserve.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @of_an_array_in_shared_memory(%y: !llvm.ptr<3>, %begin: i32) {
  // expected-error @below {{WF310: fold.tile_reserve expects a !llvm.ptr<1> as operand 0, got !llvm.ptr<3>}}
  %made:2 = "fold.tile_reserve"(%y, %begin) {item = 4, bytes = 1024} : (!llvm.ptr<3>, i32) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @origin_of_another_type(%y: !llvm.ptr<1>, %begin: i32) {
  // expected-error @below {{WF310: fold.tile_reserve expects results of type !llvm.ptr<3>, i32, got !llvm.ptr<3>, i64}}
  %made:2 = "fold.tile_reserve"(%y, %begin) {item = 4, bytes = 1024} : (!llvm.ptr<1>, i32) -> (!llvm.ptr<3>, i64)
  return
}

// -----

func.func @item_of_no_access(%y: !llvm.ptr<1>, %begin: i32) {
  // expected-error @below {{WF311: fold.tile_reserve expects the attribute item to be a power of two up to 16, got 12}}
  %made:2 = "fold.tile_reserve"(%y, %begin) {item = 12, bytes = 1024} : (!llvm.ptr<1>, i32) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @bytes_of_no_whole_accesses(%y: !llvm.ptr<1>, %begin: i32) {
  // expected-error @below {{WF310: fold.tile_reserve expects bytes that are a multiple of 16, got 1000}}
  %made:2 = "fold.tile_reserve"(%y, %begin) {item = 4, bytes = 1000} : (!llvm.ptr<1>, i32) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @behind_no_whole_accesses(%y: !llvm.ptr<1>, %begin: i32) {
  // expected-error @below {{WF310: fold.tile_reserve expects a tile behind a multiple of 16 dynamic bytes, got 8}}
  %made:2 = "fold.tile_reserve"(%y, %begin) {item = 4, bytes = 1024, dynamic = 8}
    : (!llvm.ptr<1>, i32) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @place_in_static_memory(%y: !llvm.ptr<1>, %begin: i32) {
  // expected-error @below {{WF310: fold.tile_reserve expects dynamic shared memory for a place, got none}}
  %made:2 = "fold.tile_reserve"(%y, %begin, %begin) {item = 4, bytes = 1024} : (!llvm.ptr<1>, i32, i32) -> (!llvm.ptr<3>, i32)
  return
}
