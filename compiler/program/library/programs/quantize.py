"""Quantisation: elements as 8-bit numbers, and the scale that those of a row or a block share."""

from __future__ import annotations

from ....dtypes import F8E4M3FN, F8E5M2, I8, DType
from ....errors import error
from ...arrays import namespace as xp
from ...arrays.folding import AxisArgument, positions
from ...compositions import abs
from ...dtype_names import dtype as as_dtype
from ...frames import caller
from ...functions import maximum, round
from ...values import cast
from .operands import Array, expect_divisor, result_type, wide

GREATEST = {F8E4M3FN: 448.0, F8E5M2: 57344.0, I8: 127.0}
"""The greatest magnitude of each type that elements are quantised to."""
LEAST_SCALE = 2.0**-126
"""The least scale: the least normal number of f32, whose reciprocal is finite."""


def quantize(
    x: Array, dtype: object = "float8_e4m3fn", *, axis: AxisArgument = -1, block: int | tuple[int, ...] | None = None
) -> tuple[Array, Array]:
    """The elements over a scale per row or per block, in 8 bits, and the scale: about ``x = q * scale``.

    The scale is the greatest magnitude of a row over the greatest of the type, but not less than 2^-126. That of a row
    of zeros is 1. So a finite row has a finite scale that is not 0, and no NaN. A row that holds NaN has the scale NaN,
    and one that holds an infinity an infinite scale.

    Args:
        x: an array.
        dtype: the type of the 8-bit numbers: float8_e4m3fn, float8_e5m2 or int8. They are rounded to the nearest, of
            two to the even one.
        axis: the axes of a row: an axis, several, or None for all.
        block: the elements of a block along each of the axes, which divide their sizes; None for whole rows.

    Returns:
        The 8-bit numbers, of the shape of ``x``; and the scales, in f32, or in f64 for f64 and integers. These have as
        many axes as ``x``, and along the axes of a row the number of blocks, 1 for whole rows.

    Raises:
        TraceError: WF272 for another type, WF276 for blocks that do not divide an axis, WF275 for a number of blocks
            that is not that of the axes.
    """
    to = as_dtype(dtype)
    if to not in GREATEST:
        known = " ".join(t.numpy_name for t in GREATEST)
        raise error("WF272", dtype=to.numpy_name, known=known, where=caller())
    elements = wide(x, result_type(x))
    if block is None:
        return _quantized(elements, to, axis)
    blocks, inner = _blocks(elements, axis, block)
    q, scale = _quantized(blocks, to, inner)
    return xp.reshape(q, x.shape), xp.squeeze(scale, inner)


def _quantized(x: Array, to: DType, axis: AxisArgument) -> tuple[Array, Array]:
    """The 8-bit numbers and the scales, which keep the axes."""
    greatest = xp.max(abs(x), axis, keepdims=True)
    scale = xp.where(greatest == 0.0, 1.0, maximum(greatest / GREATEST[to], LEAST_SCALE))
    scaled = x * (1.0 / scale)
    return cast(round(scaled) if to == I8 else scaled, to).rounded(), scale


def _blocks(x: Array, axis: AxisArgument, block: int | tuple[int, ...]) -> tuple[Array, tuple[int, ...]]:
    """``x`` with each of some axes split into its blocks and their elements, and the axes of these."""
    places = positions(axis, x.axes, x)
    sizes = block if isinstance(block, tuple) else (block,) * len(places)
    if len(sizes) != len(places):
        raise error("WF275", found=len(sizes), expected=len(places), where=caller())
    for place, n in zip(places, sizes, strict=True):
        expect_divisor("block", n, x, place)
    inner: tuple[int, ...] = ()
    for i, (place, n) in enumerate(sorted(zip(places, sizes, strict=True))):
        shape = x.shape
        inner = (*inner, place + i + 1)
        x = xp.reshape(x, (*shape[: place + i], -1, n, *shape[place + i + 1 :]))
    return x, inner
