"""The steps of array programs evaluated with NumPy: the meaning that kernels are held against.

A value is an array with an axis for every dim of the program, of size 1 where it does not vary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from tests.compiler import graph_numpy
from warpfold.compiler.program.array_layouts import Output, View
from warpfold.compiler.program.array_program import ArrayProgram
from warpfold.compiler.program.cuts.steps import Operand, Step, Steps
from warpfold.compiler.program.graph import ELEMENT, KEPT, REDUCED, SCALAR, Expr, MonoidGraph, walk

Array = np.ndarray[Any, Any]
Leaf = Callable[[Expr, Sequence[Array]], Array | None]


def sizes_of(program: ArrayProgram, arrays: Sequence[Array]) -> tuple[int, ...]:
    """The size of every dim, which all its axes have."""
    found = []
    for axes in program.dims:
        sizes = {arrays[a].shape[i] for a, i in axes}
        assert len(sizes) == 1
        found.append(sizes.pop())
    return tuple(found)


def with_slices(program: ArrayProgram, arrays: Sequence[Array]) -> list[Array]:
    """The arrays, and their slices."""
    found = list(arrays)
    for s in program.slices:
        assert len(s.sizes) == 1
        found.append(found[s.array][(slice(None),) * s.axis + (slice(s.start, s.stop, s.step),)])
    return found


def run(steps: Steps, program: ArrayProgram, arrays: Sequence[Array]) -> list[Array]:
    """The results of the steps of a program, each of which may read only what was written before."""
    arrays = with_slices(program, arrays)
    sizes = sizes_of(program, arrays)
    held: dict[Operand, Array] = {
        Operand("view", i): _of_view(v, arrays, sizes) for i, v in enumerate(program.views)
    }  # fmt: skip
    for step in steps.steps:
        for operand, value in zip(step.outputs, _step(step, held, sizes), strict=True):
            assert operand not in held
            held[operand] = value
    for i, b in enumerate(steps.buffers):
        value = held[Operand("buffer", i)]
        assert value.shape == tuple(n if d in b.dims else 1 for d, n in enumerate(sizes))
        assert value.dtype == b.dtype.numpy
    return [_of_axes(held[Operand("output", i)], o, sizes) for i, o in enumerate(program.outputs)]


def _step(step: Step, held: dict[Operand, Array], sizes: tuple[int, ...]) -> list[Array]:
    full = (*step.kept, *step.reduced)
    is_plain = len(step.program.reduces) == 1 and not any(o.space & REDUCED for o in step.program.outputs)

    def node(e: Expr, args: Sequence[Array]) -> Array | None:
        if e.op == "input":
            value = held[step.inputs[e.value]]  # type: ignore[call-overload]
            assert value.dtype == e.dtype.numpy == step.program.inputs[e.value].numpy  # type: ignore[call-overload]
            if value.ndim > len(sizes):
                return value
            varies = {d for d, n in enumerate(value.shape) if n > 1}
            assert varies <= set(full)
            assert e.space == ELEMENT if is_plain else not varies & set(step.reduced) or e.space & REDUCED
            assert e.space == ELEMENT or not varies & set(step.kept) or e.space & KEPT
            return value
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
        if e.op == "reduce":
            assert isinstance(e.value, MonoidGraph)
            return _folded(e.value, args, full, step.reduced, sizes)
        if e.op == "broadcast":
            return args[0]
        return None

    found = []
    for o, value in zip(step.program.outputs, _values(step.program.outputs, node, sizes), strict=True):
        dims = full if o.space & REDUCED else step.kept
        found.append(np.broadcast_to(value, tuple(n if d in dims else 1 for d, n in enumerate(sizes))))
    assert all(o.space in (SCALAR, KEPT, REDUCED, ELEMENT) for o in step.program.outputs)
    return found


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
    return ordered.reshape([1 if d is None else sizes[d] for d in output.axes]).astype(output.dtype.numpy)


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
