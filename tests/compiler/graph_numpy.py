"""Expression graphs evaluated with NumPy: the reference for emitted code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from warpfold.compiler.dtypes import STORED, dtype
from warpfold.compiler.program.graph import SCALAR, Expr, MonoidGraph, Program, walk
from warpfold.compiler.program.numeric import FUNCTIONS, fma, integer_power, to_integer
from warpfold.compiler.program.tracing import Nan, Traced, nest, trace
from warpfold.compiler.program.words import arithmetic

State = tuple[Any, ...]

_OPS: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "floordiv": np.floor_divide,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "shl": np.left_shift, "shr": np.right_shift,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
    "neg": np.negative, "abs": np.abs, "where": np.where, "min": np.minimum, "max": np.maximum,
    "floor": np.floor, "ceil": np.ceil, "round": np.rint, "fma": fma, "mod": np.remainder, "ipow": integer_power,
    **FUNCTIONS,
}  # fmt: skip


def node(e: Expr, args: Sequence[Any]) -> Any:
    """The value of an elementwise node or a constant; its type must be the node's."""
    t = e.dtype.numpy
    if e.op == "const":
        return np.asarray(e.value).astype(t)
    if e.op == "bitcast":
        return np.asarray(args[0]).view(t)
    if e.op == "word":
        params = (Expr("param", (), a.dtype, SCALAR, i) for i, a in enumerate(e.args))
        return evaluate((arithmetic(e),), {p.digest: a for p, a in zip(params, args, strict=True)})[0]
    if e.op == "cast" and e.dtype.is_integer and e.args[0].dtype.is_float:
        return to_integer(args[0], t)
    value = np.asarray(args[0]).astype(t) if e.op == "cast" else np.asarray(_OPS[e.op](*args))
    assert value.dtype == t, f"{e.op} on {[a.dtype for a in args]} gives {value.dtype}, the graph says {t}"
    return value


def evaluate(roots: Sequence[Expr], known: dict[str, Any]) -> State:
    """The values of ``roots``, given those of their leaves by digest."""
    values = dict(known)
    with np.errstate(all="ignore"):
        for e in walk(tuple(roots)):
            if e.digest not in values:
                values[e.digest] = node(e, [values[a.digest] for a in e.args])
    return tuple(values[r.digest] for r in roots)


def combine(graph: MonoidGraph, left: State, right: State) -> State:
    """The traced combine, applied to two states of scalars or of arrays of equal shape."""
    types = graph.state + graph.state
    params = [Expr("param", (), t, SCALAR, i) for i, t in enumerate(types)]
    values = [np.asarray(v, dtype=t.numpy) for v, t in zip((*left, *right), types, strict=True)]
    return evaluate(graph.combine, {p.digest: v for p, v in zip(params, values, strict=True)})


def identity(graph: MonoidGraph) -> State:
    return tuple(np.asarray(v).astype(t.numpy) for v, t in zip(graph.identity, graph.state, strict=True))


def tree(graph: MonoidGraph, states: State) -> State:
    """Reduces arrays of states along their first axis, neighbours first, in order; the identity when there are none."""
    neutral = identity(graph)
    while (n := len(states[0])) > 1:
        if n % 2:
            states = tuple(np.append(s, i[None]) for s, i in zip(states, neutral, strict=True))
        states = combine(graph, tuple(s[0::2] for s in states), tuple(s[1::2] for s in states))
    return tuple(s[0] for s in states) if len(states[0]) else neutral


def run(program: Program, *inputs: Any, numbers: Any = None) -> State:
    """A whole program on one-dimensional arrays, reducing all elements; ``numbers`` are theirs, by default 0, 1, ..."""
    n = len(inputs[0])
    known: dict[str, Any] = {}
    with np.errstate(all="ignore"):
        for e in walk(program.outputs):
            if e.op == "input":
                value = np.asarray(inputs[e.value])  # type: ignore[call-overload]
            elif e.op == "iota":
                value = (np.arange(n) if numbers is None else numbers).astype(e.dtype.numpy)
            elif e.op == "count":
                value = np.asarray(n, dtype=e.dtype.numpy)
            elif e.op == "reduce":
                assert isinstance(e.value, MonoidGraph)
                value = tree(e.value, tuple(np.broadcast_to(known[a.digest], (n,)) for a in e.args))
            elif e.op == "result":
                value = known[e.args[0].digest][e.value]
            else:
                value = node(e, [known[a.digest] for a in e.args])
            known[e.digest] = value
    return tuple(known[o.digest] for o in program.outputs)


def _split(x: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """The parts of an array, which kernels see in its place."""
    t = dtype(x.dtype)
    if t.kind == "complex":
        return [x.real, x.imag]
    return [x.view(np.uint8)] if t in STORED else [x]


def results(traced: Traced, *arrays: Any) -> tuple[Any, tuple[bool, ...]]:
    """What a caller gets for one-dimensional arrays (a mask last), and the conditions of the checks."""
    values = iter(run(traced.program, *(p for a in arrays for p in _split(np.asarray(a)))))
    leaves = []
    for t in traced.results:
        value = np.asarray(next(values))
        if t.kind == "complex":
            value = np.stack([value, next(values)]).view(t.numpy)[0]
        leaves.append(value)
    return nest(traced.structure, leaves), tuple(bool(flag) for flag in values)


def call(function: Callable[..., Any], *arrays: Any, where: Any = None, nan: Nan = "propagate", **params: Any) -> Any:
    """``function`` traced for one-dimensional arrays and evaluated; no check may fail."""
    given = [np.asarray(a) for a in (*arrays, *(() if where is None else (where,)))]
    types = [dtype(a.dtype) for a in given]
    found, failed = results(trace(function, types, params, masked=where is not None, nan=nan, wide=False), *given)
    assert not any(failed), "a check came out true"
    return found
