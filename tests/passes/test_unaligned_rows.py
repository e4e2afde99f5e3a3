"""Accesses along a row that begins anywhere: loads are taken out of aligned accesses, lanes put stores together."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from kernel_harness import place, ptx_of_text

from warpfold.runtime.emulator import Memory, sanitize

sys.path.insert(0, str(Path(__file__).parent.parent / "sanitizer"))
from mutate import Edit, drop, edit

THREADS, ROWS = 128, 3


class Access(NamedTuple):
    """The type and the number of the elements of an access, and how many lanes share a row."""

    type: str
    width: int
    neighbours: int

    def __str__(self) -> str:
        return f"{self.type} x {self.width}, {self.neighbours} lanes"

    @property
    def item(self) -> int:
        """Bytes of an element."""
        return int(self.type[1:]) // 8


ACCESSES = [
    Access("i16", 8, 32), Access("i16", 8, 4), Access("i16", 2, 8), Access("i8", 16, 8), Access("i8", 4, 32),
    Access("i32", 4, 32), Access("i32", 4, 1), Access("i32", 8, 2), Access("i32", 2, 8), Access("i64", 2, 16),
]  # fmt: skip
"""Whole accesses, halves and quarters of one, and two at once."""


@cache
def ptx(access: Access) -> str:
    """A kernel whose threads triple one access each: ``neighbours`` lanes have one row, and the next ones the next."""
    t, width, lanes = access.type, access.width, access.neighbours
    attributes = 'kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "unaligned"'
    return ptx_of_text(f"""gpu.module @device {{
      gpu.func @k(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i32, %row: i32, %readable: i32)
          kernel attributes {{known_block_size = array<i32: {THREADS}, 1, 1>}} {{
        %tid = gpu.thread_id x
        %t = arith.index_cast %tid : index to i32
        %lanes = arith.constant {lanes} : i32
        %kept = arith.divui %t, %lanes : i32
        %lane = arith.remui %t, %lanes : i32
        %width = arith.constant {width} : i32
        %r = arith.muli %lane, %width : i32
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %rows = arith.constant {ROWS} : i32
        %last = arith.constant {ROWS - 1} : i32
        %on = arith.cmpi slt, %kept, %rows : i32
        %own = arith.minsi %kept, %last : i32
        %end = arith.select %on, %n, %zero : i32
        %v = "fold.element_load"(%x, %own, %r, %zero, %end, %row, %one, %readable) {{{attributes}}}
          : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> vector<{width}x{t}>
        %three = arith.constant dense<3> : vector<{width}x{t}>
        %w = arith.muli %v, %three : vector<{width}x{t}>
        "fold.element_store"(%w, %y, %own, %r, %zero, %n, %on, %row, %one)
          {{{attributes}, whole = false, neighbours = {lanes}}}
          : (vector<{width}x{t}>, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32, i32) -> ()
        gpu.return
      }}
    }}""")


def outcome(access: Access, code: str, n: int, lead: int, *, in_place: bool = False) -> set[str]:
    """The kinds of the findings of rows of ``n`` elements, ``lead`` after a boundary, or whether a result is wrong."""
    pitch = n + 1
    places = np.add.outer(np.arange(ROWS) * pitch, np.arange(n))
    x = np.random.default_rng(n).integers(-40, 40, int(places.max(initial=0)) + 1).astype(f"i{access.item}")
    want = x.copy() if in_place else np.full_like(x, 7)
    want[places] = 3 * x[places]
    memory, skew = Memory(), lead * access.item
    given, own = place(memory, x, skew)
    out, result = (given, own) if in_place else place(memory, np.full_like(x, 7), skew + access.item)
    readable = 0 if in_place else x.size
    found = sanitize(code, "k", (1, 1, 1), (THREADS, 1, 1), [given, out, n, pitch, readable], memory)
    wrong = {} if np.array_equal(result.view(x.dtype), want) else {"wrong result"}
    return {fault.kind for fault in found} or set(wrong)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("access", ACCESSES, ids=str)
def test_rows_that_begin_anywhere(access: Access, in_place: bool) -> None:
    """Rows whose last access is whole, cut, or missing; nothing beside them is touched, and nobody's turn is taken."""
    whole = access.width * access.neighbours
    for n in {whole, max(1, whole - 1), max(1, whole - access.width), max(1, whole // 2 - 3)}:
        for lead in range(0, 16 // access.item, 1 if access.item > 1 else 5):
            assert not outcome(access, ptx(access), n, lead, in_place=in_place), (n, lead)


HALVES = ACCESSES[1]
MISTAKES: list[tuple[str, Edit, set[str], bool]] = [
    ("no warp barrier", drop(r"bar\.warp\.sync"), {"warp-synchrony"}, True),
    ("what can be read begins earlier", edit(r"setp\.lt\.s32(\s+%p\d+, %r\d+), 0;", r"setp.lt.s32\1, -99;"),
     {"out-of-bounds"}, False),
    ("a lane gets the words of its own", edit(r"shfl\.sync\.idx\.b32(\s+%r\d+, %r\d+), %r\d+", r"mov.b32\1; //", 0),
     {"wrong result"}, False),
    ("words are stored further", edit(r"(st\.global\.\w+\s+\[%rd\d+)\]", r"\1+4]", 0),
     {"wrong result", "out-of-bounds", "global-race", "warp-synchrony"}, False),
]  # fmt: skip


@pytest.mark.parametrize(("what", "change", "kinds", "in_place"), MISTAKES, ids=[m[0] for m in MISTAKES])
def test_mistakes_are_found(what: str, change: Edit, kinds: set[str], in_place: bool) -> None:
    code = change(ptx(HALVES))
    assert code != ptx(HALVES), what
    whole = HALVES.width * HALVES.neighbours
    found = set().union(
        *(outcome(HALVES, code, n, lead, in_place=in_place) for n in (whole, whole - 1) for lead in (1, 3))
    )
    assert found & kinds, found
