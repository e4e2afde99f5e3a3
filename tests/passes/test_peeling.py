"""Walks over rows that begin anywhere: of several arrays, of elements that lie apart, of rows that wait in slots."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from covering import covering
from kernel_harness import compile_text, place

from warpfold.runtime.emulator import Memory, sanitize

THREADS, VECTOR, SLOTS, ROWS = 32, 4, 4, 3
STEP = THREADS * VECTOR
POINTER = "!llvm.ptr<1>"
FRAGMENT = f"vector<{VECTOR}xi32>"
SHIFTED = 'kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted"'


def load(name: str) -> str:
    """A load of an array whose rows begin anywhere."""
    return f"""
          %{name}0 = "fold.load"(%{name}, %row, %r, %pitch, %one, %extent) {{{SHIFTED}}}
            : ({POINTER}, i32, i32, i32, i32, i32) -> {FRAGMENT}"""


APART = f"""
          %z0 = "fold.load"(%z, %row, %r, %of_z, %two)
            {{kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "strided"}}
            : ({POINTER}, i32, i32, i32, i32) -> {FRAGMENT}"""
HELD = f"""
          %distance = arith.subi %r, %begin : i32
          %log = arith.constant {STEP.bit_length() - 1} : i32
          %number = arith.shrui %distance, %log : i32
          %x0 = "fold.held"(%slots, %number) {{threads = {THREADS}}} : (!llvm.ptr<3>, i32) -> {FRAGMENT}"""
WALKS = {
    "two arrays": load("x") + load("y"),
    "an array, and elements apart": load("x") + APART,
    "two arrays, and elements apart": load("x") + load("y") + APART,
    "slots": HELD,
    "slots, and elements apart": HELD + APART,
    "slots, and an array": HELD + load("y"),
}
"""The loads in the body of a walk: the product of the elements is summed."""


def kernel(name: str, walk: str, unroll: int) -> str:
    """A kernel of a warp a row: each thread writes the sum of the products of its own elements."""
    body = WALKS[walk]
    arrays = [array for array in "xyz" if f"%{array}0 =" in body]
    products = "".join(
        f"\n          %p{i + 1} = arith.muli %p{i}, %{array}0 : {FRAGMENT}" for i, array in enumerate(arrays)
    )
    hold = f"""
        %slots = "fold.hold"(%x, %row, %begin, %first, %n, %t, %pitch, %one, %extent)
          {{{SHIFTED}, step = {STEP}, slots = {SLOTS}, threads = {THREADS}, vector = {VECTOR}, item = 4, whole = false}}
          : ({POINTER}, i32, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>"""
    return f"""
      gpu.func @{name}(%x: {POINTER}, %y: {POINTER}, %z: {POINTER}, %sums: {POINTER}, %n: i32, %pitch: i32,
                       %of_z: i32, %extent: i32)
          kernel attributes {{known_block_size = array<i32: {THREADS}, 1, 1>}} {{
        %tid = gpu.thread_id x
        %bid = gpu.block_id x
        %t = arith.index_cast %tid : index to i32
        %row = arith.index_cast %bid : index to i32
        %first = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %two = arith.constant 2 : i32
        %threads = arith.constant {THREADS} : i32
        %vector = arith.constant {VECTOR} : i32
        %zeros = arith.constant dense<0> : {FRAGMENT}
        %p0 = arith.constant dense<1> : {FRAGMENT}
        %own = arith.muli %t, %vector : i32
        %lead = "fold.lead"(%x, %row, %pitch) {{kept_rank = 1, reduced_rank = 0, lanes = {VECTOR}, bytes = 4}}
          : ({POINTER}, i32, i32) -> i32
        %begin = arith.subi %own, %lead : i32
        {hold if "slots" in walk else ""}
        %sum = "fold.thread_reduce"(%begin, %n, %zeros) ({{
        ^bb0(%r: i32):{body}{products}
          %live = "fold.live"(%r, %first, %n) : (i32, i32, i32) -> vector<{VECTOR}xi1>
          %counted = arith.select %live, %p{len(arrays)}, %zeros : vector<{VECTOR}xi1>, {FRAGMENT}
          "fold.yield"(%counted) : ({FRAGMENT}) -> ()
        }}, {{
        ^bb0(%a: i32, %b: i32):
          %c = arith.addi %a, %b : i32
          "fold.yield"(%c) : (i32) -> ()
        }}) {{step = {STEP}, unroll = {unroll}, early = true}} : (i32, i32, {FRAGMENT}) -> i32
        %before = arith.muli %row, %threads : i32
        %at = arith.addi %before, %t : i32
        %where = llvm.getelementptr %sums[%at] : ({POINTER}, i32) -> {POINTER}, i32
        llvm.store %sum, %where : i32, {POINTER}
        gpu.return
      }}"""


@cache
def compiled(unroll: int) -> Any:
    texts = [kernel(f"k{i}", walk, unroll) for i, walk in enumerate(WALKS)]
    return compile_text("gpu.module @device {\n" + "\n".join(texts) + "\n}")


@covering(("unroll", [1, 2, 4]), ("walk", WALKS))
def test_every_element_counts_once(walk: str, unroll: int) -> None:
    """Rows of any length and pitch; nothing beside the arrays is read."""
    body, most = WALKS[walk], STEP * SLOTS - VECTOR
    for n in sorted({0, 1, 3, VECTOR, STEP - 1, min(STEP * unroll + 1, most), STEP * 2 + 7, most}):
        for lead in range(VECTOR):
            pitch, of_z = n + lead, 2 * n + 1
            extent = (ROWS - 1) * pitch + n
            rng = np.random.default_rng(n)
            sizes = (extent, extent, (ROWS - 1) * of_z + 2 * n - 1)
            x, y, z = (rng.integers(-9, 9, max(1, size)).astype(np.int32) for size in sizes)
            memory, sums = Memory(), np.zeros(ROWS * THREADS, np.int32)
            skew = 4 * lead
            addresses = [place(memory, x, skew)[0], place(memory, y, skew)[0], place(memory, z)[0]]
            out, found = place(memory, sums)
            args = [*addresses, out, n, pitch, of_z, extent]
            shared = SLOTS * THREADS * VECTOR * 4
            name = f"k{list(WALKS).index(walk)}"
            grid, block = (ROWS, 1, 1), (THREADS, 1, 1)
            faults = sanitize(compiled(unroll), name, grid, block, args, memory, shared_bytes=shared)
            assert not faults, faults[0]
            rows = np.arange(ROWS)[:, None] * [pitch, pitch, of_z]
            elements = [a[rows[:, i, None] + np.arange(n) * (1, 1, 2)[i]] for i, a in enumerate((x, y, z))]
            own = [e for e, name in zip(elements, "xyz", strict=True) if f"%{name}0 =" in body]
            np.testing.assert_array_equal(found.view(np.int32).reshape(ROWS, THREADS).sum(1), np.prod(own, 0).sum(1))
