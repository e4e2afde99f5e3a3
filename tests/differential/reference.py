"""What every built-in reduction is, in NumPy, and how far a result may lie from it.

Floats are computed in longdouble (f64 and c128) or float64 (all others), integers in 64 bits, which wrap around.
Nothing here knows of plans, so each bound holds for any order of the combines. Let ``u`` be the unit roundoff of the
type that accumulates (2^-24 for f16, bf16, f8 and f32, 2^-53 for f64), ``n`` the elements of one result and A the sum
of their magnitudes. A result may differ

- by nothing: integers, truth values, min, max, positions, counts; sums whose terms are whole numbers with A <= 1/u,
  which no order of additions rounds (the ``whole`` elements are made for this: an element lost or read twice always
  shows);
- sums: by n u A (Higham, "Accuracy and Stability of Numerical Algorithms", 4.2); compensated: 2 u |s| + (2 n u)^2 A;
- products: by n u |p|, plus what underflow loses;
- the mean of Welford's update by e = (n + 4) u max|x|, its squares S by 4 (n + 4) u S + 2 e sqrt(n S) + n e^2 (each
  update multiplies two differences from means that are off by e);
- logsumexp by (4 n + 8) u + 4 u |result|;
- powers: (n + 16) u of the sum of |x|^p, 1/p of that after the root, and 8 u more.

Divisions, roots and sums after the fold add 2 u each. Then both ends of the interval are rounded to the type of the
result, and the result must lie between: so a result that is exact before rounding must be the one nearest value. NaN
must be where NumPy has it. min and max order -0 before +0 (NumPy leaves it open); a sum's zero may have either sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpfold.compiler.dtypes import BOOL, C64, C128, F32, F64, I64, DType, accumulator, dtype, floating

Array = np.ndarray[Any, Any]
_BITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}


@dataclass(frozen=True)
class Rows:
    """The elements of each result: arrays of [results][elements], in wide types, and which of them take part.

    Attributes:
        arrays: the inputs.
        mask: which elements take part.
        types: what the inputs' types were.
    """

    arrays: tuple[Array, ...]
    mask: Array
    types: tuple[DType, ...]

    @property
    def x(self) -> Array:
        return self.arrays[0]

    @property
    def t(self) -> DType:
        return self.types[0]

    @property
    def n(self) -> Array:
        return self.mask.sum(axis=1)

    def kept(self, neutral: Any, values: Array | None = None) -> Array:
        """``values`` (the first array) with ``neutral`` for elements that do not take part."""
        return np.where(self.mask, self.x if values is None else values, neutral)


@dataclass(frozen=True)
class Expected:
    """One result.

    Attributes:
        value: its values, one per row.
        off: how far off they may be before the last rounding.
        dtype: its type.
        signed: whether a zero must have its sign.
    """

    value: Array
    off: Array | float
    dtype: DType
    signed: bool = False


Arguments = dict[str, Any]
Function = Callable[[Rows, Arguments], list[Expected]]


def unit(t: DType) -> float:
    """The unit roundoff of a float type, or of a complex type's parts."""
    return 2.0 ** -_BITS[(t.part if t.kind == "complex" else t).name]


def rows(arrays: Sequence[Array], mask: Array | None, axes: Sequence[int]) -> Rows:
    """The rows of broadcast ``arrays``; reduced axes in the caller's row-major order."""
    types = tuple(dtype(a.dtype) for a in arrays)
    shape = arrays[0].shape
    full = np.ones(shape, bool) if mask is None else np.broadcast_to(mask, shape)
    kept = [a for a in range(len(shape)) if a not in axes]
    flat = (math.prod(shape[a] for a in kept), math.prod(shape[a] for a in axes))
    moved = [a.transpose([*kept, *axes]).reshape(flat) for a in (*(wide(a) for a in arrays), full)]
    return Rows(tuple(moved[:-1]), moved[-1], types)


def wide(a: Array) -> Array:
    """``a`` in a type in which its sums are as good as exact, or wrap around like those of 64 bits."""
    t = dtype(a.dtype)
    if t.kind == "complex":
        return a.astype(np.clongdouble)
    if t.is_float:
        return a.astype(np.longdouble if t == F64 else np.float64)
    return a.astype(np.uint64 if t.kind == "uint" else np.int64)


def wider(t: DType) -> np.dtype[Any]:
    """The type in which ``wide`` holds elements of ``t``."""
    return wide(np.empty(0, t.numpy)).dtype


def real(x: Array) -> Array:
    """Integers as floats that hold them."""
    return x.astype(np.longdouble) if x.dtype.kind in "iu" else x


def ignoring_nan(r: Rows) -> Rows:
    """The same without elements that are NaN in any array."""
    mask = r.mask
    for a in r.arrays:
        mask = mask & ~np.isnan(a) if a.dtype.kind in "fc" else mask
    return Rows(r.arrays, mask, r.types)


# --- sums ----------------------------------------------------------------------------------------------------------
def total(terms: Array, n: Array, u: float, how: Arguments, roundings: int = 0) -> tuple[Array, Array]:
    """The sum of ``terms`` and its error; each term was rounded ``roundings`` times."""
    s = terms.sum(axis=1)
    size = np.abs(terms).sum(axis=1)
    if how.get("accumulate") == "compensated":
        return s, 2 * u * np.abs(s) + (2 * (n + 2) * u) ** 2 * size
    whole = (terms == np.rint(terms)).all(axis=1) & (size <= 1 / u)
    return s, np.where(whole, 0, (n + roundings) * u * size)


def sum_type(r: Rows, how: Arguments) -> tuple[DType, DType]:
    """The type of a sum, and the one in which it accumulates."""
    given, accumulate = how.get("dtype"), how.get("accumulate", "compensated")
    result = dtype(given) if given else r.t if r.t.is_float or r.t.kind == "complex" else accumulator(r.t)
    return result, accumulator(result) if accumulate == "compensated" else dtype(accumulate)


def converted(r: Rows, acc: DType) -> Array:
    """The elements in the accumulator's kind of number; integers as floats where floats accumulate."""
    if acc.is_integer:
        return r.kept(0).astype(np.uint64 if acc.kind == "uint" else np.int64)
    return r.kept(0, real(r.x).astype(acc.numpy).astype(wider(acc)))


def by_parts(f: Function) -> Function:
    """``f``, which is linear: of complex numbers the results of both parts."""

    def both(r: Rows, how: Arguments) -> list[Expected]:
        if r.t.kind != "complex":
            return f(r, how)
        own = how | ({"dtype": dtype(how["dtype"]).part.name} if how.get("dtype") else {})
        re = f(Rows((r.x.real,), r.mask, (r.t.part,)), own)[0]
        im = f(Rows((r.x.imag,), r.mask, (r.t.part,)), {k: v for k, v in own.items() if k != "initial"})[0]
        return [Expected(pair(re.value, im.value), pair(re.off, im.off), C64 if re.dtype == F32 else C128)]

    return both


def pair(re: Array | float, im: Array | float) -> Array:
    """Two parts as complex numbers; 1j times an infinity would be no infinity."""
    found = np.empty(np.broadcast_shapes(np.shape(re), np.shape(im)), np.clongdouble)
    found.real, found.imag = re, im
    return found


@by_parts
def sum_(r: Rows, how: Arguments) -> list[Expected]:
    result, acc = sum_type(r, how)
    x = converted(r, acc)
    if acc.is_integer:
        first = np.array(how.get("initial", 0)).astype(x.dtype)
        return [Expected(x.sum(axis=1) + first, 0, result)]
    if "initial" in how:
        x = np.concatenate([np.full((len(x), 1), how["initial"], x.dtype), x], axis=1)
    return [Expected(*total(x, r.n + 1, unit(acc), how), result)]


def prod(r: Rows, how: Arguments) -> list[Expected]:
    result, acc = sum_type(r, how)
    x = r.kept(1).astype(np.uint64 if acc.kind == "uint" else np.int64) if acc.is_integer else r.kept(1, real(r.x))
    value = x.prod(axis=1) * np.array(how.get("initial", 1)).astype(x.dtype)
    if acc.is_integer:
        return [Expected(value, 0, result)]
    size = np.abs(x)
    exact = (np.frexp(size)[0] == 0.5).all(axis=1) if x.dtype.kind == "f" else np.isin(size, (0, 1)).all(axis=1)
    steps = 3 if x.dtype.kind == "c" else 1
    return [Expected(value, np.where(exact, 0, steps * (r.n + 1) * unit(acc) * np.abs(value) + 1e-37), result)]


@by_parts
def mean(r: Rows, how: Arguments) -> list[Expected]:
    given = how.get("dtype")
    result = dtype(given) if given else floating(r.t)
    _, acc = sum_type(r, {**how, "dtype": result.name})
    s, off = total(converted(r, acc), r.n, unit(acc), how)
    value = s / r.n
    return [Expected(value, off / np.maximum(r.n, 1) + 2 * unit(acc) * np.abs(value), result)]


def dot(r: Rows, how: Arguments) -> list[Expected]:
    result = dtype(np.result_type(*(t.numpy for t in r.types)))
    x, y = r.arrays
    if result == BOOL:
        return [Expected((r.kept(0, x * y) != 0).any(axis=1), 0, BOOL)]
    if result.is_integer:
        kind = np.uint64 if result.kind == "uint" else np.int64
        return [Expected(r.kept(0, x.astype(kind) * y.astype(kind)).sum(axis=1), 0, result)]
    accumulate = how.get("accumulate", "compensated")
    acc = accumulator(result) if accumulate == "compensated" else dtype(accumulate)
    x, y = (real(a) if a.dtype.kind in "fc" else a.astype(result.numpy).astype(wider(result)) for a in r.arrays)
    u, products = unit(acc), r.kept(0, x * y)
    if products.dtype.kind != "c":
        s, off = total(products, r.n, u, how, roundings=2)
        return [Expected(s, off + tiny(r, acc), result)]
    sizes = r.kept(0, np.abs(x) * np.abs(y)).sum(axis=1)
    return [Expected(products.sum(axis=1), (r.n + 4) * u * 2 * sizes, result)]


def vecdot(r: Rows, how: Arguments) -> list[Expected]:
    x, y = r.arrays
    return dot(Rows((np.conjugate(x), y), r.mask, r.types), how)


def tiny(r: Rows, acc: DType) -> Array:
    """What n products may lose by underflow."""
    return r.n * (2.0**-149 if acc.name in ("f32", "c64") else 0.0)


def norm(r: Rows, how: Arguments) -> list[Expected]:
    p = float(how.get("ord", 2.0))
    result = floating(r.t)
    result = result.part if result.kind == "complex" else result
    acc = F64 if how.get("accumulate") == "f64" else accumulator(result)
    u, size = unit(acc), np.abs(real(r.x).astype(acc.numpy) if r.t.is_integer else real(r.x))
    rounding = 4 if r.t.kind == "complex" and p != 2 else 0  # of the modulus
    if p == 0:
        return [Expected((r.kept(0, r.x) != 0).sum(axis=1).astype(float), 0, result)]
    if math.isinf(p):
        pick = np.max if p > 0 else np.min
        value = pick(r.kept(-math.inf if p > 0 else math.inf, size), axis=1)
        return [Expected(np.where(r.n == 0, np.nan, value), rounding * u * np.abs(value), result)]
    if p == 1:
        s, off = total(r.kept(0, size), r.n, u, how, rounding)
        return [Expected(s, off, result)]
    s, off = total(r.kept(0, size**p), r.n, u, how, roundings=2 if p == 2 else 16)
    off = np.where(np.isfinite(s), off + tiny(r, acc), 0)
    value = s ** (1 / np.longdouble(p)) if r.x.dtype == np.longdouble else s ** (1 / p)
    ends = [np.maximum(s + sign * off, 0) ** (1 / p) for sign in (-1, 1)]
    spread = np.maximum(*(np.abs(e - value) for e in ends))
    return [Expected(value, spread + (1 if p == 2 else 8) * u * np.abs(value), result)]


# --- extremes ------------------------------------------------------------------------------------------------------
def extreme(r: Rows, which: str, how: Arguments) -> Array:
    """min or max: NaN if any is NaN, -0 below +0; NaN of nothing."""
    x = r.x
    if "initial" in how:
        x = np.concatenate([x, np.full((len(x), 1), how["initial"], x.dtype)], axis=1)
        r = Rows((x,), np.pad(r.mask, ((0, 0), (0, 1)), constant_values=True), r.types)
    pick = np.min if which == "min" else np.max
    if r.x.dtype.kind != "f":
        info = np.iinfo(r.x.dtype)
        return pick(r.kept(info.max if which == "min" else info.min), axis=1)
    value = pick(r.kept(math.inf if which == "min" else -math.inf), axis=1)
    negative = ((r.x == 0) & np.signbit(r.x) & r.mask).any(axis=1)
    positive = ((r.x == 0) & ~np.signbit(r.x) & r.mask).any(axis=1)
    minus = negative if which == "min" else ~positive
    value = np.where(value == 0, np.where(minus, -0.0, 0.0), value)
    return np.where(r.n == 0, np.nan, value)


def minimum(r: Rows, how: Arguments) -> list[Expected]:
    return [Expected(extreme(r, "min", how), 0, r.t, signed=True)]


def maximum(r: Rows, how: Arguments) -> list[Expected]:
    return [Expected(extreme(r, "max", how), 0, r.t, signed=True)]


def minmax(r: Rows, how: Arguments) -> list[Expected]:
    return [*minimum(r, how), *maximum(r, how)]


def ptp(r: Rows, how: Arguments) -> list[Expected]:
    value = extreme(r, "max", how) - extreme(r, "min", how)
    off = np.abs(value) * unit(accumulator(r.t)) if r.t.is_float else 0
    return [Expected(value, off, r.t)]


def position(r: Rows, which: str) -> Array:
    """Where the extreme is among the elements that take part: the first NaN, else the first of equals."""
    best = extreme(r, which, {})[:, None]
    found = (r.x == best) & r.mask
    if r.x.dtype.kind == "f":
        found = np.where(np.isnan(best), np.isnan(r.x) & r.mask, found)
    return np.argmax(found, axis=1)


def argmin(r: Rows, how: Arguments) -> list[Expected]:  # noqa: ARG001
    return [Expected(position(r, "min"), 0, I64)]


def argmax(r: Rows, how: Arguments) -> list[Expected]:  # noqa: ARG001
    return [Expected(position(r, "max"), 0, I64)]


# --- truth ---------------------------------------------------------------------------------------------------------
def any_(r: Rows, how: Arguments) -> list[Expected]:  # noqa: ARG001
    return [Expected(r.kept(False, r.x != 0).any(axis=1), 0, BOOL)]


def all_(r: Rows, how: Arguments) -> list[Expected]:  # noqa: ARG001
    return [Expected(r.kept(True, r.x != 0).all(axis=1), 0, BOOL)]


def count_nonzero(r: Rows, how: Arguments) -> list[Expected]:  # noqa: ARG001
    return [Expected(r.kept(False, r.x != 0).sum(axis=1), 0, I64)]


def array_equal(r: Rows, how: Arguments) -> list[Expected]:
    x, y = r.arrays
    same = x == y
    if how.get("equal_nan"):
        same |= (x != x) & (y != y)
    return [Expected(r.kept(True, same).all(axis=1), 0, BOOL)]


def allclose(r: Rows, how: Arguments) -> list[Expected]:
    x, y = (real(a) for a in r.arrays)
    rtol, atol = how.get("rtol", 1e-5), how.get("atol", 1e-8)
    close = np.isclose(x, y, rtol=rtol, atol=atol, equal_nan=how.get("equal_nan", False))
    return [Expected(r.kept(True, close).all(axis=1), 0, BOOL)]


# --- moments -------------------------------------------------------------------------------------------------------
def moments(r: Rows, how: Arguments) -> tuple[Array, Array, Array, Array, float, DType]:
    """(mean, its error, variance, its error, unit roundoff, type)."""
    given = how.get("dtype")
    result = dtype(given) if given else floating(r.t)
    _, acc = sum_type(r, {**how, "dtype": result.name})
    u, n, x = unit(acc), r.n, r.kept(0, real(r.x).astype(wider(acc)))
    m = x.sum(axis=1) / n
    squares = (r.kept(0, x - m[:, None]) ** 2).sum(axis=1)
    e = np.where(n > 1, (n + 4) * u * np.abs(x).max(axis=1, initial=0), u * np.abs(m))
    off = 4 * (n + 4) * u * squares + np.where(n > 1, 2 * e * np.sqrt(n * squares) + n * e**2, 0)
    divisor = n - float(how.get("correction", 0.0))
    safe = np.where(divisor > 0, divisor, np.nan)
    return m, e, squares / safe, off / safe + 2 * u * squares / safe, u, result


def var(r: Rows, how: Arguments) -> list[Expected]:
    _, _, value, off, _, result = moments(r, how)
    return [Expected(value, off, result)]


def std(r: Rows, how: Arguments) -> list[Expected]:
    _, _, value, off, u, result = moments(r, how)
    s = np.sqrt(value)
    spread = np.maximum(np.sqrt(value + off) - s, s - np.sqrt(np.maximum(value - off, 0)))
    return [Expected(s, spread + 2 * u * s, result)]


def mean_var(r: Rows, how: Arguments) -> list[Expected]:
    m, e, value, off, _, result = moments(r, how)
    return [Expected(m, e, result), Expected(value, off, result)]


def logsumexp(r: Rows, how: Arguments) -> list[Expected]:  # noqa: ARG001
    u, x = unit(accumulator(floating(r.t))), r.kept(-math.inf, real(r.x))
    m = x.max(axis=1, initial=-math.inf)
    safe = np.where(np.isfinite(m), m, 0)
    value = safe + np.log(np.exp(x - safe[:, None]).sum(axis=1))
    return [Expected(np.where(np.isfinite(m), value, m), (4 * r.n + 8) * u + 4 * u * np.abs(value), floating(r.t))]


def describe(r: Rows, how: Arguments) -> list[Expected]:
    m, e, value, off, _, result = moments(r, how)
    return [
        Expected(r.n, 0, I64), *count_nonzero(r, {}), *minmax(r, {}), *argmin(r, {}), *argmax(r, {}),
        Expected(m, e, result), Expected(value, off, result), *std(r, how), *norm(r, {}),
    ]  # fmt: skip


def without_nan(f: Function) -> Function:
    return lambda r, how: f(ignoring_nan(r), how)


REFERENCE: dict[str, Function] = {
    "sum": sum_, "prod": prod, "min": minimum, "max": maximum, "minmax": minmax, "ptp": ptp, "argmin": argmin,
    "argmax": argmax, "any": any_, "all": all_, "count_nonzero": count_nonzero, "mean": mean, "var": var, "std": std,
    "mean_var": mean_var, "norm": norm, "logsumexp": logsumexp, "dot": dot, "vecdot": vecdot, "allclose": allclose,
    "array_equal": array_equal, "describe": describe,
    **{f"nan{n}": without_nan(f) for n, f in (("sum", sum_), ("prod", prod), ("min", minimum), ("max", maximum),
       ("mean", mean), ("argmin", argmin), ("argmax", argmax))},
}  # fmt: skip


def compare(got: Array, wanted: Expected) -> str:
    """What is wrong with ``got``, an array of one result per row; empty when nothing is."""
    t = F32 if wanted.dtype.name.startswith("f8") else wanted.dtype  # 8-bit floats are read, and become f32
    if dtype(got.dtype) != t:
        return f"the result has type {dtype(got.dtype)}, not {t}"
    if t.kind == "complex":
        off = wanted.off if np.iscomplexobj(wanted.off) else pair(wanted.off, wanted.off)
        parts = ((got.real, wanted.value.real, off.real), (got.imag, wanted.value.imag, off.imag))
        return " ".join(filter(None, (compare(g, Expected(v, o, t.part)) for g, v, o in parts)))
    value, off = np.asarray(wanted.value), np.broadcast_to(wanted.off, np.shape(wanted.value))
    with np.errstate(all="ignore"):
        off = np.where(np.isfinite(off) & np.isfinite(value), off, 0) if value.dtype.kind == "f" else off
        low, high = ((value + s * off if off.any() else value).astype(t.numpy) for s in (-1, 1))
        nan = (value != value) | (got != got)
        fine = np.where(nan, (value != value) & (got != got), (low <= got) & (got <= high))
        if wanted.signed and value.dtype.kind == "f":
            fine &= (value != 0) | (np.signbit(value) == np.signbit(got))
    if fine.all():
        return ""
    i = int(np.argmin(fine))
    return (
        f"result {i} is {got[i]!r}, not {value[i]!r} to within {off[i]!r} ({int((~fine).sum())} of {fine.size} wrong)"
    )
