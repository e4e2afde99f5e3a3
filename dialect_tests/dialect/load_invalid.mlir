// Errors of fold.load.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @from_shared_memory(%x: !llvm.ptr<3>, %kept: i32, %r: i32, %k0: i32, %r0: i32) {
  // expected-error @below {{WF310: fold.load expects a !llvm.ptr<1> as operand 0, got !llvm.ptr<3>}}
  %made = "fold.load"(%x, %kept, %r, %k0, %r0) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned"}
    : (!llvm.ptr<3>, i32, i32, i32, i32) -> f32
  return
}

// -----

func.func @kept_is_no_index(%x: !llvm.ptr<1>, %kept: index, %r: i32, %k0: i32, %r0: i32) {
  // expected-error @below {{WF310: fold.load expects an i32 or i64 as operand 1, got index}}
  %made = "fold.load"(%x, %kept, %r, %k0, %r0) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned"}
    : (!llvm.ptr<1>, index, i32, i32, i32) -> f32
  return
}

// -----

func.func @reduced_is_no_index(%x: !llvm.ptr<1>, %kept: i32, %r: f32, %k0: i32, %r0: i32) {
  // expected-error @below {{WF310: fold.load expects an i32 or i64 as operand 2, got f32}}
  %made = "fold.load"(%x, %kept, %r, %k0, %r0) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned"}
    : (!llvm.ptr<1>, i32, f32, i32, i32) -> f32
  return
}

// -----

func.func @a_stride_is_missing(%x: !llvm.ptr<1>, %kept: i32, %r: i32, %k0: i32) {
  // Ranks 1 and 1: a kept and a reduced stride.
  // expected-error @below {{WF310: fold.load expects 2 layout operands for ranks 1 and 1, got 1}}
  %made = "fold.load"(%x, %kept, %r, %k0) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned"}
    : (!llvm.ptr<1>, i32, i32, i32) -> f32
  return
}

// -----

func.func @sizes_are_missing(%x: !llvm.ptr<1>, %kept: i32, %r: i32, %k0: i32, %r0: i32) {
  // Ranks 2 and 2: a kept and a reduced size, then two strides each.
  // expected-error @below {{WF310: fold.load expects 6 layout operands for ranks 2 and 2, got 2}}
  %made = "fold.load"(%x, %kept, %r, %k0, %r0) {kept_rank = 2, reduced_rank = 2, axis = "reduced", access = "aligned"}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> f32
  return
}

// -----

func.func @no_kept_rank(%x: !llvm.ptr<1>, %kept: i32, %r: i32, %k0: i32, %r0: i32) {
  // expected-error @below {{WF311: fold.load expects the attribute kept_rank to be an integer}}
  %made = "fold.load"(%x, %kept, %r, %k0, %r0) {reduced_rank = 1, axis = "reduced", access = "aligned"}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> f32
  return
}

// -----

func.func @reduced_rank_is_no_integer(%x: !llvm.ptr<1>, %kept: i32, %r: i32, %k0: i32, %r0: i32) {
  // expected-error @below {{WF311: fold.load expects the attribute reduced_rank to be an integer}}
  %made = "fold.load"(%x, %kept, %r, %k0, %r0) {kept_rank = 1, reduced_rank = "one", axis = "reduced", access = "aligned"}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> f32
  return
}

// -----

func.func @unknown_axis(%x: !llvm.ptr<1>, %kept: i32, %r: i32, %k0: i32, %r0: i32) {
  // expected-error @below {{WF311: fold.load expects the attribute axis to be one of kept reduced}}
  %made = "fold.load"(%x, %kept, %r, %k0, %r0) {kept_rank = 1, reduced_rank = 1, axis = "rows", access = "aligned"}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> f32
  return
}

// -----

func.func @no_extent(%x: !llvm.ptr<1>, %kept: i32, %r: i32, %k0: i32, %r0: i32) {
  // The extent follows the two strides.
  // expected-error @below {{WF310: fold.load expects 2 layout operands for ranks 1 and 1, got 1}}
  %made = "fold.load"(%x, %kept, %r, %k0, %r0) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted"}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> f32
  return
}

// -----

func.func @a_tile_in_global_memory(%x: !llvm.ptr<1>, %kept: i32, %r: i32, %k0: i32, %r0: i32, %origin: i32) {
  // expected-error @below {{WF310: fold.load expects a !llvm.ptr<3> as operand 0, got !llvm.ptr<1>}}
  %made = "fold.load"(%x, %kept, %r, %k0, %r0, %origin) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "tile"}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32) -> f32
  return
}

// -----

func.func @no_origin(%x: !llvm.ptr<3>, %kept: i32, %r: i32, %k0: i32, %r0: i32) {
  // The origin follows the two strides.
  // expected-error @below {{WF310: fold.load expects 2 layout operands for ranks 1 and 1, got 1}}
  %made = "fold.load"(%x, %kept, %r, %k0, %r0) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "tile_strided"}
    : (!llvm.ptr<3>, i32, i32, i32, i32) -> f32
  return
}

// -----

func.func @unknown_access(%x: !llvm.ptr<1>, %kept: i32, %r: i32, %k0: i32, %r0: i32) {
  // expected-error @below {{WF311: fold.load expects the attribute access to be one of aligned shifted unaligned period staggered strided coherent tile tile_strided}}
  %made = "fold.load"(%x, %kept, %r, %k0, %r0) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "askew"}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> f32
  return
}
