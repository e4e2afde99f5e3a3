"""An array program evaluated in NumPy, in higher precision: the reference for its results.

Floats are computed in f64, integers exactly in their own type. A value is an array with one axis per dim of the
program, of size 1 where it does not vary. A fold combines neighbouring states in a tree, which keeps their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...compiler.dtypes import BF16, BIT, F16, DType
from ...compiler.program import numeric
from ...compiler.program.array_layouts import Output, Split
from ...compiler.program.array_program import ArrayProgram, Fold, Scan
from ...compiler.program.bit_arrays import WORD
from ...compiler.program.graph import Expr, walk
from ...compiler.program.numeric import Array

HALVES = (F16, BF16)


def evaluate(program: ArrayProgram, arrays: Sequence[Array], dtype: Any = np.float64) -> list[Array]:
    """The results of ``program`` for ``arrays``, floats as ``dtype``.

    A value is rounded to a half type or an 8-bit float only where the function says so, and the results are not.
    """
    with np.errstate(all="ignore"):
        values = Values(program, arrays, np.dtype(dtype))
        return [values.result(o) for o in program.outputs]


class Values:
    """The values of all nodes of one program for given arrays.

    Attributes:
        values: by the digest of a node its value, with one axis per dim of the program.
        states: by the digest of a fold its final state.
    """

    def __init__(self, program: ArrayProgram, arrays: Sequence[Array], floats: np.dtype[Any]) -> None:
        self.program, self.floats = program, floats
        self.arrays = _read(program, arrays)
        self.sizes = program.sizes_of([a.shape for a in arrays])
        self.values: dict[str, Array] = {}
        self.states: dict[str, list[Array]] = {}
        for e in walk(program.roots):
            if e.op == "fold":
                self.states[e.digest] = self.fold(e)
            elif e.op == "scan":
                self.states[e.digest] = self.scan(e)
            else:
                self.values[e.digest] = self.value(e)

    def result(self, output: Output) -> Array:
        """One result, in its shape."""
        found = self.placed(self.values[output.expr.digest], output)
        if output.dtype == BIT:
            return packed(found, flat=output.flat)
        if output.dtype.is_float and output.dtype.bits == 8:
            found = np.ascontiguousarray(found).view(output.dtype.numpy)
        return found.astype(self._kind(output.dtype))

    def placed(self, x: Array, output: Output) -> Array:
        """An array with one axis per dim of the program in the shape of a result."""
        dims = [d for d in output.axes if d is not None]
        full = np.broadcast_to(x, [n if d in dims else 1 for d, n in enumerate(self.sizes)])
        order = dims + [d for d in range(len(self.sizes)) if d not in dims]
        return full.transpose(order).reshape(output.elements(self.sizes))

    def _kind(self, t: DType) -> np.dtype[Any]:
        return self.floats if t.is_float else t.numpy

    def value(self, e: Expr) -> Array:
        """The value of a node, whose operands have theirs."""
        if e.op == "input":
            return self._input(e)
        if e.op == "gather":
            return self._gather(*(self.values[a.digest] for a in e.args))
        if e.op == "result":
            return self.states[e.args[0].digest][e.value]  # type: ignore[call-overload, no-any-return]
        if e.op == "count":
            counted = [self.sizes[d] for d in self.program.dims_of(e.value)]  # type: ignore[arg-type]
            return np.asarray(prod(counted), self._kind(e.dtype))
        if e.op == "iota":
            return self._iota(e)
        found = numeric.apply(e, [self.values[a.digest] for a in e.args], self._kind(e.dtype))
        rounds = e.op in ("const", "cast") and e.dtype in HALVES
        return found.astype(e.dtype.numpy).astype(found.dtype) if rounds else found

    def _input(self, e: Expr) -> Array:
        """The elements of a view along the dims of the program, and along a last axis where one is gathered."""
        view = self.program.views[e.value]  # type: ignore[call-overload]
        x = self.arrays[view.array]
        places = sorted((d, i) for i, d in enumerate(view.axes) if d is not None)
        moved = x.transpose([i for _, i in places] + [i for i, d in enumerate(view.axes) if d is None])
        own = [d for d, _ in places]
        full = [n if d in own else 1 for d, n in enumerate(self.sizes)]
        last = [] if view.gathered is None else [x.shape[view.gathered]]
        return np.asarray(moved.reshape(full + last), self._kind(e.dtype))

    def _gather(self, rows: Array, index: Array) -> Array:
        """The element of each row at its index; 0 where there is none."""
        exists = (index >= 0) & (index < rows.shape[-1])
        if not exists.any():
            return np.zeros(np.broadcast_shapes(rows.shape[:-1], index.shape), rows.dtype)
        shape = np.broadcast_shapes(rows.shape[:-1], index.shape)
        places = np.broadcast_to(np.where(exists, index, 0), shape)[..., None]
        found = np.take_along_axis(np.broadcast_to(rows, (*shape, rows.shape[-1])), places, -1)[..., 0]
        return np.where(exists, found, np.zeros((), rows.dtype))

    def _iota(self, e: Expr) -> Array:
        """The number of each element in row-major order of some dims."""
        dims: tuple[int, ...] = e.value  # type: ignore[assignment]
        numbers = np.arange(prod(self.sizes[d] for d in dims)).reshape([self.sizes[d] for d in dims])
        rising = numbers.transpose(np.argsort(dims))
        return rising.reshape([n if d in dims else 1 for d, n in enumerate(self.sizes)]).astype(self._kind(e.dtype))

    def fold(self, e: Expr) -> list[Array]:
        """The final state of a fold: every value of it with size 1 along the dims that are folded."""
        fold = e.value
        assert isinstance(fold, Fold)
        states = [self.rows(e, self.values[a.digest]) for a in e.args]
        if states[0].shape[-1] == 0:
            kept = states[0].shape[:-1]
            pairs = zip(fold.monoid.identity, fold.monoid.state, strict=True)
            states = [np.full([*kept, 1], i, self._kind(t)) for i, t in pairs]
        while states[0].shape[-1] > 1:
            states = self._joined(fold, states)
        return [self.unfolded(e, s[..., 0]) for s in states]

    def scan(self, e: Expr) -> list[Array]:
        """The states of a scan at every element: those of twice as many elements in each step."""
        scan = e.value
        assert isinstance(scan, Scan)
        return [self.along(e, x) for x in self.prefixes(scan, [self.rows(e, self.values[a.digest]) for a in e.args])]

    def prefixes(self, scan: Scan, states: list[Array]) -> list[Array]:
        """The states of the elements up to each along the last axis, or of those before it."""
        states = [s[..., ::-1] for s in states] if scan.reverse else states
        distance = 1
        while distance < states[0].shape[-1]:
            pairs = [s[..., :-distance] for s in states] + [s[..., distance:] for s in states]
            joined = self._combined(scan, pairs)
            states = [np.concatenate([s[..., :distance], j], -1) for s, j in zip(states, joined, strict=True)]
            distance *= 2
        if scan.exclusive:
            pairs_of = zip(states, scan.monoid.identity, strict=True)
            states = [np.concatenate([np.full_like(s[..., :1], i), s[..., :-1]], -1) for s, i in pairs_of]
        return [s[..., ::-1] for s in states] if scan.reverse else states

    def along(self, e: Expr, x: Array) -> Array:
        """What ``rows`` has made of a value of elements, with one axis per dim of the program again."""
        over = self._over(e)
        full = [n if e.space >> d & 1 else 1 for d, n in enumerate(self.sizes)]
        order = [d for d in range(len(full)) if d not in over] + over
        return x.reshape([full[d] for d in order]).transpose(np.argsort(order))

    def rows(self, fold: Expr, x: Array) -> Array:
        """What a fold reduces along the last axis, behind an axis for each other dim of the program."""
        assert isinstance(fold.value, Fold | Scan)
        over, space = self._over(fold), fold.space | fold.value.over
        full = [n if space >> d & 1 else 1 for d, n in enumerate(self.sizes)]
        kept = [d for d in range(len(full)) if d not in over]
        moved = np.broadcast_to(x, full).transpose(kept + over)
        return moved.reshape([*(full[d] for d in kept), prod(full[d] for d in over)])

    def unfolded(self, fold: Expr, x: Array) -> Array:
        """One value for each row of a fold, with one axis per dim of the program."""
        return np.expand_dims(x, tuple(sorted(self._over(fold))))

    def _over(self, e: Expr) -> list[int]:
        """The dims that a fold is over, in the order of the elements."""
        fold = e.value
        if isinstance(fold, Scan):
            return list(fold.along)
        assert isinstance(fold, Fold)
        return list(fold.order) or list(self.program.dims_of(fold.over))

    def _joined(self, fold: Fold, states: list[Array]) -> list[Array]:
        """Half as many states: each the combination of two neighbours; the last of an odd number stays alone."""
        n = states[0].shape[-1]
        even = n - n % 2
        made = self._combined(fold, [s[..., side:even:2] for side in (0, 1) for s in states])
        return [np.concatenate([m, s[..., even:]], axis=-1) for m, s in zip(made, states, strict=True)]

    def _combined(self, fold: Fold | Scan, params: list[Array]) -> list[Array]:
        """The combination of two states, given by their values."""
        found = numeric.evaluate(fold.monoid.combine, lambda p: params[p.value], self._kind)  # type: ignore[call-overload]
        return [np.broadcast_to(found[c.digest], params[0].shape) for c in fold.monoid.combine]


def _read(program: ArrayProgram, arrays: Sequence[Array]) -> list[Array]:
    """The arrays and their slices, with their axes split."""
    found = dict(enumerate(map(_memory, arrays)))
    layouts = program.layouts([a.shape for a in arrays])
    for i, b in enumerate(program.bits, 1):
        rest = iter(layouts[-i].shape)  # type: ignore[union-attr]
        shape = tuple(prod(next(rest) for _ in own or (0,)) for own in b.axes)
        found[-i] = unpacked(found[b.array], prod(shape), flat=b.flat).reshape(shape)
    for number, s in enumerate(program.slices, len(arrays)):
        x = found[s.array]
        sizes = Split(s.array, s.axis, s.sizes).of(x.shape[s.axis])
        assert sizes is not None
        x = x.reshape(*x.shape[: s.axis], *sizes, *x.shape[s.axis + 1 :])
        own = x[(slice(None),) * (s.axis + s.part) + (slice(s.start, s.stop, s.step),)]
        found[number] = np.pad(own, [(0, s.more * (i == s.axis + s.part)) for i in range(own.ndim)])
    numbers = (*range(len(found) - len(program.bits)), *range(-len(program.bits), 0))
    return [found[i].reshape(layout.shape) for i, layout in zip(numbers, layouts, strict=True) if layout]


def packed(mask: Array, *, flat: bool) -> Array:
    """The words whose bits are the truth values ``mask``."""
    rows = mask.reshape(1, -1) if flat else mask
    found = np.zeros((*rows.shape[:-1], -(-rows.shape[-1] // WORD) * WORD // 8), np.uint8)
    found[..., : -(-rows.shape[-1] // 8)] = np.packbits(rows, axis=-1, bitorder="little")
    words = found.view("<u4")
    return words[0] if flat else words


def unpacked(words: Array, elements: int, *, flat: bool) -> Array:
    """The truth values of which ``words`` are the bits; there are so many ``elements``."""
    rows = 1 if flat else prod(words.shape[:-1])
    own = np.ascontiguousarray(words).view(np.uint8).reshape(rows, -1)
    return np.unpackbits(own, axis=-1, bitorder="little", count=elements // max(1, rows)).astype(bool)


def _memory(x: Array) -> Array:
    """An array as kernels read it: an 8-bit float as its byte."""
    return x.view(np.uint8) if x.dtype.itemsize == 1 and x.dtype.kind not in "iub" else x
