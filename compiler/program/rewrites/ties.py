"""Programs that number their elements only to break ties, as ``argmin`` and ``argmax`` do.

If an element is repeated, its first number is the answer. So dims along which no input moves need not be walked
(``planner/repeats.py``): the elements at their index 0 have the lowest numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import Expr, Program, walk
from ..words import word_bits


def only_breaks_ties(program: Program, count: int) -> bool:
    """Whether, among equal elements of a result of ``count`` elements, only the lowest number matters."""
    (reduce,) = program.reduces
    numbers = [place + 1 for place, _ in program.monoid.structure]
    return all(_only_breaks_ties(reduce.args, i, numbers, count) for i, e in enumerate(reduce.args) if _is_numbered(e))


def _only_breaks_ties(args: tuple[Expr, ...], i: int, numbers: Sequence[int], count: int) -> bool:
    """Whether value ``i`` of a state, made with a number, depends on nothing else of it; ``numbers`` are of pairs."""
    e = args[i]
    while e.op == "where" and e.args[2].op == "const" and not _is_numbered(e.args[0]):  # outside a mask
        e = e.args[1]
    if e.op == "word":
        fits = e.args[1].op == "iota" and count <= 1 << e.dtype.bits - word_bits(e)
        return fits and not _is_numbered(e.args[0])
    return i in numbers and not _is_numbered(args[i - 1]) and _is_number(e)


def _is_number(e: Expr) -> bool:
    """Whether ``e`` is the number of an element, in whatever integer type holds it."""
    while e.op in ("cast", "bitcast") and e.dtype.is_integer and e.dtype.bits >= e.args[0].dtype.bits:
        e = e.args[0]
    return e.op == "iota"


def _is_numbered(e: Expr) -> bool:
    return any(x.op == "iota" for x in walk((e,)))
