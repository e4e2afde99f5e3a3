"""Array programs made by hand, and at random."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from warpfold.compiler.dtypes import F64, I64, DType
from warpfold.compiler.program.array_layouts import Output, View
from warpfold.compiler.program.array_program import ArrayProgram, Fold
from warpfold.compiler.program.graph import SCALAR, Expr, union
from warpfold.compiler.program.library.monoids import ARGMAX, MAX, SUM
from warpfold.compiler.program.monoid import Monoid, monoid


@monoid(identity=(1.0, 0.0), commutative=False)
def AFFINE(a: Any, b: Any) -> Any:  # noqa: N802 - a monoid is a value
    """The composition of maps x -> s x + t, whose order matters."""
    (s, t), (u, v) = a, b
    return s * u, t * u + v


class Maker:
    """Makes nodes over arrays with given dims; array i has one axis for each of its dims, in order."""

    def __init__(self, *arrays: Sequence[int], dtype: DType = F64) -> None:
        self.arrays = [tuple(a) for a in arrays]
        self.dtype = dtype
        self.views = [View(i, a) for i, a in enumerate(self.arrays)]
        self.outputs: list[Output] = []

    def array(self, i: int) -> Expr:
        return Expr("input", (), self.dtype, sum(1 << d for d in self.views[i].axes), i)

    def const(self, value: float) -> Expr:
        return Expr("const", (), self.dtype, SCALAR, float(value))

    def op(self, name: str, *args: Expr, dtype: DType | None = None) -> Expr:
        return Expr(name, args, dtype or args[-1].dtype, union(a.space for a in args))

    def fold(self, over: Sequence[int], m: Monoid, *args: Expr) -> list[Expr]:
        dims = sum(1 << d for d in over)
        graph = m.typed(*(a.dtype for a in args))
        order = () if graph.commutative else tuple(over)
        made = Expr("fold", args, args[0].dtype, union(a.space for a in args) & ~dims, Fold(graph, dims, order))
        return [Expr("result", (made,), a.dtype, made.space, i) for i, a in enumerate(args)]

    def count(self, over: Sequence[int], dtype: DType = F64) -> Expr:
        return Expr("count", (), dtype, SCALAR, sum(1 << d for d in over))

    def iota(self, dims: Sequence[int], dtype: DType = I64) -> Expr:
        return Expr("iota", (), dtype, sum(1 << d for d in dims), tuple(dims))

    def write(self, e: Expr, axes: Sequence[int]) -> None:
        self.outputs.append(Output(e, tuple(axes), e.dtype))

    def program(self, name: str = "made") -> ArrayProgram:
        count = 1 + max((d for a in self.arrays for d in a), default=-1)
        dims = [tuple((i, a.index(d)) for i, a in enumerate(self.arrays) if d in a) for d in range(count)]
        types = tuple(self.dtype for _ in self.arrays)
        return ArrayProgram(name, types, tuple(dims), tuple(self.views), tuple(self.outputs))


def softmax(dtype: DType = F64) -> ArrayProgram:
    m = Maker((0, 1), dtype=dtype)
    x = m.array(0)
    (greatest,) = m.fold([1], MAX, x)
    e = m.op("exp", m.op("sub", x, greatest))
    (total,) = m.fold([1], SUM, e)
    m.write(m.op("div", e, total), (0, 1))
    return m.program("softmax")


def batch_norm(dtype: DType = F64) -> ArrayProgram:
    """The columns of the array 0 standardised, with two passes, then scaled by the array 1."""
    m = Maker((0, 1), (1,), dtype=dtype)
    x, n = m.array(0), m.count([0], dtype)
    mean = m.op("div", m.fold([0], SUM, x)[0], n)
    centred = m.op("sub", x, mean)
    variance = m.op("div", m.fold([0], SUM, m.op("mul", centred, centred))[0], n)
    root = m.op("sqrt", m.op("add", variance, m.const(1e-5)))
    m.write(m.op("mul", m.op("div", centred, root), m.array(1)), (0, 1))
    m.write(mean, (1,))
    return m.program("batch_norm")


_UNARY, _BINARY = ("neg", "abs", "tanh"), ("add", "sub", "mul", "max")


def random_program(rng: random.Random) -> ArrayProgram:
    """A program of up to three dims, with folds of folds and results of any shape."""
    rank = rng.randint(1, 3)
    dims = list(range(rank))
    arrays = [dims, *(rng.sample(dims, rng.randint(0, rank)) for _ in range(rng.randint(0, 2)))]
    m = Maker(*arrays)
    values = [m.array(i) for i in range(len(arrays))]
    makers: list[Callable[[], Expr]] = [
        lambda: m.op(rng.choice(_UNARY), rng.choice(values)),
        lambda: m.op(rng.choice(_BINARY), rng.choice(values), rng.choice(values)),
        lambda: m.op("mul", rng.choice(values), m.op("div", m.const(1.0), m.count(_some(rng, dims)))),
        lambda: m.op("add", rng.choice(values), m.op("cast", m.iota(_some(rng, dims)), dtype=F64)),
        lambda: _random_fold(rng, m, dims, rng.choice(values)),
        lambda: _random_fold(rng, m, dims, m.op("tanh", m.op("mul", rng.choice(values), rng.choice(values)))),
    ]
    for _ in range(rng.randint(2, 12)):
        values.append(rng.choice(makers)())
    for e in rng.sample(values, min(len(values), rng.randint(1, 3))) + values[-1:]:
        own = [d for d in dims if e.space >> d & 1]
        axes = own + [d for d in dims if d not in own and rng.random() < 0.2]
        rng.shuffle(axes)
        m.write(e, axes)
    return m.program("random")


def _some(rng: random.Random, dims: Sequence[int]) -> list[int]:
    return rng.sample(dims, rng.randint(1, len(dims)))


def _random_fold(rng: random.Random, m: Maker, dims: Sequence[int], e: Expr) -> Expr:
    own = [d for d in dims if e.space >> d & 1] or list(dims)
    over = _some(rng, own if rng.random() < 0.9 else dims)
    kind = rng.choice((SUM, SUM, MAX, ARGMAX, AFFINE))
    if kind is ARGMAX:
        number = m.fold(over, ARGMAX, e, m.iota(sorted(over)))[1]
        return m.op("cast", number, dtype=F64)
    return m.fold(over, AFFINE, e, m.const(0.5))[1] if kind is AFFINE else m.fold(over, kind, e)[0]
