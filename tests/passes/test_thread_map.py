"""A walk that writes: every element once, nothing beside the row, and nothing that the sanitizer reports."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from kernel_harness import compile_text, place, ptx_of_text

from warpfold.runtime.emulator import Memory, sanitize
from warpfold.runtime.emulator.machine.address_map import POISON

THREADS = 32
ROWS = 3
POINTER = "!llvm.ptr<1>"


class Kind(NamedTuple):
    """How a kernel accesses the elements: its access, their axis, their type, elements of an access."""

    access: str
    axis: str
    type: str
    width: int

    @property
    def step(self) -> int:
        """Elements between a thread's accesses."""
        return THREADS * (self.width if self.axis == "reduced" else 1)


KINDS = [
    Kind("aligned", "reduced", "i32", 4), Kind("aligned", "reduced", "i8", 16), Kind("shifted", "reduced", "i32", 4),
    Kind("shifted", "reduced", "i16", 8), Kind("shifted", "reduced", "i64", 2), Kind("strided", "reduced", "i32", 1),
    Kind("strided", "reduced", "i16", 8), Kind("aligned", "kept", "i32", 4), Kind("strided", "kept", "i16", 2),
]  # fmt: skip
UNROLLS = (1, 2, 4)


def kernel(name: str, kind: Kind, unroll: int) -> str:
    """A kernel that writes 3 x + 1 for each x of a row a CTA, or of the columns of one access a CTA."""
    access, axis, t, width = kind
    by_rows, shifted = axis == "reduced", access == "shifted"
    fragment = t if width == 1 else f"vector<{width}x{t}>"
    three, one = (f"dense<{k}>" if width > 1 else str(k) for k in (3, 1))
    attributes = f'kept_rank = 1, reduced_rank = 1, axis = "{axis}", access = "{access}"'
    lead = f"""%lead = "fold.lead"(%x, %kept, %row) {{kept_rank = 1, reduced_rank = 0, lanes = {width},
          bytes = {int(t[1:]) // 8}}} : ({POINTER}, i32, i32) -> i32"""
    return f"""
      gpu.func @{name}(%x: {POINTER}, %y: {POINTER}, %n: i32, %row: i32, %element: i32, %extent: i32)
          kernel attributes {{known_block_size = array<i32: {THREADS}, 1, 1>}} {{
        %tid = gpu.thread_id x
        %bid = gpu.block_id x
        %t = arith.index_cast %tid : index to i32
        %b = arith.index_cast %bid : index to i32
        %first = arith.constant 0 : i32
        %on = arith.constant true
        %of_thread = arith.constant {width if by_rows else 1} : i32
        %of_cta = arith.constant {1 if by_rows else width} : i32
        %own = arith.muli %t, %of_thread : i32
        %kept = arith.muli %b, %of_cta : i32
        {lead if shifted else "%lead = arith.constant 0 : i32"}
        %begin = arith.subi %own, %lead : i32
        "fold.thread_map"(%begin, %n{", %first" if shifted else ""}) ({{
        ^bb0(%r: i32):
          %v = "fold.load"(%x, %kept, %r, %row, %element{", %extent" if shifted else ""}) {{{attributes}}}
            : ({POINTER}, i32, i32, i32, i32{", i32" if shifted else ""}) -> {fragment}
          %three = arith.constant {three} : {fragment}
          %one = arith.constant {one} : {fragment}
          %product = arith.muli %v, %three : {fragment}
          %sum = arith.addi %product, %one : {fragment}
          "fold.element_store"(%sum, %y, %kept, %r, %first, %n, %on, %row, %element) {{{attributes}, whole = false}}
            : ({fragment}, {POINTER}, i32, i32, i32, i32, i1, i32, i32) -> ()
          "fold.yield"() : () -> ()
        }}) {{step = {kind.step}, unroll = {unroll}}} : (i32, i32{", i32" if shifted else ""}) -> ()
        gpu.return
      }}"""


@cache
def compiled() -> Any:
    texts = [kernel(f"k{i}_{unroll}", kind, unroll) for i, kind in enumerate(KINDS) for unroll in UNROLLS]
    return compile_text("gpu.module @device {\n" + "\n".join(texts) + "\n}")


@pytest.mark.parametrize("unroll", UNROLLS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: f"{k.access} {k.axis} {k.type} {k.width}")
def test_every_element_is_written_once_and_nothing_else(kind: Kind, unroll: int) -> None:
    """Lengths around one access, one round of all threads, and one and two groups of accesses."""
    width, group = (kind.width if kind.axis == "reduced" else 1), kind.step * unroll
    lengths = {0, width, kind.step, kind.step + width, group, group + width, 2 * group + 3 * width}
    if kind.access != "aligned" or kind.axis == "kept":
        lengths |= {1, width + 1, group - 1, group + 1, 2 * group - 5, 2 * group + THREADS + 1}
    leads = {0, 1, width - 1} if kind.access == "shifted" else {0}
    for n in lengths:
        for lead in leads:
            _check(kind, unroll, n, lead)


@pytest.mark.parametrize("unroll", UNROLLS)
@pytest.mark.parametrize(
    "kind",
    [k for k in KINDS if k.access == "aligned" or k.width == 1],
    ids=lambda k: f"{k.access} {k.axis} {k.type} {k.width}",
)
def test_a_thread_reads_no_element_that_another_one_writes(kind: Kind, unroll: int) -> None:
    """The results may take the place of the elements, since the sanitizer finds no race."""
    for n in (kind.step * unroll, kind.step * (2 * unroll - 1), kind.step * 2 * unroll + 3 * kind.width):
        _check(kind, unroll, n, 0, in_place=True)


def _check(kind: Kind, unroll: int, n: int, lead: int, *, in_place: bool = False) -> None:
    """Runs a kernel over three rows, or the columns of three accesses; rows begin ``lead`` elements on and on."""
    dtype, apart = np.dtype(f"i{int(kind.type[1:]) // 8}"), 2 if kind.access == "strided" else 1
    if kind.axis == "reduced":
        row, element, kept = n * apart + lead, apart, ROWS
    else:
        row, element, kept = apart, ROWS * kind.width * apart, ROWS * kind.width
    places = np.add.outer(np.arange(kept) * row, np.arange(n) * element)
    size = int(places.max()) + 1 if n else 1
    x = np.random.default_rng(n).integers(-100, 100, size).astype(dtype)
    wanted = x.copy() if in_place else np.full(x.nbytes, POISON, np.uint8).view(dtype)
    memory, skew = Memory(), lead * dtype.itemsize
    (read, own), (out, result) = place(memory, x, skew), place(memory, wanted, skew, initialised=False)
    written, result = (read, own) if in_place else (out, result)
    args = [read, written, n, row, element, size]
    found = sanitize(compiled(), f"k{KINDS.index(kind)}_{unroll}", (ROWS, 1, 1), (THREADS, 1, 1), args, memory)
    assert not found, found[0]
    wanted[places] = x[places] * 3 + 1
    np.testing.assert_array_equal(result.view(dtype), wanted)


def test_all_loads_of_a_group_come_before_its_stores() -> None:
    ptx = ptx_of_text("gpu.module @device {" + kernel("k", KINDS[0], 4) + "}")
    order = "".join(re.findall(r"\b(ld|st)\.global", ptx))
    assert order == "ldldldldstststst" * 2
