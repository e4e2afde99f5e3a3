"""A tensor program evaluated in NumPy, which gives the reference for every reduction, a user's own included.

Elementwise code before the fold runs in the program's own types, as on the device. The fold and the code after it run
in float64, and exact integers in their own type. Each value carries a bound on the error of the device's value
(``running_error.py``). Neighbouring states are combined in a tree, vectorised over results, which keeps the order of
the elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ...compiler.dtypes import dtype
from ...compiler.program import storage
from ...compiler.program.graph import ELEMENT, Expr, MonoidGraph, Program, walk
from ...compiler.program.numeric import Array, apply, wide
from . import adjoints, running_error
from .accumulators import Addends, addends
from .running_error import Analysis, Known

PIECE = 1 << 18
"""Elements folded at a time: this bounds the memory."""


@dataclass(frozen=True)
class State:
    """The result of a fold.

    Attributes:
        values: the final state: for each of its values an array of ``n_kept`` numbers with their errors.
        peaks: the greatest magnitude of each value anywhere in the tree.
        reach: the greatest magnitude of each value in a tree of any order.
    """

    values: list[Known]
    peaks: list[Array]
    reach: list[Array]


def parts(x: Array) -> list[Array]:
    """The arrays that a kernel reads for ``x``: two of floats for a complex array, bytes for 8-bit floats."""
    if x.dtype.kind == "c":
        return [x.real, x.imag]
    return [x.view(t.numpy) for t in storage.parts(dtype(x.dtype))]


def rows(x: Array, axes: Sequence[int]) -> Array:
    """``x`` as [results][reduced elements], the reduced elements in row-major order."""
    kept = [a for a in range(x.ndim) if a not in axes]
    moved = x.transpose(*kept, *sorted(axes))
    return moved.reshape(prod(x.shape[a] for a in kept), prod(x.shape[a] for a in axes))


class Evaluator:
    """One program on given arrays.

    Args:
        program: what to compute.
        xs: the input arrays.
        axes: the reduced axes.
        random: whether the arrays are random, so that a device's rounding errors are independent.
    """

    def __init__(self, program: Program, xs: Sequence[Array], axes: Sequence[int], *, random: bool = False) -> None:
        self.program = program
        self.how = Analysis(random, running_error.LIKELY if random else 1.0)
        self.inputs = [rows(x, axes) for x in xs]
        self.n_kept, self.n_reduced = self.inputs[0].shape
        self.states: dict[str, State] = {}
        with np.errstate(all="ignore"):
            for e in program.reduces:
                self.states[e.digest] = self._fold(e)

    def outputs(self) -> list[Array]:
        """Every result: an array of ``n_kept`` values in its wide type."""
        return [k.value for k in self.known(0)]

    def known(self, levels: int) -> list[Known]:
        """Every result with its error, on a device where an element passes through ``levels`` combines."""
        memo: dict[str, Known] = {}
        with np.errstate(all="ignore"):
            for e in walk(self.program.outputs):
                if e.space != ELEMENT and e.op not in ("reduce", "iota"):
                    memo[e.digest] = self._after(e, memo, levels)
        return [self._row(memo[o.digest]) for o in self.program.outputs]

    def _row(self, k: Known) -> Known:
        shape = (self.n_kept,)
        return Known(np.broadcast_to(k.value, shape), None if k.error is None else np.broadcast_to(k.error, shape))

    def _after(self, e: Expr, memo: dict[str, Known], levels: int) -> Known:
        """One node after the folds."""
        if e.op == "result":
            factor = self.how.weighted(levels, max(0, self.n_reduced - 1).bit_length(), e.dtype)
            return running_error.scaled(self.states[e.args[0].digest].values[e.value], factor)  # type: ignore[call-overload]
        if e.op == "count":
            return Known(np.asarray(self.n_reduced, wide(e.dtype)))
        args = [memo[a.digest] for a in e.args]
        if e.op in running_error.FUNCTIONS or any(a.error is not None for a in args):
            return _widely(e, args, self.how.fewer())
        plain = [a.value.astype(x.dtype.numpy) for a, x in zip(args, e.args, strict=True)]
        return Known(apply(e, plain, e.dtype.numpy).astype(wide(e.dtype)))  # equal operands give equal bits

    def _fold(self, e: Expr) -> State:
        """The state of one ``reduce``: chunks of bounded size are folded, then their states."""
        graph = e.value
        assert isinstance(graph, MonoidGraph)
        if self.n_reduced == 0:
            values = [np.full(self.n_kept, v, wide(t)) for v, t in zip(graph.identity, graph.state, strict=True)]
            nothing = [np.zeros(self.n_kept) for _ in values]
            return State([Known(v) for v in values], nothing, nothing)
        tree = Tree(graph, self.how)
        across = max(1, min(self.n_kept, PIECE // self.n_reduced))
        along = max(1, PIECE // across)
        found = [
            tree.root([
                tree.root([self._piece(e, tree, slice(k, k + across), slice(r, r + along))])
                for r in range(0, self.n_reduced, along)
            ])
            for k in range(0, max(1, self.n_kept), across)
        ]  # fmt: skip
        each = range(len(graph.state))
        return State(
            [_joined([s.values[i] for s in found], axis=0) for i in each],
            [np.concatenate([s.peaks[i] for s in found]) for i in each],
            [np.concatenate([s.reach[i] for s in found]) for i in each],
        )

    def _piece(self, e: Expr, tree: Tree, kept: slice, reduced: slice) -> State:
        """The states of the single elements of one chunk, as [kept][reduced]."""
        memo: dict[str, Known] = {}
        shape = self.inputs[0][kept, reduced].shape
        for node in walk(e.args):
            if node.op != "reduce":
                memo[node.digest] = self._element(node, memo, kept, reduced)
        return tree.leaves([memo[a.digest] for a in e.args], shape)

    def _element(self, e: Expr, memo: dict[str, Known], kept: slice, reduced: slice) -> Known:
        """One node in its own type, for the elements of a chunk."""
        if e.op == "input":
            return Known(self.inputs[e.value][kept, reduced])  # type: ignore[call-overload]
        if e.op == "iota":
            return Known(np.arange(self.n_reduced, dtype=e.dtype.numpy)[None, reduced])
        if e.op == "count":
            return Known(np.asarray(self.n_reduced, e.dtype.numpy))
        if e.op == "result":
            found = self.states[e.args[0].digest].values[e.value][kept, None]  # type: ignore[call-overload]
            size = np.abs(np.asarray(found.value, np.float64))
            error = None if found.error is None else found.error + Analysis().rounding(size, e.dtype)
            return Known(found.value.astype(e.dtype.numpy), error)
        args = [memo[a.digest] for a in e.args]
        exactly = wide(e.dtype) if e.op in running_error.FUNCTIONS else e.dtype.numpy
        plain = [a.value.astype(exactly, copy=False) if e.op in running_error.FUNCTIONS else a.value for a in args]
        return self.how.result(e, args, apply(e, plain, exactly).astype(e.dtype.numpy, copy=False), same_code=True)


class Tree:
    """The tree that combines neighbouring states."""

    def __init__(self, graph: MonoidGraph, how: Analysis) -> None:
        self.graph, self.how = graph, how
        self.nodes = list(walk(graph.combine))
        self.addends = [addends(graph, i) for i in range(len(graph.state))]
        self.tangled = [adjoints.tangled(graph, i) for i in range(len(graph.state))]

    def leaves(self, elements: Sequence[Known], shape: tuple[int, ...]) -> State:
        """The states of elements of this shape."""
        values = []
        for k, t in zip(elements, self.graph.state, strict=True):
            error = None if k.error is None else np.broadcast_to(k.error, shape)
            values.append(Known(np.broadcast_to(k.value, shape).astype(wide(t)), error))
        sizes = [_size(k.value) for k in values]
        reach = [np.maximum(s, 1) if a and a.product else s for s, a in zip(sizes, self.addends, strict=True)]
        return State(values, [s.max(axis=1, initial=0.0) for s in sizes], reach)

    def root(self, states: Sequence[State]) -> State:
        """Combines neighbouring states along the last axis until one is left."""
        each = range(len(self.graph.state))
        values = [_joined([s.values[i] for s in states], axis=1) for i in each]
        peaks = [np.stack([s.peaks[i] for s in states], axis=1).max(axis=1) for i in each]
        reach = [_joined([Known(s.reach[i]) for s in states], axis=1).value for i in each]
        while (n := values[0].value.shape[1]) > 1:
            even = n - n % 2
            rest, sides = slice(even, n), (slice(0, even, 2), slice(1, even, 2))
            joined, reached = self._combine(
                [[k[:, s] for k in values] for s in sides], [[r[:, s] for r in reach] for s in sides]
            )
            values = [_joined([j, k[:, rest]], axis=1) if n % 2 else j for j, k in zip(joined, values, strict=True)]
            reach = [np.concatenate([j, r[:, rest]], axis=1) for j, r in zip(reached, reach, strict=True)]
            peaks = [np.maximum(p, _size(k.value).max(axis=1)) for p, k in zip(peaks, values, strict=True)]
        return State([k[:, 0] for k in values], peaks, [r[:, 0] for r in reach])

    def prefixes(self, values: list[Known], reach: list[Array]) -> tuple[list[Known], list[Array]]:
        """The states of the elements up to each along the last axis: those of twice as many in each step."""
        distance = 1
        while distance < values[0].value.shape[1]:
            first, later, earlier = slice(distance), slice(distance, None), slice(-distance)
            sides = [[k[:, s] for k in values] for s in (earlier, later)]
            joined, reached = self._combine(sides, [[r[:, s] for r in reach] for s in (earlier, later)])
            values = [_joined([k[:, first], j], axis=1) for k, j in zip(values, joined, strict=True)]
            reach = [np.concatenate([r[:, first], j], axis=1) for r, j in zip(reach, reached, strict=True)]
            distance *= 2
        return values, reach

    def _combine(self, sides: list[list[Known]], reach: list[list[Array]]) -> tuple[list[Known], list[Array]]:
        """The combined states, and the greatest magnitude of their values in any order."""
        (left, right), memo = sides, dict[str, Known]()
        params = [*left, *right]
        for e in self.nodes:
            known = e.op == "param"
            memo[e.digest] = params[e.value] if known else _widely(e, [memo[a.digest] for a in e.args], self.how)  # type: ignore[call-overload]
        shape = left[0].value.shape
        found, reached = [], []
        for i, e in enumerate(self.graph.combine):
            k, own = memo[e.digest], self.addends[i]
            if any(params[p].error is not None for p in self.tangled[i]):
                error = adjoints.error(e, self.nodes, memo, self.how)
                k = k if error is None else Known(k.value, running_error.settled(error, params, k.value))
            k = Known(np.broadcast_to(k.value, shape), None if k.error is None else np.broadcast_to(k.error, shape))
            size = _size(k.value)
            if own is not None and e.dtype.is_float:
                size = own.reach(reach[0][i], reach[1][i], memo)
                k = k if self.how.random or own.product else self._in_any_order(k, own, size, left[i], right[i], memo)
            found.append(k)
            reached.append(size)
        return found, reached

    def _in_any_order(
        self, k: Known, own: Addends, reach: Array, left: Known, right: Known, memo: dict[str, Known]
    ) -> Known:
        """The error of a sum in any order: no partial sum exceeds the sum of all magnitudes."""
        t = self.graph.state[own.position]
        if not t.is_float:
            return k
        rounding = self.how.rounding(reach, t, own.roundings)
        return Known(k.value, self.how.join(left.error, right.error, *own.errors(memo), rounding))


def _widely(e: Expr, args: Sequence[Known], how: Analysis) -> Known:
    """One node in its wide type; a constant is first rounded to its own type."""
    if e.op == "const":
        return Known(np.asarray(e.value, e.dtype.numpy).astype(wide(e.dtype)))
    return how.result(e, args, apply(e, [a.value for a in args], wide(e.dtype)))


def _joined(several: Sequence[Known], axis: int) -> Known:
    """Joins values side by side: [kept] as one column, [kept][n] as they are."""
    plain = [k.value if k.value.ndim == 2 or not axis else k.value[:, None] for k in several]
    if all(k.error is None for k in several):
        return Known(np.concatenate(plain, axis=axis))
    errors = [
        np.zeros(v.shape) if k.error is None else np.asarray(k.error).reshape(v.shape)
        for k, v in zip(several, plain, strict=True)
    ]
    return Known(np.concatenate(plain, axis=axis), np.concatenate(errors, axis=axis))


def _size(v: Array) -> Array:
    """The finite magnitudes of floats; 0 for other types, which are exact."""
    if v.dtype.kind != "f":
        return np.zeros(v.shape)
    size = np.abs(v)
    return np.where(np.isfinite(size), size, 0)
