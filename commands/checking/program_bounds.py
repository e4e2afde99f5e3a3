"""An array program evaluated in NumPy, in f64, with a bound on the error of each value of a device.

The values are those of ``array_values.py``. The bounds come from the running error analysis of ``running_error.py``:
each elementwise operation adds its rounding to what its operands had, and a fold adds that of a tree as deep as the
plan's. A value that its type cannot hold is infinite, as on the device; one that might be has no bound.

A dim that no fold and no number goes over is cut into pieces, which bounds the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

import numpy as np

from ...compiler.dtypes import BIT, DType
from ...compiler.program.array_layouts import Output
from ...compiler.program.array_program import ArrayProgram, Fold, Scan
from ...compiler.program.graph import Expr, walk
from ...compiler.program.numeric import Array
from ...compiler.program.storage import encoded_value
from . import running_error
from .array_values import Values, packed
from .evaluate import Tree
from .running_error import Analysis, Error, Known

PIECE = 1 << 20
"""Elements of the largest value that are evaluated at a time, where the program lets them be cut."""
Depth = Callable[[Expr], int]
"""The most combines that an element of a ``fold`` node passes through on the device."""


def bounded(program: ArrayProgram, arrays: Sequence[Array], depth: Depth, *, random: bool) -> list[Known]:
    """The results of ``program`` in f64, or exact integers, with the error that a device may make.

    Args:
        program: the program, as it was cut into steps.
        arrays: its arrays.
        depth: the depth of the tree of each fold.
        random: whether the arrays are random, so that roundings are independent.
    """
    found = [_Bounds(program, piece, depth, random=random).results() for piece in _pieces(program, arrays)]
    cut = free_dim(program)
    return [_joined([f[i] for f in found], o, cut) for i, o in enumerate(program.outputs)]


def free_dim(program: ArrayProgram) -> int | None:
    """A dim that every result has, and that no fold or number goes over: of its indices each has results of its own.

    None where there is none, or where axes are split, joined or sliced.
    """
    if program.splits or program.slices or any(o.joined for o in program.outputs):
        return None
    used: set[int] = set()
    for e in walk(program.roots):
        if isinstance(e.value, Fold | Scan):
            used.update(program.dims_of(e.value.over))
        elif e.op == "iota":
            used.update(e.value)  # type: ignore[arg-type]
    free = [d for d in range(len(program.dims)) if d not in used and all(d in o.axes for o in program.outputs)]
    return free[0] if free else None


def _pieces(program: ArrayProgram, arrays: Sequence[Array]) -> Iterator[list[Array]]:
    """The arrays of each piece."""
    cut = free_dim(program)
    sizes = program.sizes_of([a.shape for a in arrays])
    bits = bool(program.bits) or any(o.dtype == BIT for o in program.outputs)  # whose words a cut might cut
    if cut is None or bits or prod(sizes) <= PIECE:
        yield list(arrays)
        return
    step = max(1, PIECE // max(1, prod(sizes) // sizes[cut]))
    for start in range(0, sizes[cut], step):
        piece = list(arrays)
        for array, axis in program.dims[cut]:
            index = [slice(None)] * axis + [slice(start, start + step)]
            piece[array] = piece[array][tuple(index)]
        yield piece


def _joined(pieces: Sequence[Known], output: Output, cut: int | None) -> Known:
    """One result from those of the pieces."""
    if len(pieces) == 1 or cut is None:
        return pieces[0]
    axis = output.axes.index(cut)
    errors = [np.zeros(p.value.shape) if p.error is None else p.error for p in pieces]
    exact = all(p.error is None for p in pieces)
    value = np.concatenate([p.value for p in pieces], axis)
    return Known(value, None if exact else np.concatenate(errors, axis))


class _Bounds(Values):
    """The values of all nodes with their errors, for some arrays.

    Attributes:
        errors: by the digest of a node the error of its value; None where a device computes the same bits.
    """

    def __init__(self, program: ArrayProgram, arrays: Sequence[Array], depth: Depth, *, random: bool) -> None:
        self.how, self.depth = Analysis(random, running_error.LIKELY if random else 1.0), depth
        self.errors: dict[str, Error] = {}
        self.folded: dict[str, list[Error]] = {}
        with np.errstate(all="ignore"):
            super().__init__(program, arrays, np.dtype(np.float64))

    def results(self) -> list[Known]:
        """Each result, in the precision of its array."""
        with np.errstate(all="ignore"):
            return [self._result(o) for o in self.program.outputs]

    def _result(self, output: Output) -> Known:
        t, e = output.dtype, output.expr
        if t == BIT:
            error = self._placed(e, output).error
            unsure = None if error is None else packed(error > 0, flat=output.flat)
            return Known(self.result(output), unsure=unsure)
        if t.is_float and t.bits == 8 and (source := encoded_value(e, t)) is not None:
            value, most = self._placed(source, output), running_error.HUGE[t.name]
            kept = Known(np.clip(value.value, -most, most), value.error)  # the conversion saturates
            return Known(kept.value, self.how.join(kept.error, self.how.fewer().rounding(np.abs(kept.value), t)))
        found = Known(self.result(output), self._placed(e, output).error)
        if not t.is_float or t.bits == 8 or t == e.dtype:
            return found
        written = Expr("cast", (e,), t, e.space)
        return _held(self.how.fewer().result(written, [found], found.value), t)

    def _placed(self, e: Expr, output: Output) -> Known:
        """A node with its error in the shape of a result."""
        error = self.errors[e.digest]
        return Known(self.placed(self.values[e.digest], output), None if error is None else self.placed(error, output))

    def value(self, e: Expr) -> Array:
        """The value of a node; its error is kept."""
        known = Known(super().value(e))
        if e.op == "result":
            known = Known(known.value, self.folded[e.args[0].digest][e.value])  # type: ignore[call-overload]
        elif e.args:
            args = [Known(self.values[a.digest], self.errors[a.digest]) for a in e.args]
            known = _held(self.how.result(e, args, known.value), e.dtype)
        self.errors[e.digest] = known.error
        return known.value

    def fold(self, e: Expr) -> list[Array]:
        """The final state of a fold; its errors are kept."""
        assert isinstance(e.value, Fold)
        graph = e.value.monoid
        states = [self.rows(e, self.values[a.digest]) for a in e.args]
        *kept, n = states[0].shape
        if n == 0:
            self.folded[e.digest] = [None for _ in states]
            return super().fold(e)
        tree, given = Tree(graph, self.how), []
        for a, s in zip(e.args, states, strict=True):
            error = self.errors[a.digest]
            given.append(Known(s.reshape(-1, n), None if error is None else self.rows(e, error).reshape(-1, n)))
        root = tree.root([tree.leaves(given, given[0].value.shape)])
        found = [self._met(e, k, reach, t, n) for k, reach, t in zip(root.values, root.reach, graph.state, strict=True)]
        unfolded = [None if k.error is None else self.unfolded(e, k.error.reshape(kept)) for k in found]
        self.folded[e.digest] = unfolded
        return [self.unfolded(e, k.value.reshape(kept)) for k in found]

    def scan(self, e: Expr) -> list[Array]:
        """The states of a scan; their errors are kept."""
        assert isinstance(e.value, Scan)
        graph, forth = e.value.monoid, slice(None, None, -1 if e.value.reverse else 1)
        states = [self.rows(e, self.values[a.digest]) for a in e.args]
        *kept, n = states[0].shape
        given = []
        for a, s in zip(e.args, states, strict=True):
            error = None if self.errors[a.digest] is None else self.rows(e, self.errors[a.digest]).reshape(-1, n)  # type: ignore[arg-type]
            given.append(Known(s.reshape(-1, n), error)[:, forth])
        tree = Tree(graph, self.how)
        begun = tree.leaves(given, given[0].value.shape)
        values, reach = tree.prefixes(begun.values, begun.reach)
        found = [self._met(e, k, r, t, n) for k, r, t in zip(values, reach, graph.state, strict=True)]
        if e.value.exclusive:
            found = [_after(identity, k) for identity, k in zip(graph.identity, found, strict=True)]
        found = [k[:, forth] for k in found]
        errors = [None if k.error is None else self.along(e, np.asarray(k.error).reshape(*kept, n)) for k in found]
        self.folded[e.digest] = errors
        return [self.along(e, k.value.reshape(*kept, n)) for k in found]

    def _met(self, e: Expr, known: Known, reach: Array, t: DType, n: int) -> Known:
        """One value of a state of ``n`` elements by a tree of the plan's depth; one that may overflow has no bound."""
        known = running_error.scaled(known, self.how.weighted(self.depth(e), (n - 1).bit_length(), t))
        lost = running_error.overflowing(t, reach)
        if not lost.any():
            return _held(known, t)
        return Known(known.value, np.where(lost, np.inf, 0.0 if known.error is None else known.error))


def _after(identity: float, known: Known) -> Known:
    """What comes before each element of rows: the identity, and then what is known of those up to the one before."""
    value = np.concatenate([np.full_like(known.value[:, :1], identity), known.value[:, :-1]], 1)
    if known.error is None:
        return Known(value)
    error = np.broadcast_to(known.error, known.value.shape)
    return Known(value, np.concatenate([np.zeros_like(error[:, :1]), error[:, :-1]], 1))


def _held(known: Known, t: DType) -> Known:
    """A value as its type holds it: infinite beyond its range, without a bound where it may be beyond."""
    if not t.is_float or t.bits == 64:
        return known
    most = running_error.HUGE[t.name]
    size = np.abs(known.value)
    beyond = np.isfinite(size) & (size > most)
    near = np.zeros(()) if known.error is None else np.where(np.isfinite(size), known.error, 0.0)
    unsure = (size - near <= most) & (size + near > most)
    if not (beyond.any() or unsure.any()):
        return known
    value = np.where(beyond, np.copysign(np.inf, known.value), known.value)
    error = np.zeros(value.shape) if known.error is None else np.where(beyond, 0.0, known.error)
    return Known(value, np.where(unsure & ~np.isinf(known.value), np.inf, error))
