"""Arrays of small integers at any address and with any strides, in memory that ends where the array ends.

The emulator refuses (WF710) an access beyond that memory. A read of the gaps between elements changes every result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from warpfold.compiler.driver.artifact import Artifact
from warpfold.compiler.planner.alignment import WIDEST

Shape = tuple[int, ...]
BETWEEN = 100
"""The value between the elements of an array: greater than every element, and not zero."""


def numbers(shape: Shape, t: Any, seed: int = 0) -> Any:
    """Integers from -3 to 3, whose sums are exact in every type and order."""
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(t)


def placed(values: Any, offset: int) -> Any:
    """A copy of ``values`` that begins ``offset`` bytes after a boundary of the widest access."""
    raw = np.zeros(values.nbytes + 2 * WIDEST, np.uint8)
    start = -raw.ctypes.data % WIDEST + offset
    found = raw[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    found[...] = values
    return found


def strides_of(shape: Shape, order: Shape, gaps: Shape) -> Shape:
    """Strides, in elements, of an array that lies in memory with the last dim innermost.

    Args:
        shape: the sizes of the dims.
        order: the other dims, outermost first.
        gaps: elements between the entries of each of these dims, innermost first; none for the rest.
    """
    found, step = [1] * len(shape), shape[-1] if shape else 1
    for dim, gap in zip(reversed(order), (*gaps, *(0 for _ in order)), strict=False):
        found[dim] = step + gap
        step = found[dim] * shape[dim]
    return tuple(found)


def laid(values: Any, strides: Shape, offset: int = 0) -> tuple[Any, Any]:
    """A copy of ``values`` with these strides, ``offset`` bytes after a boundary, and all the memory of that array."""
    reach = sum((n - 1) * s for n, s in zip(values.shape, strides, strict=True)) + 1
    flat = placed(np.full(reach, BETWEEN).astype(values.dtype), offset)
    found = as_strided(flat, values.shape, [s * values.itemsize for s in strides])
    found[...] = values
    return found, flat


def right(values: Any, what: str, axis: Any) -> Any:
    """NumPy's answer, computed in f64 for numbers."""
    if what in ("any", "all"):
        return getattr(values != 0, what)(axis=axis)
    wide = values.astype(np.float64)
    if what in ("argmin", "argmax") and isinstance(axis, tuple):
        last = np.moveaxis(wide, axis, range(-len(axis), 0))
        return getattr(last.reshape(*last.shape[: -len(axis)], -1), what)(axis=-1)
    return np.count_nonzero(values, axis=axis) if what == "count_nonzero" else getattr(wide, what)(axis=axis)


def result_type(what: str, t: Any) -> Any:
    """The type of a result of ``what`` over elements of type ``t``."""
    if what in ("any", "all"):
        return np.bool_
    if what in ("min", "max") or (what == "sum" and np.dtype(t).kind in "fV"):
        return t
    return np.uint64 if what == "sum" and np.dtype(t).kind == "u" else np.int64


def accesses(artifacts: list[Artifact]) -> set[str]:
    """How the kernels read their inputs."""
    return {access for artifact in artifacts for kernel in artifact.kernels for access in kernel.facts.access}
