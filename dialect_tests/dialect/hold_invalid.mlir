// Errors of fold.hold.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @base_is_shared(%x: !llvm.ptr<3>, %i: i32) {
  // expected-error @below {{WF310: fold.hold expects a !llvm.ptr<1> as operand 0, got !llvm.ptr<3>}}
  %slots = "fold.hold"(%x, %i, %i, %i, %i, %i, %i, %i) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, slots = 2, threads = 32, vector = 4, item = 4, whole = false}
    : (!llvm.ptr<3>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return
}

// -----

func.func @begin_is_no_index(%x: !llvm.ptr<1>, %i: i32, %f: f32) {
  // expected-error @below {{WF310: fold.hold expects an i32 or i64 as operand 2, got f32}}
  %slots = "fold.hold"(%x, %i, %f, %i, %i, %i, %i, %i) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, slots = 2, threads = 32, vector = 4, item = 4, whole = false}
    : (!llvm.ptr<1>, i32, f32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return
}

// -----

func.func @no_strides(%x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF310: fold.hold expects 2 layout operands for ranks 1 and 1, got 0}}
  %slots = "fold.hold"(%x, %i, %i, %i, %i, %i) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, slots = 2, threads = 32, vector = 4, item = 4, whole = false}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return
}

// -----

func.func @shifted_without_extent(%x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF310: fold.hold expects 2 layout operands for ranks 1 and 1, got 1}}
  %slots = "fold.hold"(%x, %i, %i, %i, %i, %i, %i, %i) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted", step = 128, slots = 2, threads = 32, vector = 4, item = 4, whole = false}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return
}

// -----

func.func @another_result(%x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF310: fold.hold expects a result of type !llvm.ptr<3>, got !llvm.ptr<1>}}
  %slots = "fold.hold"(%x, %i, %i, %i, %i, %i, %i, %i) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, slots = 2, threads = 32, vector = 4, item = 4, whole = false}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<1>
  return
}

// -----

func.func @uniform(%x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF311: fold.hold expects the attribute access to be one of aligned shifted unaligned strided}}
  %slots = "fold.hold"(%x, %i, %i, %i, %i, %i, %i, %i) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "uniform", step = 128, slots = 2, threads = 32, vector = 4, item = 4, whole = false}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return
}

// -----

func.func @no_axis(%x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF311: fold.hold expects the attribute axis to be one of kept reduced}}
  %slots = "fold.hold"(%x, %i, %i, %i, %i, %i, %i, %i) {kept_rank = 1, reduced_rank = 1, axis = "both", access = "aligned", step = 128, slots = 2, threads = 32, vector = 4, item = 4, whole = false}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return
}

// -----

func.func @step_of_three(%x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF311: fold.hold expects the attribute step to be a power of two up to 1073741824, got 3}}
  %slots = "fold.hold"(%x, %i, %i, %i, %i, %i, %i, %i) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 3, slots = 2, threads = 32, vector = 4, item = 4, whole = false}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return
}

// -----

func.func @no_slots(%x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF310: fold.hold expects one slot at least, got 0}}
  %slots = "fold.hold"(%x, %i, %i, %i, %i, %i, %i, %i) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, slots = 0, threads = 32, vector = 4, item = 4, whole = false}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return
}

// -----

func.func @slots_missing(%x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF311: fold.hold expects the attribute slots to be an integer}}
  %slots = "fold.hold"(%x, %i, %i, %i, %i, %i, %i, %i) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, threads = 32, vector = 4, item = 4, whole = false}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return
}

// -----

func.func @three_threads(%x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF311: fold.hold expects the attribute threads to be a power of two up to 1024, got 3}}
  %slots = "fold.hold"(%x, %i, %i, %i, %i, %i, %i, %i) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, slots = 2, threads = 3, vector = 4, item = 4, whole = false}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return
}

// -----

func.func @vectors_of_three(%x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF311: fold.hold expects the attribute vector to be a power of two up to 16, got 3}}
  %slots = "fold.hold"(%x, %i, %i, %i, %i, %i, %i, %i) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, slots = 2, threads = 32, vector = 3, item = 4, whole = false}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return
}

// -----

func.func @items_of_16_bytes(%x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF311: fold.hold expects the attribute item to be a power of two up to 8, got 16}}
  %slots = "fold.hold"(%x, %i, %i, %i, %i, %i, %i, %i) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, slots = 2, threads = 32, vector = 4, item = 16, whole = false}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return
}

// -----

func.func @whole_is_no_truth_value(%x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF311: fold.hold expects the attribute whole to be true or false}}
  %slots = "fold.hold"(%x, %i, %i, %i, %i, %i, %i, %i) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, slots = 2, threads = 32, vector = 4, item = 4, whole = 1}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return
}

// -----

func.func @slots_between_accesses(%x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF310: fold.hold expects a start at a multiple of 16 bytes, got 8}}
  %slots = "fold.hold"(%x, %i, %i, %i, %i, %i, %i, %i) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, slots = 2, threads = 32, vector = 4, item = 4, whole = false, start = 8}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return
}

// -----

func.func @a_pitch_between_accesses(%x: !llvm.ptr<1>, %i: i32) {
  // expected-error @below {{WF310: fold.hold expects a pitch of a multiple of 16 bytes, got 8}}
  %slots = "fold.hold"(%x, %i, %i, %i, %i, %i, %i, %i) {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, slots = 2, threads = 32, vector = 4, item = 4, whole = false, pitch = 8}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
  return
}
