"""Semigroups: a combine without an identity, to which one is adjoined.

Kernels pad: threads without elements, masked elements and partial accesses hold the identity. A monoid without one
(``has_identity=False``) may give a constant to pad with. The constant pads if it is proved neutral beside every state,
as the least integer is for a maximum. Otherwise each state carries a flag that says whether it holds an element, and
combining with a state without elements gives the other state. So padding never shows in a result, whatever the plan,
the mask or the segments, and nothing below this level knows of semigroups.

Range: a flag serves every combine. A constant pads alone where the combine only compares, selects and joins truths,
and its states in all orders are at most ``MOST``; states that are equal, as both zeros are, count as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from ...dtypes import BOOL, DType
from ..analysis.proofs import proof
from ..functions import where
from ..graph import SCALAR, Expr, MonoidGraph, rewrite, walk
from ..symbols import Sym

_BY_ORDER = ("param", "const", "where", "min", "max", "eq", "ne", "lt", "le", "gt", "ge")
"""Operations whose results depend on how their operands are ordered, and are one of these or a truth value."""
_LOGIC = ("and", "or", "xor")
MOST = 1 << 14
"""The most states on which a combine is tried."""


def adjoined(graph: MonoidGraph) -> MonoidGraph:
    """``graph`` with an identity: a new first value of the state says whether it holds an element."""
    n = len(graph.state)
    state = (BOOL, *graph.state)
    left = [Sym(Expr("param", (), t, SCALAR, i)) for i, t in enumerate(state)]
    right = [Sym(Expr("param", (), t, SCALAR, n + 1 + i)) for i, t in enumerate(state)]
    moved = {
        Expr("param", (), t, SCALAR, i).digest: Expr("param", (), t, SCALAR, i + 1 + (i >= n))
        for i, t in enumerate(graph.state + graph.state)
    }
    combined = [Sym(e) for e in rewrite(graph.combine, moved)]
    values = [where(left[0], where(right[0], c, a), b) for a, b, c in zip(left[1:], right[1:], combined, strict=True)]
    combine = tuple(s.expr for s in (left[0] | right[0], *values))
    return replace(graph, state=state, identity=(False, *graph.identity), combine=combine, structure=())


@lru_cache(maxsize=1024)
def neutral(graph: MonoidGraph) -> bool:
    """Whether the constant that pads is shown to be neutral beside every state.

    A combine that only compares and selects is the same function of all states that are ordered alike among
    themselves and among its constants. So one state for each order proves it for all.
    """
    if proof(graph, "identity") is not None:
        return True
    nodes = list(walk(graph.combine))
    return all(_by_order(e) for e in nodes) and _holds_in_every_order(graph, nodes)


def _by_order(e: Expr) -> bool:
    return e.op in _BY_ORDER or (e.op in _LOGIC and e.dtype == BOOL)


def _holds_in_every_order(graph: MonoidGraph, nodes: list[Expr]) -> bool:
    """Whether combining with the constant changes none of the representative states."""
    import numpy as np

    from ..numeric import combine

    known = [(e.dtype, e.value) for e in nodes if e.op == "const"]
    known += zip(graph.state, graph.identity, strict=True)
    n = len(graph.state)
    axes = [list(_representatives(t, {v for u, v in known if u == t}, n)) for t in graph.state]
    if np.prod([float(len(a)) for a in axes]) > MOST:
        return False
    values = [np.array(a, t.numpy) for a, t in zip(axes, graph.state, strict=True)]
    states = [g.reshape(-1) for g in np.meshgrid(*values, indexing="ij")]
    padding = [np.full_like(s, v) for s, v in zip(states, graph.identity, strict=True)]
    sides = combine(graph, padding, states), combine(graph, states, padding)
    return all(
        bool(np.all((got == own) | ((got != got) & (own != own))))
        for side in sides
        for got, own in zip(side, states, strict=True)
    )


def _representatives(t: DType, known: set[object], n: int) -> Iterator[float | int | bool]:
    """The constants of a type, ``n`` values between each two of them, the ends of its range, and NaN."""
    if t == BOOL:
        yield from (False, True)
        return
    ends = sorted({t.lowest, t.highest, *(v for v in known if isinstance(v, int | float) and v == v)})
    yield from ends
    for low, high in pairwise(ends):
        yield from _between(t, low, high, n)
    if t.is_float:
        yield float("nan")


def _between(t: DType, low: float, high: float, n: int) -> Iterator[float | int]:
    """Up to ``n`` values of a type above ``low`` and below ``high``."""
    import numpy as np

    for _ in range(n):
        low = low + 1 if t.is_integer else np.nextafter(t.numpy.type(low), t.numpy.type(high))
        if not low < high:
            return
        yield low
