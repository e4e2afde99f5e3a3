"""Random arrays that expose mistakes of a reduction.

Most reductions get random numbers. Where random numbers would hide mistakes, chosen ones are planted: the extreme or
the only zero of a row at its end, at its beginning or anywhere; rows of a single sign; extremes that occur twice;
factors whose product neither overflows nor vanishes; arrays that differ in a single element.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from math import prod

import numpy as np

from ...compiler.dtypes import DType
from ...compiler.errors import error
from ...compiler.program.numeric import Array
from ..terminal import size

GREATEST = {"f16": 2.0, "bf16": 16.0}
"""Bound on the logarithm of a random product: about a third of bf16's range, also for wider types."""
MOST = 4096
"""Number of rows with planted numbers; all others stay random."""


RARE = 8
"""One of this many rows of bools has a single value."""
GOLDEN = (5**0.5 - 1) / 2
"""The golden ratio less 1: the fractional parts of its first n multiples are evenly spread for every n."""


def from_seed(
    shape: tuple[int, ...],
    types: tuple[DType, ...],
    seed: int,
    name: object = None,
    axes: tuple[int, ...] | None = None,
) -> list[Array]:
    """Arrays for a reduction over ``axes``; ``name`` is that of a built-in reduction.

    Raises:
        ArgumentError: WF811 when the arrays, or the results of empty ones, exceed this machine's memory.
    """
    expect_memory([(shape, t) for t in types])
    rng = np.random.default_rng(seed)
    found = [random(rng, shape, t) for t in types]
    if not isinstance(name, str):
        return found
    plain = name.removeprefix("nan")
    reduced = {a % max(1, len(shape)) for a in (range(len(shape)) if axes is None else axes)}
    if plain in _PLANTED and 0 not in shape:
        _PLANTED[plain](rng, [_Rows(x, reduced) for x in found])
    if plain != name and 0 not in shape:
        _leave_out(rng, _Rows(found[0], reduced), tuple(reduced))
    return found


def expect_memory(arrays: Sequence[tuple[tuple[int, ...], DType]]) -> None:
    """Checks that arrays of these shapes and types fit this machine's memory; of empty ones that the results do.

    Raises:
        ArgumentError: WF811.
    """
    needed = sum(elements(shape) * t.itemsize for shape, t in arrays)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > memory:
        shapes = dict.fromkeys("x".join(map(str, shape)) for shape, _ in arrays)
        shown = ", ".join(shapes) + (" and their results" if any(0 in shape for shape, _ in arrays) else "")
        raise error("WF811", shape=shown, needed=size(needed), memory=size(memory))


def elements(shape: tuple[int, ...]) -> int:
    """The elements of an array, counting a size of 0 as 1: the bound on its results, and what NumPy limits."""
    return prod(n or 1 for n in shape)


def random(rng: np.random.Generator, shape: tuple[int, ...], t: DType, below: int | None = None) -> Array:
    """One random array: standard normal floats, coin flips for bool, small integers, or all those ``below`` a bound."""
    if below and t.is_integer:
        return np.asarray(rng.integers(0, min(below, int(t.highest) + 1), shape, dtype=t.numpy))
    if t.kind == "complex":
        real, imag = (random(rng, shape, t.part) for _ in range(2))
        return np.asarray(real + 1j * imag).astype(t.numpy, copy=False)
    if t.kind == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if t.is_integer:
        return np.asarray(rng.integers(max(int(t.lowest), -100), 100, shape, dtype=t.numpy, endpoint=True))
    if t.bits == 64:
        return np.asarray(rng.standard_normal(shape))
    return np.asarray(rng.standard_normal(shape, dtype=np.float32)).astype(t.numpy, copy=False)


class _Rows:
    """An array as the elements of its results."""

    def __init__(self, x: Array, reduced: set[int]) -> None:
        kept = [a for a in range(x.ndim) if a not in reduced]
        self.whole = x
        self.moved = x.transpose(*kept, *sorted(reduced))
        self.kept, self.reduced = self.moved.shape[: len(kept)], self.moved.shape[len(kept) :]
        self.n_kept, self.n_reduced = prod(self.kept), prod(self.reduced)

    @property
    def numbers(self) -> range:
        """The first of the rows: those with planted numbers."""
        return range(min(self.n_kept, MOST))

    def row(self, k: int) -> Array:
        """A view of one row."""
        return self.moved[np.unravel_index(k, self.kept)] if self.kept else self.moved

    def put(self, k: int, at: int, value: object) -> None:
        """Sets one element of a row."""
        self.row(k)[np.unravel_index(at, self.reduced)] = value

    def position(self, k: int) -> int:
        """The index to plant at in row ``k``: the last in row 0, the first in row 1, then evenly spread ones."""
        return (self.n_reduced - 1, 0)[k] if k < 2 else int(k * GOLDEN % 1 * self.n_reduced)


def _extremes(rng: np.random.Generator, xs: list[_Rows], *, least: bool = False) -> None:
    """Plants the greatest element at the end of the first row and the least at its beginning; reversed in the second.

    With ``least`` the two change places. Of four further rows one is positive, one is negative, and two have repeated
    extremes. In every other pair of rows of bools a single element differs.
    """
    rows = xs[0]
    if rows.whole.dtype.kind == "b":
        for k in rows.numbers:
            rows.row(k)[...] = k % 2 == 1
            if k % 4 < 2:
                rows.put(k, rows.n_reduced - 1 if k < 2 else rows.position(k), k % 2 == 0)
    for k in rows.numbers if rows.whole.dtype.kind not in "bc" else ():
        row = rows.row(k)
        numbers = row.astype(np.float64)
        if k < 2:
            ends = (0, rows.n_reduced - 1)[:: -1 if (k == 1) ^ least else 1]
            for at, value in zip(ends, (numbers.min() - 1, numbers.max() + 1), strict=True):
                rows.put(k, at, _fitting(value, row))
        elif k % 4 == 0:
            row[...] = (np.abs(numbers) + 1).astype(row.dtype)
        elif k % 4 == 1 and rows.whole.dtype.kind != "u":
            row[...] = (-np.abs(numbers) - 1).astype(row.dtype)
        else:
            for value in (row.min() if row.dtype.kind in "iuf" else numbers.min(), numbers.max()):
                rows.put(k, int(rng.integers(rows.n_reduced)), value)


def _fitting(value: float, row: Array) -> float:
    """``value``, clamped to the range of an integer type."""
    if row.dtype.kind not in "iu":
        return value
    info = np.iinfo(row.dtype)
    return min(max(value, float(info.min)), float(info.max)) if row.dtype.itemsize < 8 else value


def _lone(other: bool) -> Callable[[np.random.Generator, list[_Rows]], None]:
    """Plants one differing element in most rows, which hold bools or numbers read as bools."""

    def plant(_rng: np.random.Generator, xs: list[_Rows]) -> None:
        rows = xs[0]
        true = rows.whole.astype(bool)
        rows.whole[...] = 0 if other else np.where(true, rows.whole, np.ones((), rows.whole.dtype))
        for k in rows.numbers:
            if k % RARE < RARE - 1:
                rows.put(k, rows.position(k), 1 if other else 0)

    return plant


def _zeros(rng: np.random.Generator, xs: list[_Rows]) -> None:
    """Sets a quarter of the elements to zero."""
    xs[0].whole[rng.random(xs[0].whole.shape) < 0.25] = 0


def _factors(rng: np.random.Generator, xs: list[_Rows]) -> None:
    """Plants floats around 1, about one a row negative; odd integers; bools with a single false."""
    x, n = xs[0].whole, xs[0].n_reduced
    if x.dtype.kind == "b":
        _lone(False)(rng, xs)
        return
    few = rng.random(x.shape) < 1 / n
    if x.dtype.kind in "iu":
        x |= np.ones((), x.dtype)
    elif x.dtype.kind == "c":
        x[...] = np.exp((x.real + 1j * x.imag) * min(1.0, 16 / n**0.5)).astype(x.dtype)
    else:
        spread = min(1.0, GREATEST.get(str(x.dtype).replace("bfloat", "bf").replace("float", "f"), 16.0) / n**0.5)
        x[...] = (np.exp(x.astype(np.float64) * spread) * np.where(few, -1, 1)).astype(x.dtype)


def _signs(_rng: np.random.Generator, xs: list[_Rows]) -> None:
    """Makes every other row non-negative, so that roundings in one direction accumulate."""
    for rows in xs:
        if rows.whole.dtype.kind in "bu":
            continue
        for k in rows.numbers[::2]:
            row = rows.row(k)
            row[...] = np.abs(row.real) + 1j * np.abs(row.imag) if row.dtype.kind == "c" else np.abs(row)


def _levels(_rng: np.random.Generator, xs: list[_Rows]) -> None:
    """Shifts some rows far above zero and some far below."""
    rows = xs[0]
    if rows.whole.dtype.kind in "bcu":
        return
    far = 300 if rows.whole.dtype.kind != "i" else 20
    for k in rows.numbers:
        if k % 4 > 1:
            row = rows.row(k)
            row[...] = (row.astype(np.float64) + (far if k % 4 == 2 else -far)).astype(row.dtype)


def _nearly_alike(_rng: np.random.Generator, xs: list[_Rows]) -> None:
    """Makes the arrays equal except for one element in most rows."""
    first, second = xs[0], xs[-1]
    second.whole[...] = first.whole.astype(second.whole.dtype)
    first.whole[...] = second.whole.astype(first.whole.dtype)
    for k in first.numbers:
        at = first.position(k)
        if k % RARE < RARE - 1:
            old = second.row(k)[np.unravel_index(at, second.reduced)]
            second.put(k, at, not old if second.whole.dtype.kind == "b" else 1 if old != 1 else 2)


def _leave_out(rng: np.random.Generator, rows: _Rows, reduced: tuple[int, ...]) -> None:
    """Sets an eighth of the elements to NaN, but no whole row, and not the ends of the first two."""
    x = rows.whole
    if x.dtype.kind in "biu":
        return
    ends = [
        [rows.row(k)[np.unravel_index(at, rows.reduced)] for at in (0, rows.n_reduced - 1)] for k in rows.numbers[:2]
    ]
    out: Array = np.asarray(rng.random(x.shape) < 0.125)
    x[out & ~out.all(axis=reduced, keepdims=True)] = np.nan
    for k, (first, last) in enumerate(ends):
        rows.put(k, 0, first)
        rows.put(k, rows.n_reduced - 1, last)


_PLANTED: dict[str, Callable[[np.random.Generator, list[_Rows]], None]] = {
    **dict.fromkeys(("max", "minmax", "ptp", "argmax", "describe"), _extremes),
    **dict.fromkeys(("min", "argmin"), partial(_extremes, least=True)),
    **dict.fromkeys(("sum", "mean", "dot", "vecdot"), _signs),
    "all": _lone(False), "any": _lone(True), "count_nonzero": _zeros, "prod": _factors, "logsumexp": _levels,
    "allclose": _nearly_alike, "array_equal": _nearly_alike,
}  # fmt: skip
"""What is planted for the reductions whose mistakes random numbers would hide."""
