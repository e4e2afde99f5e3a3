"""Programs that number their elements only to break ties, as ``argmin`` and ``argmax`` do.

If an element is repeated, its first number is the answer. So dims along which no input moves need not be walked
(``planner/repeats.py``): the elements at their index 0 have the lowest numbers.
"""

from __future__ import annotations

from functools import lru_cache

from ...dtypes import DType
from ..graph import Expr, MonoidGraph, Program, rewrite, walk
from ..library.monoids import ARGMAX, ARGMIN
from ..monoid import Monoid
from ..words import word_bits


def only_breaks_ties(program: Program, count: int) -> bool:
    """Whether, among equal elements of a result of ``count`` elements, only the lowest number matters."""
    (reduce,) = program.reduces
    monoid = program.monoid
    groups = [_group(monoid, reduce.args, i, count) for i, e in enumerate(reduce.args) if _is_numbered(e)]
    return all(group and _is_apart(monoid, group) for group in groups)


def _group(monoid: MonoidGraph, args: tuple[Expr, ...], i: int, count: int) -> tuple[int, ...]:
    """The values of the state that value ``i``, made with a number, belongs to; empty if the number may do more."""
    e = args[i]
    while e.op == "where" and e.args[2].op == "const" and not _is_numbered(e.args[0]):  # outside a mask
        e = e.args[1]
    if e.op == "word":
        fits = e.args[1].op == "iota" and count <= 1 << e.dtype.bits - word_bits(e)
        return (i,) if fits and not _is_numbered(e.args[0]) else ()
    if i and not _is_numbered(args[i - 1]) and _is_number(e) and takes_the_first(*_pair(monoid, i - 1)):
        return i - 1, i
    return ()


def _is_number(e: Expr) -> bool:
    """Whether ``e`` is the number of an element, in whatever integer type holds it."""
    while e.op in ("cast", "bitcast") and e.dtype.is_integer and e.dtype.bits >= e.args[0].dtype.bits:
        e = e.args[0]
    return e.op == "iota"


def _is_numbered(e: Expr) -> bool:
    return any(x.op == "iota" for x in walk((e,)))


def _pair(monoid: MonoidGraph, first: int) -> tuple[list[str], tuple[DType, ...]]:
    """Digests of the combine of a value and the next one, as if they were the whole state; and their types."""
    types, n = monoid.state[first : first + 2], len(monoid.state)
    places = {first: 0, first + 1: 1, n + first: 2, n + first + 1: 3}
    own = monoid.combine[first : first + 2]
    swapped = {
        e.digest: Expr(e.op, e.args, e.dtype, e.space, places[e.value], e.where)
        for e in walk(own)
        if e.op == "param" and e.value in places
    }
    return [e.digest for e in rewrite(own, swapped)], types


def _is_apart(monoid: MonoidGraph, group: tuple[int, ...]) -> bool:
    """Whether no other value of the state depends on these."""
    n = len(monoid.state)
    own = {*group, *(n + i for i in group)}
    others = tuple(e for i, e in enumerate(monoid.combine) if i not in group)
    return not any(e.op == "param" and e.value in own for e in walk(others))


def takes_the_first(combine: list[str], state: tuple[DType, ...]) -> bool:
    """Whether these digests are those of ``argmin`` or ``argmax``, which prefer the lowest number among equals."""
    return _extreme(combine, state) is not None


def extreme_at(monoid: MonoidGraph, first: int) -> Monoid | None:
    """ARGMIN or ARGMAX, if it combines values ``first`` and ``first + 1`` of the state, which no other depends on."""
    found = _extreme(*_pair(monoid, first))
    return found if found and _is_apart(monoid, (first, first + 1)) else None


def _extreme(combine: list[str], state: tuple[DType, ...]) -> Monoid | None:
    """ARGMIN or ARGMAX, if these digests are those of its combine."""
    return next((m for m in (ARGMIN, ARGMAX) if len(state) == 2 and combine == _digests(m, state)), None)


@lru_cache(maxsize=64)
def _digests(which: Monoid, state: tuple[DType, ...]) -> list[str]:
    return [e.digest for e in which.typed(*state).combine]
