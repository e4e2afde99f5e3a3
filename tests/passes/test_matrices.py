"""Blocks of matrices: what the three ops mean, run in the emulator, by matrix instructions and by words."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from kernel_harness import run_text
from numpy.testing import assert_array_equal

from warpfold.compiler.driver.compile import ptx_of
from warpfold.compiler.errors import CompileError
from warpfold.compiler.target import TARGETS
from warpfold.passes import steps
from warpfold.runtime.emulator import parse

LANES = np.arange(32)
GROUP, PART = LANES // 4, LANES % 4
ITEM = {"i8": 1, "i16": 2, "f16": 2, "bf16": 2}


@cache
def ptx_of_body(body: str, arch: str) -> str:
    """The PTX of a kernel of a warp whose tile has 32 rows of 16 bytes: ``x`` goes in, ``y`` is the result."""
    text = f"""gpu.module @device attributes {{fold.target = "{arch}"}} {{
      llvm.mlir.global internal @tile() {{addr_space = 3 : i32, alignment = 16 : i64}} : !llvm.array<128 x i32>
      gpu.func @k(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel attributes {{known_block_size = array<i32: 32, 1, 1>}} {{
        %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
        %id = gpu.thread_id x
        %lane = arith.index_cast %id : index to i32
        {body}
        gpu.return
      }}
    }}"""
    return ptx_of(text, steps(TARGETS[arch]))


def moved(source: str, to: str, space: tuple[int, int]) -> str:
    """Moves 16 bytes of each lane from one pointer to another."""
    a, b = (f"!llvm.ptr<{s}>" for s in space)
    names = f"%from{space[0]}", f"%to{space[0]}", f"%held{space[0]}"
    return f"""
        {names[0]} = llvm.getelementptr %{source}[%lane] : ({a}, i32) -> {a}, vector<4xi32>
        {names[1]} = llvm.getelementptr %{to}[%lane] : ({b}, i32) -> {b}, vector<4xi32>
        {names[2]} = llvm.load {names[0]} {{alignment = 16 : i64}} : {a} -> vector<4xi32>
        llvm.store {names[2]}, {names[1]} {{alignment = 16 : i64}} : vector<4xi32>, {b}
        gpu.barrier"""


def loading(t: str, blocks: int, transposed: str) -> str:
    """A kernel in which lane l names row l ^ 5 of the tile."""
    count = blocks * 4 // ITEM[t]
    return f"""{moved("x", "tile", (1, 3))}
        %five = arith.constant 5 : i32
        %row = arith.xori %lane, %five : i32
        %each = arith.constant {16 // ITEM[t]} : i32
        %index = arith.muli %row, %each : i32
        %v = "fold.matrix_load"(%tile, %index) {{blocks = {blocks}, transposed = {transposed}}}
          : (!llvm.ptr<3>, i32) -> vector<{count}x{t}>
        %at = llvm.getelementptr %y[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<{count}x{t}>
        llvm.store %v, %at {{alignment = 1 : i64}} : vector<{count}x{t}>, !llvm.ptr<1>"""


def storing(t: str, blocks: int, transposed: str) -> str:
    count = blocks * 4 // ITEM[t]
    return f"""
        %from = llvm.getelementptr %x[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<{count}x{t}>
        %v = llvm.load %from {{alignment = 1 : i64}} : !llvm.ptr<1> -> vector<{count}x{t}>
        %five = arith.constant 5 : i32
        %row = arith.xori %lane, %five : i32
        %each = arith.constant {16 // ITEM[t]} : i32
        %index = arith.muli %row, %each : i32
        "fold.matrix_store"(%v, %tile, %index) {{blocks = {blocks}, transposed = {transposed}}}
          : (vector<{count}x{t}>, !llvm.ptr<3>, i32) -> ()
        gpu.barrier
        {moved("tile", "y", (3, 1))}"""


def fragments(tile: Any, blocks: int, transposed: bool) -> Any:
    """The elements (32, blocks, elements) of each lane: ``tile`` has the rows that the lanes name, of 16 bytes each."""
    each = 4 // tile.itemsize
    parts = [each * PART[:, None] + np.arange(each), GROUP[:, None] + np.zeros(each, int)]
    row, column = reversed(parts) if not transposed else (2 * PART[:, None] + np.arange(2), parts[1])
    return np.stack([tile[8 * b : 8 * b + 8][row, column] for b in range(blocks)], axis=1)


CASES = [
    (t, b, tr) for t in ("f16", "bf16", "i16", "i8") for b in (1, 2, 4) for tr in (False, True) if t != "i8" or not tr
]


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90a"])
@pytest.mark.parametrize(("t", "blocks", "transposed"), CASES)
def test_blocks_come_to_their_lanes(t: str, blocks: int, transposed: bool, arch: str) -> None:
    x = np.arange(512 // ITEM[t], dtype=f"u{ITEM[t]}").reshape(32, -1)
    module = parse(ptx_of_body(loading(t, blocks, str(transposed).lower()), arch))
    (found,) = run_text(module, "k", [x], [np.zeros((32, blocks, 4 // ITEM[t]), x.dtype)], (1, 1, 1), 32)
    assert_array_equal(found, fragments(x[LANES ^ 5], blocks, transposed))


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90a"])
@pytest.mark.parametrize(("t", "blocks", "transposed"), CASES)
def test_blocks_go_to_their_rows(t: str, blocks: int, transposed: bool, arch: str) -> None:
    tile = np.arange(512 // ITEM[t], dtype=f"u{ITEM[t]}").reshape(32, -1)
    x = fragments(tile[LANES ^ 5], blocks, transposed)
    module = parse(ptx_of_body(storing(t, blocks, str(transposed).lower()), arch))
    (found,) = run_text(module, "k", [x], [np.zeros_like(tile)], (1, 1, 1), 32)
    written = (LANES ^ 5)[: 8 * blocks]
    assert_array_equal(found[written], tile[written])


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90a", "sm_100a"])
def test_targets_have_instructions_or_words(arch: str) -> None:
    loads = ptx_of_body(loading("bf16", 4, "true"), arch)
    stores = ptx_of_body(storing("bf16", 4, "true"), arch)
    assert ("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16" in loads) == (arch != "sm_75")
    assert ("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16" in stores) == (arch in ("sm_90a", "sm_100a"))


def adding(t: str, blocks: int, unsigned: bool) -> str:
    count, total = blocks * 4 // ITEM[t], "i32" if t == "i8" else "f32"
    return f"""
        %from = llvm.getelementptr %x[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<{count}x{t}>
        %v = llvm.load %from {{alignment = 1 : i64}} : !llvm.ptr<1> -> vector<{count}x{t}>
        %start = arith.constant dense<{"3" if t == "i8" else "0.5"}> : vector<2x{total}>
        %s = "fold.matrix_reduce"(%v, %start) {"{unsigned = true}" if unsigned else ""}
          : (vector<{count}x{t}>, vector<2x{total}>) -> vector<2x{total}>
        %at = llvm.getelementptr %y[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<2x{total}>
        llvm.store %s, %at {{alignment = 8 : i64}} : vector<2x{total}>, !llvm.ptr<1>"""


@pytest.mark.parametrize("blocks", [2, 4])
@pytest.mark.parametrize("t", ["f16", "bf16", "s8", "u8"])
def test_rows_are_summed(t: str, blocks: int) -> None:
    body = adding("i8" if t in ("s8", "u8") else t, blocks, t == "u8")
    small = np.random.default_rng(1).integers(-99, 100, (16, (8 if t in ("f16", "bf16") else 16) * (blocks // 2)))
    x = {
        "f16": small.astype(np.float16),
        "bf16": (small.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16),
        "s8": small.astype(np.int8),
        "u8": small.astype(np.uint8),
    }[t]
    values = x.astype(np.int64) if t == "u8" else small
    quarters = [
        x[8 * (b % 2) : 8 * (b % 2) + 8, b // 2 * (16 // x.itemsize) :][:, : 16 // x.itemsize] for b in range(blocks)
    ]
    lanes = fragments(np.concatenate(quarters), blocks, transposed=False)
    total = np.zeros((32, 2), np.float32 if t in ("f16", "bf16") else np.int32)
    (found,) = run_text(parse(ptx_of_body(body, "sm_90a")), "k", [lanes], [total], (1, 1, 1), 32)
    sums = values.sum(1) + (0.5 if total.dtype == np.float32 else 3)
    assert_array_equal(found, np.stack([sums[GROUP], sums[GROUP + 8]], axis=1))


def test_a_target_without_tensor_cores_for_it_is_refused() -> None:
    with pytest.raises(CompileError, match=r"WF325: fold\.matrix_reduce has no instruction on sm_75"):
        ptx_of_body(adding("f16", 2, unsigned=False), "sm_75")
