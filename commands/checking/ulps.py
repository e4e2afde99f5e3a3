"""Distances between results, in ulps of their type, and from the exact results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...compiler.dtypes import DType, dtype
from ...compiler.program.numeric import Array
from .running_error import tiny, unit

FLOATS = ("f16", "bf16", "f32", "f64")
"""The types whose results are compared in ulps."""
_NAN = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Apart:
    """Results of several runs of one reduction, compared element by element.

    Attributes:
        runs, answers: number of runs, and number of bitwise distinct results.
        ulps: the greatest distance between two results for one element, in ulps; infinite if only one of them is NaN.
            For integers and bools it is their difference.
        where: the flat index of that element; ``least`` and ``greatest`` are its results.
        differ: elements with more than one result, of ``size``.
        error: the greatest distance from the exact result; ``error_ulps`` is the same in ulps, for float types.
        farthest: the number of the run with that error.
    """

    runs: int
    answers: int
    ulps: float
    where: int
    least: float
    greatest: float
    differ: int
    size: int
    error: float
    error_ulps: float | None
    farthest: int


def apart(results: Sequence[Array], exact: Array) -> Apart:
    """Compares ``results``, which have one shape and type, with each other and with the ``exact`` elements."""
    flat = [np.ascontiguousarray(r).reshape(-1) for r in results]
    t = dtype(flat[0].dtype)
    size = flat[0].size
    answers = len({r.tobytes() for r in flat})
    if not size:
        return Apart(len(flat), answers, 0.0, 0, 0.0, 0.0, 0, 0, 0.0, None, 0)
    keys = [ordered(r) for r in flat]
    low, high = keys[0], keys[0]
    for key in keys[1:]:
        low, high = np.minimum(low, key), np.maximum(high, key)
    gaps = (
        (high - low).view(np.uint64).astype(np.float64)
    )  # two's complement: right even where the difference overflows
    if t.is_float:
        gaps[(high == _NAN) & (low != _NAN)] = np.inf
    where = int(gaps.argmax())
    here = sorted((int(key[where]), float(r[where])) for key, r in zip(keys, flat, strict=True))
    errors = [_errors(r, exact.reshape(-1), t) for r in flat]
    worst = max(e for _, e in errors) if t.name in FLOATS else None
    return Apart(
        len(flat), answers, float(gaps[where]), where, here[0][1], here[-1][1], int(np.count_nonzero(gaps)), size,
        max(e for e, _ in errors), worst, int(np.argmax([e for e, _ in errors])),
    )  # fmt: skip


def ordered(x: Array) -> Array:
    """``x`` as int64 in the same order: neighbours differ by one, both zeros are 0, NaN is greatest."""
    t = dtype(x.dtype)
    if not t.is_float:
        words = x.astype(np.uint64) if t.kind == "uint" else x.astype(np.int64).view(np.uint64)
        shifted = words ^ np.uint64(1 << 63) if t.kind == "uint" else words
        return shifted.view(np.int64)
    bits = x.view(f"u{t.itemsize}").astype(np.int64)
    magnitude = bits & ((1 << (t.bits - 1)) - 1)
    return np.where(x != x, _NAN, np.where(np.signbit(x), -magnitude, magnitude))


def in_ulps(got: Array, exact: Array, t: DType) -> Array | None:
    """The distance of each element from the exact one in ulps of ``t``, zero between equal infinities and NaNs.

    None for types that have no ulps here: integers, bools and 8-bit floats.
    """
    if t.name not in FLOATS:
        return None
    with np.errstate(all="ignore"):
        true = exact.astype(np.float64)
        finite = np.where(np.isfinite(true), np.abs(true), 1.0)
        ulp = 2 * unit(t) * 2.0 ** np.floor(np.log2(np.maximum(finite, tiny(t))))
        return np.asarray(_off(got, exact) / ulp)


def _off(got: Array, exact: Array) -> Array:
    """The distance of each element from the exact one."""
    wide, true = got.astype(np.float64), exact.astype(np.float64)
    off = np.where((got == exact) | ((wide != wide) & (true != true)), 0.0, np.abs(wide - true))
    return np.where(np.isnan(off), np.inf, off)


def _errors(got: Array, exact: Array, t: DType) -> tuple[float, float]:
    """The greatest distance from the exact results, absolute and in ulps; zero between equal infinities and NaNs."""
    with np.errstate(all="ignore"):
        ulps = in_ulps(got, exact, t)
        return float(_off(got, exact).max()), 0.0 if ulps is None else float(ulps.max())
