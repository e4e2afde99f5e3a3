"""A walk that writes: every element once, nothing beside the row, and nothing that the sanitizer reports."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
from access_kernels import POINTER, THREADS, Kind, check
from access_kernels import kernel as made
from covering import covering
from kernel_harness import compile_text, ptx_of_text

KINDS = [
    Kind("aligned", "reduced", "i32", 4), Kind("aligned", "reduced", "i8", 16), Kind("shifted", "reduced", "i32", 4),
    Kind("shifted", "reduced", "i16", 8), Kind("shifted", "reduced", "i64", 2), Kind("strided", "reduced", "i32", 1),
    Kind("strided", "reduced", "i16", 8), Kind("aligned", "kept", "i32", 4), Kind("strided", "kept", "i16", 2),
]  # fmt: skip
UNROLLS = (1, 2, 4)


def kernel(name: str, kind: Kind, unroll: int) -> str:
    """A kernel that writes 3 x + 1 for each x of a row a CTA, or of the columns of one access a CTA."""
    shifted = kind.access == "shifted"
    value = f"""%v = "fold.load"(%x, %kept, %r, %row, %element{", %extent" if shifted else ""}) {{{kind.attributes}}}
            : ({POINTER}, i32, i32, i32, i32{", i32" if shifted else ""}) -> {kind.fragment}
          %three = {kind.constant(3)}
          %one = {kind.constant(1)}
          %product = arith.muli %v, %three : {kind.fragment}
          %result = arith.addi %product, %one : {kind.fragment}"""
    return made(name, kind, value, unroll=unroll)


@cache
def compiled() -> Any:
    texts = [kernel(f"k{i}_{unroll}", kind, unroll) for i, kind in enumerate(KINDS) for unroll in UNROLLS]
    return compile_text("gpu.module @device {\n" + "\n".join(texts) + "\n}")


@covering(("unroll", UNROLLS), ("kind", KINDS, str))
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
    ids=str,
)
def test_a_thread_reads_no_element_that_another_one_writes(kind: Kind, unroll: int) -> None:
    """The results may take the place of the elements, since the sanitizer finds no race."""
    for n in (kind.step * unroll, kind.step * (2 * unroll - 1), kind.step * 2 * unroll + 3 * kind.width):
        _check(kind, unroll, n, 0, in_place=True)


def _check(kind: Kind, unroll: int, n: int, lead: int, *, in_place: bool = False) -> None:
    name = f"k{KINDS.index(kind)}_{unroll}"
    check(compiled(), name, kind, n, lead, lambda x: x * 3 + 1, in_place=in_place)


def test_all_loads_of_a_group_come_before_its_stores() -> None:
    ptx = ptx_of_text("gpu.module @device {" + kernel("k", KINDS[0], 4) + "}")
    order = "".join(re.findall(r"\b(ld|st)\.global", ptx))
    assert order == "ldldldldstststst" * 2
