"""Graph nodes computed by NumPy: the meaning of each elementwise operation, for references and for checking laws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .dtypes import DType
from .graph import Expr, MonoidGraph, walk

Array = np.ndarray[Any, Any]

_OPS: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "floordiv": np.floor_divide,
    "min": np.minimum, "max": np.maximum, "neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "exp": np.exp,
    "log": np.log, "floor": np.floor, "ceil": np.ceil, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "shl": np.left_shift, "shr": np.right_shift, "eq": np.equal, "ne": np.not_equal,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "where": np.where,
}  # fmt: skip


def wide(t: DType) -> np.dtype[Any]:
    """The type in which folded values of ``t`` are kept here."""
    return np.dtype(np.float64) if t.is_float else t.numpy


def apply(e: Expr, args: list[Array], t: np.dtype[Any]) -> Array:
    """An elementwise node or a constant, as type ``t``."""
    if e.op == "const":
        return np.asarray(e.value, t)
    value = args[0] if e.op == "cast" else _OPS[e.op](*args)
    if t.kind in "iu" and value.dtype.kind == "f":
        value = np.trunc(value)
    return np.asarray(value).astype(t, copy=False)


def combine(graph: MonoidGraph, left: Sequence[Array], right: Sequence[Array]) -> list[Array]:
    """The combined state of two, elementwise over arrays of states."""
    params = [*left, *right]
    memo: dict[str, Array] = {}
    for e in walk(graph.combine):
        memo[e.digest] = (
            params[e.value] if e.op == "param" else apply(e, [memo[a.digest] for a in e.args], wide(e.dtype))  # type: ignore[call-overload]
        )
    return [np.broadcast_to(memo[e.digest], left[0].shape) for e in graph.combine]
