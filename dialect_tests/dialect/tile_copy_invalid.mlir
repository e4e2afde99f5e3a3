// Errors of fold.tile_copy.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @out_of_shared_memory(%x: !llvm.ptr<3>, %begin: i32, %length: i32, %extent: i32, %thread: i32) {
  // expected-error @below {{WF310: fold.tile_copy expects a !llvm.ptr<1> as operand 0, got !llvm.ptr<3>}}
  %made:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 4, bytes = 1024, threads = 256}
    : (!llvm.ptr<3>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @begin_is_no_index(%x: !llvm.ptr<1>, %begin: index, %length: i32, %extent: i32, %thread: i32) {
  // expected-error @below {{WF310: fold.tile_copy expects an i32 or i64 as operand 1, got index}}
  %made:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 4, bytes = 1024, threads = 256}
    : (!llvm.ptr<1>, index, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @length_is_no_index(%x: !llvm.ptr<1>, %begin: i32, %length: index, %extent: i32, %thread: i32) {
  // expected-error @below {{WF310: fold.tile_copy expects an i32 or i64 as operand 2, got index}}
  %made:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 4, bytes = 1024, threads = 256}
    : (!llvm.ptr<1>, i32, index, i32, i32) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @extent_is_no_index(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: index, %thread: i32) {
  // expected-error @below {{WF310: fold.tile_copy expects an i32 or i64 as operand 3, got index}}
  %made:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 4, bytes = 1024, threads = 256}
    : (!llvm.ptr<1>, i32, i32, index, i32) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @thread_is_no_index(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: index) {
  // expected-error @below {{WF310: fold.tile_copy expects an i32 or i64 as operand 4, got index}}
  %made:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 4, bytes = 1024, threads = 256}
    : (!llvm.ptr<1>, i32, i32, i32, index) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @into_global_memory(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) {
  // expected-error @below {{WF310: fold.tile_copy expects results of type !llvm.ptr<3>, i32, got !llvm.ptr<1>, i32}}
  %made:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 4, bytes = 1024, threads = 256}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<1>, i32)
  return
}

// -----

func.func @origin_of_another_width(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) {
  // The origin is taken from indices of the array.
  // expected-error @below {{WF310: fold.tile_copy expects results of type !llvm.ptr<3>, i32, got !llvm.ptr<3>, i64}}
  %made:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 4, bytes = 1024, threads = 256}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i64)
  return
}

// -----

func.func @no_item(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) {
  // expected-error @below {{WF311: fold.tile_copy expects the attribute item to be an integer}}
  %made:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {bytes = 1024, threads = 256}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @item_of_no_access(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) {
  // Elements must not lie across accesses of 16 bytes.
  // expected-error @below {{WF311: fold.tile_copy expects the attribute item to be a power of two up to 16, got 12}}
  %made:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 12, bytes = 1024, threads = 256}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @no_bytes(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) {
  // expected-error @below {{WF311: fold.tile_copy expects the attribute bytes to be an integer}}
  %made:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 4, threads = 256}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @bytes_of_no_whole_accesses(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) {
  // expected-error @below {{WF310: fold.tile_copy expects bytes that are a multiple of 16, got 1000}}
  %made:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 4, bytes = 1000, threads = 256}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @nothing_to_hold_it(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) {
  // expected-error @below {{WF310: fold.tile_copy expects bytes that are a multiple of 16, got 0}}
  %made:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 4, bytes = 0, threads = 256}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @no_threads(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) {
  // expected-error @below {{WF311: fold.tile_copy expects the attribute threads to be an integer}}
  %made:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 4, bytes = 1024}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @more_threads_than_a_cta_has(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) {
  // expected-error @below {{WF311: fold.tile_copy expects the attribute threads to be a number from 1 to 1024, got 2048}}
  %made:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 4, bytes = 1024, threads = 2048}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @beyond_of_no_whole_accesses(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) {
  // It is written in accesses of 16 bytes.
  // expected-error @below {{WF310: fold.tile_copy expects a multiple of 16 up to 1008 beyond, got 20}}
  %made:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread)
    {item = 4, bytes = 1024, threads = 256, beyond = 20}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @nothing_but_what_is_beyond(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) {
  // The elements need room as well.
  // expected-error @below {{WF310: fold.tile_copy expects a multiple of 16 up to 1008 beyond, got 1024}}
  %made:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread)
    {item = 4, bytes = 1024, threads = 256, beyond = 1024}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @none_beyond(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) {
  // A copy that nobody reads beyond does not name it.
  // expected-error @below {{WF310: fold.tile_copy expects a multiple of 16 up to 1008 beyond, got 0}}
  %made:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread)
    {item = 4, bytes = 1024, threads = 256, beyond = 0}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @beyond_is_no_number(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) {
  // expected-error @below {{WF311: fold.tile_copy expects the attribute beyond to be an integer}}
  %made:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread)
    {item = 4, bytes = 1024, threads = 256, beyond = "all"}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @own_is_no_flag(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) {
  // expected-error @below {{WF311: fold.tile_copy expects the attribute own to be true or false}}
  %made:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread)
    {item = 4, bytes = 1024, threads = 256, own = 1}
    : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @two_places(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) {
  // expected-error @below {{WF310: fold.tile_copy expects one place at most, got 2}}
  %made:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread, %thread, %thread)
    {item = 4, bytes = 1024, threads = 256, dynamic = 0}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  return
}

// -----

func.func @place_in_static_memory(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) {
  // expected-error @below {{WF310: fold.tile_copy expects dynamic shared memory for a place, got none}}
  %made:2 = "fold.tile_copy"(%x, %begin, %length, %extent, %thread, %thread)
    {item = 4, bytes = 1024, threads = 256}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
  return
}
