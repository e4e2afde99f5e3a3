"""The cases of the benchmark: plain reductions, each fully described by its name.

``row.sum.f32.1Mx64`` gives group, reduction, element type and shape. ``full`` reduces all axes, ``row`` the last,
``col`` the first, and ``mid`` the middle axis or named axes: ``mid.sum.f32.NCHW.64x256x56x56`` reduces N, H and W, and
with ``HW`` in place of ``NCHW`` only H and W. K and M are 2^10 and 2^20.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ...compiler.dtypes import BOOL, BY_NAME, I64, DType

GROUPS = ("full", "row", "col", "mid")
DTYPES = {
    "f64": "f64",
    "f32": "f32",
    "f16": "f16",
    "bf16": "bf16",
    "i64": "i64",
    "i32": "i32",
    "i8": "i8",
    "b1": "bool",
}
REDUCTIONS = ("sum", "prod", "max", "min", "argmax", "mean", "var", "norm", "logsumexp", "any", "count_nonzero")
FLOATS = ("prod", "mean", "var", "norm", "logsumexp")
"""Reductions with cases of float types only."""
ALIASES = {"norm2": "norm"}
_LETTERS = {"NCHW": (0, 2, 3), "HW": (2, 3)}
_SIZE = re.compile(r"(\d+)(\^\d+|[KM])?")


@dataclass(frozen=True)
class Case:
    """One reduction of one array.

    Attributes:
        name: the name, as described above.
        group: full, row, col or mid.
        what: warpfold's name of the reduction.
        dtype: element type of the array.
        shape, axis: the shape of the array, and its reduced axes.
    """

    name: str
    group: str
    what: str
    dtype: DType
    shape: tuple[int, ...]
    axis: tuple[int, ...]

    @property
    def kept(self) -> tuple[int, ...]:
        """The shape of the result."""
        return tuple(n for a, n in enumerate(self.shape) if a not in self.axis)

    @property
    def n_reduced(self) -> int:
        """Number of elements reduced to one result."""
        return prod(self.shape[a] for a in self.axis)

    @property
    def result(self) -> DType:
        """Element type of the result."""
        if self.what in ("argmax", "count_nonzero"):
            return I64
        if self.what == "any":
            return BOOL
        return I64 if self.what == "sum" and self.dtype.kind in ("int", "bool") else self.dtype

    @property
    def nbytes(self) -> int:
        """Bytes that must move: the array is read once, and the result is written once."""
        return prod(self.shape) * self.dtype.itemsize + prod(self.kept) * self.result.itemsize


def parse(name: str) -> Case | None:
    """The case that ``name`` describes; None for a malformed name."""
    group, *rest = name.split(".")
    if group not in GROUPS or len(rest) not in (3, 4):
        return None
    what, dtype, *letters, text = rest
    what = ALIASES.get(what, what)
    shape = sizes(text)
    axis = _axis(group, letters, len(shape))
    if what not in REDUCTIONS or dtype not in DTYPES or not shape or axis is None:
        return None
    found = BY_NAME[DTYPES[dtype]]
    if (what in FLOATS and found.kind != "float") or (what == "argmax" and letters):
        return None
    return Case(name, group, what, found, shape, axis)


def sizes(text: str) -> tuple[int, ...]:
    """The sizes of ``8192x1M`` or ``2^28``; empty for a malformed shape."""
    found = [_SIZE.fullmatch(part) for part in text.split("x")]
    sizes = tuple(_size(m[1], m[2] or "") for m in found if m)
    return sizes if len(sizes) == len(found) and 0 not in sizes else ()


def _size(digits: str, suffix: str) -> int:
    if suffix.startswith("^"):
        power: int = int(digits) ** min(int(suffix[1:]), 62)
        return power
    return int(digits) << {"": 0, "K": 10, "M": 20}[suffix]


def _axis(group: str, letters: Sequence[str], rank: int) -> tuple[int, ...] | None:
    """The reduced axes of an array of rank ``rank``; None if the group has no such arrays."""
    if letters:
        return _LETTERS.get(letters[0]) if (group, rank) == ("mid", 4) else None
    if group == "full":
        return tuple(range(rank))
    if rank < 2 or (group == "mid" and rank != 3):
        return None
    return {"row": (rank - 1,), "col": (0,), "mid": (1,)}[group]


def _all(text: str) -> dict[str, Case]:
    found = {name: parse(name) for name in text.split()}
    return {name: case for name, case in found.items() if case}


PLAIN = _all("""
    full.sum.f32.4096 full.sum.f32.65536 full.sum.f32.1048576 full.sum.f32.16777216 full.sum.f32.268435456
    full.sum.bf16.2^29 full.sum.i32.2^28 full.max.f32.2^28 full.argmax.f32.2^28 full.prod.f64.2^27 full.var.f32.2^28
    full.norm2.f32.2^28 full.logsumexp.f32.2^28 full.any.b1.2^30 full.count_nonzero.f32.2^28
    row.sum.f32.1Mx64 row.sum.f32.65536x1000 row.sum.bf16.32768x4096 row.max.f32.8191x8191 row.argmax.f32.4096x32000
    row.sum.f32.64x1M row.var.f32.32768x4096 row.logsumexp.f32.4096x32000
    col.sum.f32.8192x8192 col.sum.f32.1Mx64 col.sum.f32.64x1M col.max.bf16.32768x1024 col.var.f32.65536x512
    mid.sum.f32.64x1024x1024 mid.sum.f32.NCHW.64x256x56x56
""")
"""The cases whose geometric mean summarises the benchmark."""
MORE = _all("""
    full.sum.f32.2^22 full.max.f16.2^28 full.var.f32.2^26 full.logsumexp.f32.2^26
    row.sum.f32.4096x1024 row.sum.f32.16384x1024 row.sum.f32.65536x4096 row.sum.f32.8191x8191 row.sum.f32.10000000x4
    row.sum.f32.10000000x7 row.sum.f32.2000000x32 row.sum.f32.1000000x100 row.sum.f32.300000x257 row.sum.f32.100000x999
    row.sum.f32.30000x2560 row.sum.bf16.64x4096 row.argmax.f32.64x128000 row.max.f16.65536x1000 row.any.b1.1000000x64
    row.sum.i8.32768x8192
    col.sum.f32.4194304x3 col.sum.f32.65536x101 col.sum.f32.4096x101 col.argmax.f32.8192x8192
    mid.sum.f32.512x7x20000 mid.mean.f32.NCHW.64x256x56x56 mid.sum.f32.HW.64x256x56x56 mid.sum.f32.1048576x16x16
""")
"""Further cases, which only the mean over all cases counts."""
CASES = PLAIN | MORE
