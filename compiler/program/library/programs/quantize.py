"""Quantisation: elements as 8-bit numbers, and the scale that those of a row share."""

from __future__ import annotations

from ....dtypes import F8E4M3FN, F8E5M2, I8
from ....errors import error
from ...arrays import namespace as xp
from ...arrays.folding import AxisArgument
from ...compositions import abs
from ...dtype_names import dtype as as_dtype
from ...frames import caller
from ...functions import maximum, round
from ...values import cast
from .operands import Array, result_type, wide

GREATEST = {F8E4M3FN: 448.0, F8E5M2: 57344.0, I8: 127.0}
"""The greatest magnitude of each type that elements are quantised to."""
LEAST_SCALE = 2.0**-126
"""The least scale: the least normal number of f32, whose reciprocal is finite."""


def quantize(x: Array, dtype: object = "float8_e4m3fn", *, axis: AxisArgument = -1) -> tuple[Array, Array]:
    """The elements over a scale per row, in 8 bits, and the scale: about ``x = q * scale``.

    The scale is the greatest magnitude of a row over the greatest of the type, but not less than 2^-126. That of a row
    of zeros is 1. So a finite row has a finite scale that is not 0, and no NaN. A row that holds NaN has the scale NaN,
    and one that holds an infinity an infinite scale.

    Args:
        x: an array.
        dtype: the type of the 8-bit numbers: float8_e4m3fn, float8_e5m2 or int8. They are rounded to the nearest, of
            two to the even one.
        axis: the axes of a row: an axis, several, or None for all.

    Returns:
        The 8-bit numbers, of the shape of ``x``; and the scales, in f32, or in f64 for f64 and integers, with size 1
        along the axes of a row.

    Raises:
        TraceError: WF272 for another type.
    """
    to = as_dtype(dtype)
    if to not in GREATEST:
        known = " ".join(t.numpy_name for t in GREATEST)
        raise error("WF272", dtype=to.numpy_name, known=known, where=caller())
    x = wide(x, result_type(x))
    greatest = xp.max(abs(x), axis, keepdims=True)
    scale = xp.where(greatest == 0.0, 1.0, maximum(greatest / GREATEST[to], LEAST_SCALE))
    scaled = x * (1.0 / scale)
    return cast(round(scaled) if to == I8 else scaled, to).rounded(), scale
