"""The steps of array programs evaluated with NumPy: the meaning that kernels are held against.

A value is an array with an axis for every dim of the program, of size 1 where it does not vary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tests.compiler import graph_numpy
from warpfold.compiler.program.array_layouts import Output, View
from warpfold.compiler.program.array_program import ArrayProgram
from warpfold.compiler.program.cuts.steps import Buffer, Operand, Step, Steps
from warpfold.compiler.program.graph import (
    ELEMENT,
    KEPT,
    REDUCED,
    SCALAR,
    SECTION,
    SIDE,
    Expr,
    MonoidGraph,
    ScanGraph,
    walk,
)

Array = np.ndarray[Any, Any]
Leaf = Callable[[Expr, Sequence[Array]], Array | None]


def read(program: ArrayProgram, arrays: Sequence[Array]) -> list[Array]:
    """The arrays and their slices, with their axes split."""
    whole = [np.ascontiguousarray(a) for a in arrays]
    strides = [[n // a.itemsize for n in a.strides] for a in whole]
    layouts = program.layouts([a.shape for a in arrays], strides)
    found = []
    for i, own in enumerate(layouts):
        assert own is not None
        x = whole[program.argument(i)].reshape(-1)
        found.append(as_strided(x[own.offset :], own.shape, [n * x.itemsize for n in own.strides], writeable=False))
    return found


def run(steps: Steps, program: ArrayProgram, arrays: Sequence[Array]) -> list[Array]:
    """The results of the steps of a program, each of which may read only what was written before.

    A section of a row is the whole of the part that lies along the dims of sections.
    """
    sizes = program.sizes_of([a.shape for a in arrays])
    arrays = read(program, arrays)
    held: dict[Operand, Array] = {
        Operand("view", i): _of_view(v, arrays, sizes) for i, v in enumerate(program.views)
    }  # fmt: skip
    for step in steps.steps:
        for operand, value in zip(step.outputs, _Run(step, steps.buffers, held, sizes).outputs(), strict=True):
            assert operand not in held
            held[operand] = value
    for i, b in enumerate(steps.buffers):
        value = held[Operand("buffer", i)]
        assert value.shape == tuple(n if d in b.dims and d not in b.sections else 1 for d, n in enumerate(sizes))
        assert value.dtype == b.dtype.numpy
    return [_of_axes(held[Operand("output", i)], o, sizes) for i, o in enumerate(program.outputs)]


class _Run:
    """One step, of which ``sizes`` are those of all dims."""

    def __init__(
        self, step: Step, buffers: Sequence[Buffer], held: dict[Operand, Array], sizes: tuple[int, ...]
    ) -> None:
        self.step, self.held, self.sizes = step, held, sizes
        self.full = (*step.kept, *step.reduced)
        sections = [
            [buffers[o.number].sections for o in own if o.kind == "buffer"] for own in (step.inputs, step.outputs)
        ]
        combined, self.inner = (next(filter(None, own), ()) for own in sections)
        self.folded = tuple(1 if d in combined else n for d, n in enumerate(sizes))
        """The sizes of what it folds: of states of sections there is one for each."""

    def outputs(self) -> list[Array]:
        """What it writes."""
        program, step = self.step.program, self.step
        found = []
        for o, value in zip(program.outputs, _values(program.outputs, self._node, self.sizes), strict=True):
            assert o.space in (SCALAR, KEPT, REDUCED, ELEMENT, SIDE, SECTION)
            dims = step.kept if not o.space & (REDUCED | SIDE | SECTION) else self.full
            dims = step.reduced if o.space == SIDE else dims
            dims = tuple(d for d in dims if o.space != SECTION or d not in self.inner)
            found.append(np.broadcast_to(value, tuple(n if d in dims else 1 for d, n in enumerate(self.sizes))))
        return found

    def _node(self, e: Expr, args: Sequence[Array]) -> Any:
        step, sizes, full = self.step, self.sizes, self.full
        if e.op == "input":
            return self._input(e)
        if e.op == "gather":
            return _gathered(*args)
        if e.op == "count":
            dims = step.counted if e.value is None else step.numbered[e.value]  # type: ignore[call-overload]
            return np.asarray(prod(sizes[d] for d in dims))
        if e.op == "iota":
            if e.value is None:
                (numbered,) = step.numbered
                return _numbers(numbered, step.reduced, sizes)
            numbered = step.numbered[e.value]  # type: ignore[call-overload]
            assert bool(e.space & KEPT) == bool(set(numbered) & set(step.kept))
            assert bool(e.space & REDUCED) == bool(set(numbered) & set(step.reduced))
            return _numbers(numbered, full, sizes)
        if e.op == "scan":
            assert isinstance(e.value, ScanGraph)
            return self._scanned(e.value, args)
        if e.op == "reduce":
            assert isinstance(e.value, MonoidGraph)
            over = {SIDE: step.kept, SECTION: self.inner}.get(e.space, step.reduced)
            return _folded(e.value, args, full, over, self.folded)
        return args[0] if e.op == "broadcast" else None

    def _input(self, e: Expr) -> Array:
        step = self.step
        value = self.held[step.inputs[e.value]]  # type: ignore[call-overload]
        assert value.dtype == e.dtype.numpy == step.program.inputs[e.value].numpy  # type: ignore[call-overload]
        if value.ndim > len(self.sizes):
            return value
        varies = {d for d, n in enumerate(value.shape) if n > 1}
        assert varies <= set(self.full)
        is_plain = not step.program.reads_again and not step.program.scan
        assert e.space == ELEMENT if is_plain else not varies & set(step.reduced) or e.space & REDUCED
        assert e.space == ELEMENT or not varies & set(step.kept) or e.space & KEPT
        return value

    def _scanned(self, scan: ScanGraph, args: Sequence[Array]) -> Any:
        """The states of a scan, element by element."""
        over, sizes = self.step.reduced, self.sizes
        shape = [n if d in self.full else 1 for d, n in enumerate(sizes)]
        rest = [1 if d in over else n for d, n in enumerate(shape)]
        moved = [np.moveaxis(np.broadcast_to(a, shape), over, range(len(over))) for a in args]
        rows = [m.reshape(prod(sizes[d] for d in over), *rest)[:: -1 if self.step.reverse else 1] for m in moved]
        neutral = graph_numpy.identity(scan.monoid)
        state = tuple(np.broadcast_to(v, r[0].shape) for v, r in zip(neutral, rows, strict=True))
        found: list[Any] = []
        for i in range(len(rows[0])):
            after = (
                tuple(r[0] for r in rows)
                if not i
                else graph_numpy.combine(scan.monoid, state, tuple(r[i] for r in rows))
            )
            found.append(state if scan.exclusive else after)
            state = after
        states = [np.stack(s)[:: -1 if self.step.reverse else 1] for s in zip(*found, strict=True)]
        return tuple(np.moveaxis(s.reshape(moved[0].shape), range(len(over)), over) for s in states)


def _values(roots: Sequence[Expr], leaf: Leaf, sizes: tuple[int, ...]) -> list[Array]:
    """The values of ``roots``; ``leaf`` gives those of nodes that are not elementwise, and None for all others."""
    known: dict[str, Any] = {}
    with np.errstate(all="ignore"):
        for e in walk(tuple(roots)):
            args = [known[a.digest] for a in e.args]
            if e.op == "result":
                known[e.digest] = args[0][e.value]
                continue
            found = leaf(e, args)
            if found is None:
                found = graph_numpy.node(e, args)
            known[e.digest] = found if isinstance(found, tuple) else _full(found, sizes).astype(e.dtype.numpy)
    return [known[r.digest] for r in roots]


def _full(value: Any, sizes: tuple[int, ...]) -> Array:
    value = np.asarray(value)
    return value.reshape((1,) * len(sizes)) if value.ndim == 0 else value


def _of_view(view: View, arrays: Sequence[Array], sizes: tuple[int, ...]) -> Array:
    """An array with the axes of all dims, and then the one that is gathered."""
    if view.gathered is not None:
        last = np.moveaxis(arrays[view.array], view.gathered, 0)
        axes = view.axes[: view.gathered] + view.axes[view.gathered + 1 :]
        each = [_of_view(View(0, axes), [x], sizes) for x in last]
        return np.stack(each, axis=-1) if each else np.zeros((*(1 for _ in sizes), 0), last.dtype)
    dims = [d for d in view.axes if d is not None]
    own = arrays[view.array].reshape(
        [n for n, d in zip(arrays[view.array].shape, view.axes, strict=True) if d is not None]
    )
    ordered = own.transpose(sorted(range(len(dims)), key=lambda i: dims[i]))
    return ordered.reshape([n if d in dims else 1 for d, n in enumerate(sizes)])


def _gathered(rows: Array, index: Array) -> Array:
    """The element of each row at its index, and 0 where there is none."""
    found: Array = np.zeros((), rows.dtype)
    for i in range(rows.shape[-1]):
        found = np.where(index == i, rows[..., i], found)
    return np.broadcast_to(found, np.broadcast_shapes(rows.shape[:-1], index.shape))


def _of_axes(value: Array, output: Output, sizes: tuple[int, ...]) -> Array:
    """A result as its caller gets it."""
    dims = [d for d in output.axes if d is not None]
    full = np.broadcast_to(value, [n if d in dims else 1 for d, n in enumerate(sizes)])
    ordered = full.reshape([sizes[d] for d in sorted(dims)]).transpose([sorted(dims).index(d) for d in dims])
    return ordered.reshape(output.shape(sizes)).astype(output.dtype.numpy)


def _numbers(dims: Sequence[int], among: Sequence[int], sizes: tuple[int, ...]) -> Array:
    """What the dims ``among`` contribute to the row-major numbers of the elements along ``dims``."""
    found: Array = np.zeros((1,) * len(sizes), np.int64)
    stride = 1
    for d in reversed(dims):
        if d in among:
            found = found + stride * np.arange(sizes[d]).reshape([-1 if i == d else 1 for i in range(len(sizes))])
        stride *= sizes[d]
    return found


def _folded(
    monoid: MonoidGraph, args: Sequence[Array], full: Sequence[int], over: Sequence[int], sizes: tuple[int, ...]
) -> Any:
    """The state of a fold over some dims of the elements along the dims ``full``."""
    shape = [n if d in full else 1 for d, n in enumerate(sizes)]
    rest = [1 if d in over else n for d, n in enumerate(shape)]
    count = prod(sizes[d] for d in over)
    states = []
    for a, neutral in zip(args, graph_numpy.identity(monoid), strict=True):
        moved = np.moveaxis(np.broadcast_to(a, shape), over, range(len(over))).reshape(count, *rest)
        padding = np.broadcast_to(neutral, ((1 << (count - 1).bit_length()) - count, *rest))  # up to a power of two
        states.append(np.concatenate([moved, padding]))
    return tuple(graph_numpy.tree(monoid, tuple(states)))
