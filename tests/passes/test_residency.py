"""Accesses that wait in shared memory: each thread reads what it copied, and nothing beside the row is touched."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from access_kernels import POINTER, ROWS, THREADS, Kind, check
from access_kernels import kernel as made
from covering import covering
from kernel_harness import compile_text, place, ptx_of_text

from warpfold.runtime.emulator import Memory
from warpfold.runtime.emulator.profiler import profile

KINDS = [
    Kind("aligned", "reduced", "i32", 4), Kind("aligned", "reduced", "i8", 16), Kind("aligned", "reduced", "i64", 4),
    Kind("aligned", "reduced", "i16", 4), Kind("aligned", "reduced", "i16", 2), Kind("aligned", "reduced", "i8", 2),
    Kind("shifted", "reduced", "i32", 4), Kind("shifted", "reduced", "i16", 8), Kind("shifted", "reduced", "i8", 16),
    Kind("shifted", "reduced", "i64", 2), Kind("shifted", "reduced", "i32", 8), Kind("shifted", "reduced", "i16", 4),
    Kind("strided", "reduced", "i32", 1), Kind("strided", "reduced", "i64", 1), Kind("strided", "reduced", "i8", 1),
    Kind("strided", "reduced", "i16", 8), Kind("aligned", "kept", "i32", 4), Kind("strided", "kept", "i16", 2),
]  # fmt: skip
SLOTS = (1, 3, 8, 17)


def kernel(name: str, kind: Kind, slots: int, *, whole: bool = False, twice: bool = False) -> str:
    """A kernel that writes 3 x for each x of a row a CTA, or of the columns of one access a CTA, from slots.

    ``twice`` holds the row two times, and adds the second to three times the first.
    """
    shape = f"step = {kind.step}, slots = {slots}, threads = {THREADS}, vector = {kind.width}, item = {kind.item}"
    extent, of_extent = (", %extent", ", i32") if kind.access == "shifted" else ("", "")

    def hold(name: str) -> str:
        return f"""
        %{name} = "fold.hold"(%x, %kept, %begin, %first, %n, %t, %row, %element{extent})
          {{{kind.attributes}, {shape}, whole = {str(whole).lower()}}}
          : ({POINTER}, i32, i32, i32, i32, i32, i32, i32{of_extent}) -> !llvm.ptr<3>"""

    before = f"""{hold("slots")}
        {hold("again") if twice else ""}
        %log = arith.constant {kind.step.bit_length() - 1} : i32"""
    again = f"""%w = "fold.held"(%again, %number) {{threads = {THREADS}}} : (!llvm.ptr<3>, i32) -> {kind.fragment}
          %result = arith.addi %product, %w : {kind.fragment}"""
    value = f"""%distance = arith.subi %r, %begin : i32
          %number = arith.shrui %distance, %log : i32
          %v = "fold.held"(%slots, %number) {{threads = {THREADS}}} : (!llvm.ptr<3>, i32) -> {kind.fragment}
          %three = {kind.constant(3)}
          %{"product" if twice else "result"} = arith.muli %v, %three : {kind.fragment}
          {again if twice else ""}"""
    return made(name, kind, value, before=before)


def slots_bytes(kind: Kind, slots: int) -> int:
    """Bytes of the slots of a CTA."""
    return slots * THREADS * kind.width * kind.item


def in_module(text: str, arch: str = "sm_90a") -> str:
    return f'gpu.module @device attributes {{fold.target = "{arch}"}} {{\n{text}\n}}'


@cache
def compiled(slots: int, arch: str) -> Any:
    texts = [kernel(f"k{i}", kind, slots) for i, kind in enumerate(KINDS)]
    return compile_text(in_module("\n".join(texts), arch))


@covering((("slots", "arch"), [*((slots, "sm_90a") for slots in SLOTS), (3, "sm_75")]), ("kind", KINDS, str))
def test_each_thread_reads_what_it_copied(kind: Kind, slots: int, arch: str) -> None:
    """Rows that fill all slots, some, or none; with accesses that either end of the row cuts, or the array's ends."""
    width, full = (kind.width if kind.axis == "reduced" else 1), kind.step * slots
    lengths = {0, width, full - width, full - kind.step}
    if kind.access != "aligned" or kind.axis == "kept":
        lengths |= {1, width + 1, full - kind.width + 1}
    for n in lengths | ({full} - ({full} if kind.access == "shifted" else set())):
        for lead in {0, 1, width - 1} if kind.access == "shifted" else {0}:
            _check(compiled(slots, arch), f"k{KINDS.index(kind)}", kind, slots, n, lead)


def _check(
    module: Any, name: str, kind: Kind, slots: int, n: int, lead: int = 0, *, holds: int = 1, factor: int = 3
) -> None:
    check(module, name, kind, n, lead, lambda x: x * factor, shared=holds * slots_bytes(kind, slots))


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[2], KINDS[6], KINDS[14]], ids=str)
def test_the_slots_of_two_holds_lie_apart(kind: Kind) -> None:
    module = compile_text(in_module(kernel("k", kind, 5, twice=True)))
    for n in (1, kind.step) if kind.width == 1 else (kind.width, kind.step * 4 + kind.width):
        _check(module, "k", kind, 5, n, holds=2, factor=4)


@pytest.mark.parametrize("kind", [k for k in KINDS if k.access == "aligned"], ids=str)
def test_whole_accesses_are_copied_without_asking(kind: Kind) -> None:
    text = in_module(kernel("k", kind, 4, whole=True))
    _check(compile_text(text), "k", kind, 4, 4 * kind.step)
    copies = re.findall(r"cp\.async\.c[ag]\.[^;]*", ptx_of_text(text))
    assert all(re.search(r", (4|8|16)$", copy.strip()) for copy in copies)


def test_more_than_48_kib_may_wait() -> None:
    kind = KINDS[0]
    _check(compile_text(in_module(kernel("k", kind, 64))), "k", kind, 64, kind.step * 64)
    assert slots_bytes(kind, 64) == 64 << 10


@pytest.mark.parametrize(
    ("kind", "copies"), [(KINDS[0], 1), (KINDS[2], 2), (KINDS[5], 0), (KINDS[10], 2), (KINDS[12], 1), (KINDS[15], 0)],
    ids=str,
)  # fmt: skip
def test_threads_wait_once_for_their_copies_and_never_at_a_barrier(kind: Kind, copies: int) -> None:
    """``copies`` is how many an access takes; elements that lie apart, or of few bytes, are loaded and stored."""
    ptx = ptx_of_text(in_module(kernel("k", kind, 8, twice=True)))
    assert len(re.findall(r"cp\.async\.c[ag]", ptx)) == 2 * 8 * copies
    assert len(re.findall(r"cp\.async\.wait_group", ptx)) == min(1, copies)
    assert not re.search(r"bar(rier)?\.sync", ptx)


def test_a_target_without_async_copies_loads_and_stores() -> None:
    assert "cp.async" not in ptx_of_text(in_module(kernel("k", KINDS[0], 8), "sm_75"))


@pytest.mark.parametrize("kind", [k for k in KINDS if k.axis == "reduced"], ids=str)
def test_no_bank_conflicts(kind: Kind) -> None:
    """Of reads and of stores; the copy engine's writes go to the same addresses as the reads."""
    module = compile_text(in_module(kernel("k", kind, 2)))
    apart, n = 2 if kind.access == "strided" else 1, 2 * kind.step - kind.width
    x = np.zeros(n * apart * ROWS, f"i{kind.item}")
    memory = Memory()
    args = [place(memory, x)[0], place(memory, x)[0], n, n * apart, apart, x.size]
    shared = slots_bytes(kind, 2)
    found = profile(module, "k", (ROWS, 1, 1), (THREADS, 1, 1), args, memory, shared_bytes=shared)
    assert found.banks("load").requests
    assert not found.bank_conflicts
