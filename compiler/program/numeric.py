"""Graph nodes computed by NumPy: the meaning of each elementwise operation, for references and for checking laws."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import F32, DType
from .function_table import TABLE
from .graph import Expr, MonoidGraph, walk

Array = np.ndarray[Any, Any]


def fma(a: Array, b: Array, c: Array) -> Array:
    """``a * b + c`` in float64 with the product exact, as the type of the operands; in wider types as they round.

    The product as a sum of two: T. J. Dekker, "A floating-point technique", Numerische Mathematik 18 (1971).
    """
    if np.result_type(a, b, c) == np.longdouble:
        return np.asarray(a * b + c)
    x, y, z = (np.asarray(v, np.float64) for v in (a, b, c))
    product = x * y
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    product_low = x_low * y_low - (((product - x_high * y_high) - x_low * y_high) - x_high * y_low)
    total = product + z
    z_part = total - product
    total_low = (product - (total - z_part)) + (z - z_part)
    low = total_low + product_low
    return np.where(np.isfinite(low), total + low, total).astype(np.result_type(a, b, c))


def _halves(x: Array) -> tuple[Array, Array]:
    """``x`` as a sum of two numbers of at most 26 bits."""
    shifted = x * (2.0**27 + 1)
    high = shifted - (shifted - x)
    return high, x - high


def rsqrt(x: Array) -> Array:
    """1 / sqrt(x)."""
    return 1 / np.sqrt(x)


def erf(x: Array) -> Array:
    """The error function, as the type of ``x``."""
    values = np.asarray(x)
    return np.array([math.erf(v) for v in values.reshape(-1)]).reshape(values.shape).astype(values.dtype)


def integer_power(a: Array, n: Array) -> Array:
    """``a ** n`` modulo the width; what 1 / a^-n is without its fraction for a negative ``n``, and 0 for 0."""
    whole = np.power(a, np.maximum(n, 0))
    inverse = np.where((a == 1) | (a == -1), np.where(n % 2 == 0, 1, a), 0)
    return np.where(n < 0, inverse, whole).astype(np.result_type(a, n))


def to_integer(x: Array, t: np.dtype[Any]) -> Array:
    """Floats without their fraction; the nearest bound beyond the range of ``t``, 0 for NaN."""
    info, value = np.iinfo(t), np.trunc(np.asarray(x, np.float64))
    above, below = value >= float(info.max + 1), value < float(info.min)
    inside = np.where(above | below | np.isnan(value), 0, value).astype(t)
    return np.where(above, t.type(info.max), np.where(below, t.type(info.min), inside))


ROUNDS = 10
"""The rounds of Philox 4x32-10."""


def philox4x32(counter: Sequence[Array], key: Sequence[Array]) -> list[Array]:
    """The four words that Philox 4x32-10 makes of the four words of a counter and the two of a key, all uint32.

    J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """
    words, keys = [np.asarray(c, np.uint64) for c in counter], [np.asarray(k, np.uint64) for k in key]
    low = np.uint64(2**32 - 1)
    for _ in range(ROUNDS):
        first, second = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        high = [p >> np.uint64(32) for p in (first, second)]
        words = [high[1] ^ words[1] ^ keys[0], second & low, high[0] ^ words[3] ^ keys[1], first & low]
        steps = (np.uint64(0x9E3779B9), np.uint64(0xBB67AE85))
        keys = [k + step & low for k, step in zip(keys, steps, strict=True)]
    return [w.astype(np.uint32) for w in words]


def philox(number: Array, seed: Array, offset: Array) -> Array:
    """The word ``number % 4`` of the counter ``number / 4 + offset * 2^64``, with the key ``seed``."""
    place = np.asarray(number, np.uint64)
    counter = [*_words(place >> np.uint64(2)), *_words(offset)]
    return np.choose((place % np.uint64(4)).astype(np.intp), np.broadcast_arrays(*philox4x32(counter, _words(seed))))


def _words(x: Array) -> tuple[Array, Array]:
    """The low and the high word of uint64."""
    return np.asarray(x, np.uint64) & np.uint64(2**32 - 1), np.asarray(x, np.uint64) >> np.uint64(32)


FUNCTIONS = {row.name: globals().get(row.name) or getattr(np, row.numpy or row.name) for row in TABLE}
"""Those of the table of functions."""
_OPS: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "floordiv": np.floor_divide,
    "min": np.minimum, "max": np.maximum, "neg": np.negative, "abs": np.abs, "floor": np.floor, "ceil": np.ceil,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "shl": np.left_shift, "shr": np.right_shift,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "where": np.where, "fma": fma, "mod": np.remainder, "ipow": integer_power, "round": np.rint, "philox": philox,
    "popcount": np.bitwise_count, **FUNCTIONS,
}  # fmt: skip


def wide(t: DType) -> np.dtype[Any]:
    """The type in which folded values of ``t`` are kept here."""
    return np.dtype(np.float64) if t.is_float else t.numpy


def apply(e: Expr, args: list[Array], t: np.dtype[Any]) -> Array:
    """An elementwise node or a constant, as type ``t``."""
    if e.op == "const":
        return np.asarray(e.value, t)
    if e.op == "bitcast":
        bits = _as_computed(e.args[0], np.asarray(args[0], e.args[0].dtype.numpy))
        return bits.view(e.dtype.numpy).astype(t, copy=False)
    if e.op == "word":
        from .words import arithmetic  # which is made of functions, whose meaning is here

        made = arithmetic(e)
        found = evaluate((made,), lambda p: np.asarray(args[p.value], p.dtype.numpy), lambda d: d.numpy)  # type: ignore[call-overload]
        return found[made.digest].astype(t, copy=False)
    value = args[0] if e.op == "cast" else _OPS[e.op](*args)
    if t.kind in "iu" and value.dtype.kind not in "iub":
        return to_integer(value, t)
    return np.asarray(value).astype(t, copy=False)


def _as_computed(e: Expr, value: Array) -> Array:
    """The node's value with the NaN that arithmetic on f32 makes on a GPU, which is 0x7fffffff whatever came in."""
    if e.dtype != F32 or e.op not in ("add", "sub", "mul", "div", "fma"):
        return value
    return np.where(np.isnan(value), np.uint32(0x7FFFFFFF).view(np.float32), value)


def evaluate(
    roots: Sequence[Expr], leaf: Callable[[Expr], Array], kind: Callable[[DType], np.dtype[Any]]
) -> dict[str, Array]:
    """The value of every node below ``roots``, by digest.

    Args:
        roots: expressions.
        leaf: gives the value of each node that is neither an elementwise operation nor a constant.
        kind: the type in which to compute values of each element type.
    """
    memo: dict[str, Array] = {}
    for e in walk(tuple(roots)):
        known = e.args or e.op == "const"
        memo[e.digest] = apply(e, [memo[a.digest] for a in e.args], kind(e.dtype)) if known else leaf(e)
    return memo


def combine(graph: MonoidGraph, left: Sequence[Array], right: Sequence[Array]) -> list[Array]:
    """The combined state of two, elementwise over arrays of states."""
    params = [*left, *right]
    memo = evaluate(graph.combine, lambda e: params[e.value], wide)  # type: ignore[call-overload]
    return [np.broadcast_to(memo[e.digest], left[0].shape) for e in graph.combine]
