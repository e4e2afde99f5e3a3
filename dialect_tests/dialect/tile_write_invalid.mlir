// Errors of fold.tile_write.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @from_global_memory(%y: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF310: fold.tile_write expects a !llvm.ptr<3> as operand 0, got !llvm.ptr<1>}}
  "fold.tile_write"(%y, %i, %y, %i, %i, %i) {item = 4, threads = 128}
    : (!llvm.ptr<1>, i32, !llvm.ptr<1>, i32, i32, i32) -> ()
  return
}

// -----

func.func @to_shared_memory(%tile: !llvm.ptr<3>, %i: i32) {
  // expected-error @below {{WF310: fold.tile_write expects a !llvm.ptr<1> as operand 2, got !llvm.ptr<3>}}
  "fold.tile_write"(%tile, %i, %tile, %i, %i, %i) {item = 4, threads = 128}
    : (!llvm.ptr<3>, i32, !llvm.ptr<3>, i32, i32, i32) -> ()
  return
}

// -----

func.func @item_of_no_access(%tile: !llvm.ptr<3>, %y: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF311: fold.tile_write expects the attribute item to be a power of two up to 16, got 12}}
  "fold.tile_write"(%tile, %i, %y, %i, %i, %i) {item = 12, threads = 128}
    : (!llvm.ptr<3>, i32, !llvm.ptr<1>, i32, i32, i32) -> ()
  return
}

// -----

func.func @no_threads(%tile: !llvm.ptr<3>, %y: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF311: fold.tile_write expects the attribute threads to be an integer}}
  "fold.tile_write"(%tile, %i, %y, %i, %i, %i) {item = 4}
    : (!llvm.ptr<3>, i32, !llvm.ptr<1>, i32, i32, i32) -> ()
  return
}
