"""Fragments of an array that begins at a boundary, taken at a known distance before one.

Rows that begin anywhere are read and written from the boundary before each of them on. Weights, which lie along all
rows, begin at a boundary themselves. So if a row begins three elements after a boundary, each access to its weights
begins three elements before one. That number is the same for all threads of a CTA, and there is a loop for each value
of it: an access is two aligned ones, and at most a shift a word. Single elements would take a load each, and words that
are chosen by their address a dozen instructions.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import address, bytes_of, i32, integer, memory_type, word_type
from ...compiler.ir.combine import width, with_shape
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, llvm, vector
from .unaligned import ALIGNED, WORD, WORDS, fragment_of

LEADS = "leads"
"""The attribute of a load from such an array: its elements lie side by side, and the first one at a boundary."""


def load_before(load: Any, r: Any, lead: int) -> Any:
    """The fragment of a load at the reduced index ``r``, which lies ``lead`` elements before a boundary."""
    base, t = load.operands[0], load.results[0].type
    scalar = memory_type(element(t))
    nbytes, item = width(t) * bytes_of(scalar), bytes_of(scalar)
    first = nbytes - lead * item  # bytes from the boundary before
    low = arith.addi(r, integer(r.type, lead - width(t)))
    last = first + nbytes - 1
    words: dict[int, Any] = {}
    for k in range(first // ALIGNED, last // ALIGNED + 1):
        at = arith.addi(low, integer(r.type, k * ALIGNED // item)) if k else low
        read = llvm.load(with_shape(word_type(), WORDS), address(base, at, scalar), alignment=ALIGNED, invariant=True)
        words |= {k * WORDS + j: vector.extract(read, [], [j]) for j in range(WORDS)}
    begin, bits = first // WORD, first % WORD * 8
    own = [words[begin + j] for j in range(nbytes // WORD)]
    if bits:
        following = [*own[1:], words[begin + len(own)]]
        own = [llvm.intr_fshr(high, low, i32(bits)) for low, high in zip(own, following, strict=True)]
    return fragment_of(own, scalar, t)
