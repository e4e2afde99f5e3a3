"""Kernels of one walk that writes: accesses of every kind, to the elements of a row a CTA, or of an access' columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from kernel_harness import place

from warpfold.runtime.emulator import Memory, sanitize
from warpfold.runtime.emulator.machine.address_map import POISON

THREADS = 64
ROWS = 3
POINTER = "!llvm.ptr<1>"


class Kind(NamedTuple):
    """How a kernel accesses the elements: its access, their axis, their type, elements of an access."""

    access: str
    axis: str
    type: str
    width: int

    def __str__(self) -> str:
        return f"{self.access} {self.axis} {self.type} {self.width}"

    @property
    def item(self) -> int:
        """Bytes of an element."""
        return int(self.type[1:]) // 8

    @property
    def step(self) -> int:
        """Elements between a thread's accesses."""
        return THREADS * (self.width if self.axis == "reduced" else 1)

    @property
    def fragment(self) -> str:
        """The type of what an access reads."""
        return self.type if self.width == 1 else f"vector<{self.width}x{self.type}>"

    @property
    def attributes(self) -> str:
        return f'kept_rank = 1, reduced_rank = 1, axis = "{self.axis}", access = "{self.access}"'

    def constant(self, value: int) -> str:
        """The constant of the type of a fragment."""
        return f"arith.constant {value if self.width == 1 else f'dense<{value}>'} : {self.fragment}"


def kernel(name: str, kind: Kind, value: str, *, before: str = "", unroll: int = 1) -> str:
    """A kernel that writes ``%result`` for each access.

    Args:
        name: its name.
        kind: its accesses.
        value: the code that makes ``%result`` of the access at ``%r``, with the operands that ``before`` names.
        before: code before the walk, which begins at ``%begin`` and ends before ``%n``.
        unroll: accesses of a thread in flight.
    """
    by_rows, shifted = kind.axis == "reduced", kind.access == "shifted"
    lead = f"""%lead = "fold.lead"(%x, %kept, %row) {{kept_rank = 1, reduced_rank = 0, lanes = {kind.width},
          bytes = {kind.item}}} : ({POINTER}, i32, i32) -> i32"""
    return f"""
      gpu.func @{name}(%x: {POINTER}, %y: {POINTER}, %n: i32, %row: i32, %element: i32, %extent: i32)
          kernel attributes {{known_block_size = array<i32: {THREADS}, 1, 1>}} {{
        %tid = gpu.thread_id x
        %bid = gpu.block_id x
        %t = arith.index_cast %tid : index to i32
        %b = arith.index_cast %bid : index to i32
        %first = arith.constant 0 : i32
        %on = arith.constant true
        %of_thread = arith.constant {kind.width if by_rows else 1} : i32
        %of_cta = arith.constant {1 if by_rows else kind.width} : i32
        %own = arith.muli %t, %of_thread : i32
        %kept = arith.muli %b, %of_cta : i32
        {lead if shifted else "%lead = arith.constant 0 : i32"}
        %begin = arith.subi %own, %lead : i32
        {before}
        "fold.thread_map"(%begin, %n{", %first" if shifted else ""}) ({{
        ^bb0(%r: i32):
          {value}
          "fold.element_store"(%result, %y, %kept, %r, %first, %n, %on, %row, %element)
            {{{kind.attributes}, whole = false}}
            : ({kind.fragment}, {POINTER}, i32, i32, i32, i32, i1, i32, i32) -> ()
          "fold.yield"() : () -> ()
        }}) {{step = {kind.step}, unroll = {unroll}}} : (i32, i32{", i32" if shifted else ""}) -> ()
        gpu.return
      }}"""


def check(
    module: Any,
    name: str,
    kind: Kind,
    n: int,
    lead: int,
    wanted: Callable[[Any], Any],
    *,
    shared: int = 0,
    in_place: bool = False,
) -> None:
    """Runs a kernel over three rows, or the columns of three accesses; rows begin ``lead`` elements on and on.

    It must write ``wanted`` of each element, and nothing else, and the sanitizer must find nothing. ``shared`` is the
    bytes of its dynamic shared memory.
    """
    dtype, apart = np.dtype(f"i{kind.item}"), 2 if kind.access == "strided" else 1
    if kind.axis == "reduced":
        row, element, kept = n * apart + lead, apart, ROWS
    else:
        row, element, kept = apart, ROWS * kind.width * apart, ROWS * kind.width
    places = np.add.outer(np.arange(kept) * row, np.arange(n) * element)
    size = int(places.max()) + 1 if n else 1
    x = np.random.default_rng(n).integers(-100, 100, size).astype(dtype)
    expected = x.copy() if in_place else np.full(x.nbytes, POISON, np.uint8).view(dtype)
    memory, skew = Memory(), lead * dtype.itemsize
    (read, own), (out, result) = place(memory, x, skew), place(memory, expected, skew, initialised=False)
    written, result = (read, own) if in_place else (out, result)
    args = [read, written, n, row, element, size]
    found = sanitize(module, name, (ROWS, 1, 1), (THREADS, 1, 1), args, memory, shared_bytes=shared)
    assert not found, found[0]
    expected[places] = wanted(x[places])
    np.testing.assert_array_equal(result.view(dtype), expected)
