"""A tensor program evaluated in NumPy: what every reduction is checked against, a user's own included.

Elementwise code before the fold runs in the program's own types, as on the device. The fold and what follows run in
float64 (integers in their own type, where they are exact). States are combined as a tree of neighbours, vectorised
over results, so the order of the elements is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ..compiler import storage
from ..compiler.dtypes import dtype
from ..compiler.graph import Expr, MonoidGraph, Program, walk
from ..compiler.numeric import Array, apply, combine, wide

PIECE = 1 << 21
"""Elements folded at a time, which bounds the memory."""

_ROUNDING = (
    "add", "sub", "mul", "div", "fma", "sqrt", "rsqrt", "exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos",
    "tanh", "erf", "pow", "mod", "floordiv",
)  # fmt: skip


@dataclass(frozen=True)
class State:
    """What a fold came to.

    Attributes:
        values: the final state, one array of ``n_kept`` per value.
        peaks: the greatest magnitude that each value had anywhere in the tree; rounding errors scale with it.
    """

    values: list[Array]
    peaks: list[Array]


def parts(x: Array) -> list[Array]:
    """The arrays that a kernel sees in place of ``x``: two of floats for a complex one, bytes for 8-bit floats."""
    if x.dtype.kind == "c":
        return [x.real, x.imag]
    return [x.view(t.numpy) for t in storage.parts(dtype(x.dtype))]


def rows(x: Array, axes: Sequence[int]) -> Array:
    """``x`` as [results][reduced elements], the reduced elements in row-major order."""
    kept = [a for a in range(x.ndim) if a not in axes]
    moved = x.transpose(*kept, *sorted(axes))
    return moved.reshape(prod(x.shape[a] for a in kept), prod(x.shape[a] for a in axes))


def rounds(exprs: Iterable[Expr]) -> bool:
    """Whether some expression is arithmetic that rounds floats."""
    return any(e.op in _ROUNDING and e.dtype.is_float and not _adds_nothing(e) for e in exprs)


def _adds_nothing(e: Expr) -> bool:
    """Whether ``e`` is x + 0, x - 0 or 0 - x: ranks of floats are told so, and no rounding touches their extremes."""
    return e.op in ("add", "sub") and any(a.op == "const" and a.value == 0 for a in e.args)


class Evaluator:
    """One program on given arrays.

    Args:
        program: what to compute.
        xs: the input arrays.
        axes: the reduced axes.
    """

    def __init__(self, program: Program, xs: Sequence[Array], axes: Sequence[int]) -> None:
        self.program = program
        self.inputs = [rows(x, axes) for x in xs]
        self.n_kept, self.n_reduced = self.inputs[0].shape
        self.states: dict[str, State] = {}
        with np.errstate(all="ignore"):
            for e in program.reduces:
                self.states[e.digest] = self._fold(e)

    def outputs(self, states: dict[str, State] | None = None) -> list[Array]:
        """Every result, [n_kept] in its wide type, from the folded states (or from others in their place)."""
        memo: dict[str, Array] = {}
        with np.errstate(all="ignore"):
            for e in walk(self.program.outputs):
                if e.space != "element" and e.op not in ("reduce", "iota"):
                    memo[e.digest] = self._wide(e, memo, states or self.states)
        return [np.broadcast_to(memo[o.digest], (self.n_kept,)) for o in self.program.outputs]

    def _wide(self, e: Expr, memo: dict[str, Array], states: dict[str, State]) -> Array:
        """One node in float64."""
        if e.op == "result":
            return states[e.args[0].digest].values[e.value]  # type: ignore[call-overload, no-any-return]
        if e.op == "count":
            return np.asarray(self.n_reduced, wide(e.dtype))
        return apply(e, [memo[a.digest] for a in e.args], wide(e.dtype))

    def _fold(self, e: Expr) -> State:
        """The state of one ``reduce``: pieces of bounded size, folded each, then folded together."""
        graph = e.value
        assert isinstance(graph, MonoidGraph)
        if self.n_reduced == 0:
            values = [np.full(self.n_kept, v, wide(t)) for v, t in zip(graph.identity, graph.state, strict=True)]
            return State(values, [np.zeros(self.n_kept) for _ in values])
        across = max(1, min(self.n_kept, PIECE // self.n_reduced))
        along = max(1, PIECE // across)
        found = [
            tree(graph, [
                tree(graph, [self._piece(e, slice(k, k + across), slice(r, r + along))])
                for r in range(0, self.n_reduced, along)
            ])
            for k in range(0, max(1, self.n_kept), across)
        ]  # fmt: skip
        return State(
            *([np.concatenate(v) for v in zip(*part, strict=True)] for part in zip(*_parts(found), strict=True))
        )

    def _piece(self, e: Expr, kept: slice, reduced: slice) -> State:
        """The elements of one piece as states of their own, [kept][reduced]."""
        memo: dict[str, Array] = {}
        shape = self.inputs[0][kept, reduced].shape
        for node in walk(e.args):
            if node.op != "reduce":
                memo[node.digest] = self._element(node, memo, kept, reduced)
        graph = e.value
        assert isinstance(graph, MonoidGraph)
        pairs = zip(e.args, graph.state, strict=True)
        values = [np.broadcast_to(memo[a.digest], shape).astype(wide(t)) for a, t in pairs]
        return State(values, [_magnitude(v) for v in values])

    def _element(self, e: Expr, memo: dict[str, Array], kept: slice, reduced: slice) -> Array:
        """One node in its own type, for the elements of a piece."""
        if e.op == "input":
            return self.inputs[e.value][kept, reduced]  # type: ignore[call-overload, no-any-return]
        if e.op == "iota":
            return np.arange(self.n_reduced, dtype=e.dtype.numpy)[None, reduced]
        if e.op == "count":
            return np.asarray(self.n_reduced, e.dtype.numpy)
        if e.op == "result":
            value = self.states[e.args[0].digest].values[e.value]  # type: ignore[call-overload]
            return value[kept, None].astype(e.dtype.numpy)  # type: ignore[no-any-return]
        return apply(e, [memo[a.digest] for a in e.args], e.dtype.numpy)


def tree(graph: MonoidGraph, states: Sequence[State]) -> State:
    """States side by side along the last axis, combined neighbour with neighbour until one is left."""
    width = max(s.values[0].ndim for s in states)
    values = [_beside([s.values[i] for s in states], width) for i in range(len(graph.state))]
    peaks = [_beside([s.peaks[i] for s in states], 2).max(axis=1) for i in range(len(graph.state))]
    while values[0].shape[1] > 1:
        odd = values[0].shape[1] % 2
        even = values[0].shape[1] - odd
        joined = combine(graph, [v[:, 0:even:2] for v in values], [v[:, 1:even:2] for v in values])
        values = [np.concatenate([j, v[:, even:]], axis=1) if odd else j for j, v in zip(joined, values, strict=True)]
        peaks = [np.maximum(p, _magnitude(v)) for p, v in zip(peaks, values, strict=True)]
    return State([v[:, 0] for v in values], peaks)


def _beside(parts: list[Array], width: int) -> Array:
    """[kept] parts as columns, [kept][n] parts as they are."""
    return np.concatenate([p if p.ndim == width == 2 else p[:, None] for p in parts], axis=1)


def _parts(states: Sequence[State]) -> list[tuple[list[Array], list[Array]]]:
    return [(s.values, s.peaks) for s in states]


def _magnitude(v: Array) -> Array:
    """The greatest finite magnitude of each row; 0 for what is not float, since it is exact."""
    if v.dtype.kind != "f":
        return np.zeros(v.shape[0])
    size = np.abs(v)
    return np.where(np.isfinite(size), size, 0).max(axis=1, initial=0.0)  # type: ignore[no-any-return]
