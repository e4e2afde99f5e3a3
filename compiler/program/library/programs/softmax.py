"""Softmax and its relatives: exponentials relative to the greatest element, over their sum, along axes.

No finite input overflows, because no exponent is above 0. An element is multiplied by the reciprocal of the sum: a
correctly rounded division of each element would take more instructions than all the rest.
"""

from __future__ import annotations

import math

from ....dtypes import DType
from ....errors import error
from ...arrays import namespace as xp
from ...arrays.folding import AxisArgument
from ...arrays.packing import truths
from ...frames import caller
from ...symbols import is_array
from ...values import cast
from .operands import Array, expect_inside, like, result_type, wide


def softmax(
    x: Array, axis: AxisArgument = -1, *, bias: Array = None, where: Array = None, dtype: object = None
) -> Array:
    """exp(x + bias) / sum(exp(x + bias)) along axes, without overflow.

    Elements outside of a mask count as minus infinity. NaN in rows that hold NaN or plus infinity, or minus infinity
    alone: these have no softmax.

    Args:
        x: an array; halves are computed in f32, integers in f64.
        axis: the axes of a row: an axis, several, or None for all.
        bias: an array that is added; it broadcasts to ``x``.
        where: which elements take part: a bool array that broadcasts to ``x``, or its bits, see ``wf.pack``.
        dtype: the float type of the result; that of ``x`` by default.

    Returns:
        An array of the shape of ``x``.

    Raises:
        TraceError: WF255 for a bias or a mask that does not broadcast to ``x``, WF256 for an axis that ``x`` has not,
            WF277 for an array in the place of the axis, WF278 for another type of the result, WF285 for an ``x`` that
            is no array.
    """
    t = _checked("softmax", x, axis, dtype)
    return _normalised(_logits(x, t, bias, where), axis, t)


def softmin(
    x: Array, axis: AxisArgument = -1, *, bias: Array = None, where: Array = None, dtype: object = None
) -> Array:
    """The softmax of -x, to which ``bias`` is added; arguments as in ``softmax``."""
    t = _checked("softmin", x, axis, dtype)
    return _normalised(_logits(-wide(x, t), t, bias, where), axis, t)


def log_softmax(
    x: Array, axis: AxisArgument = -1, *, bias: Array = None, where: Array = None, dtype: object = None
) -> Array:
    """The logarithm of the softmax, finite also where that vanishes; arguments as in ``softmax``."""
    t = _checked("log_softmax", x, axis, dtype)
    logits = _logits(x, t, bias, where)
    shifted = logits - xp.max(logits, axis, keepdims=True)
    return cast(shifted - xp.log(xp.sum(xp.exp(shifted), axis, keepdims=True)), t)


def _checked(name: str, x: Array, axis: AxisArgument, dtype: object) -> DType:
    """The type of the result of the function ``name``, whose arguments are checked."""
    if is_array(axis) or any(is_array(a) or isinstance(a, float) for a in (axis if type(axis) is tuple else (axis,))):
        found = "an array" if is_array(axis) else repr(axis)
        raise error("WF277", name=name, found=found, where=caller())
    t = result_type(x, dtype)
    if not t.is_float:
        raise error("WF278", name=name, dtype=t.name, where=caller())
    return t


def _logits(x: Array, t: DType, bias: Array, where: Array) -> Array:
    """The exponents: ``x + bias`` in the type of computation, minus infinity outside of the mask."""
    x = wide(x, t)
    x = x if bias is None else x + expect_inside(like(bias, x), x)
    return x if where is None else xp.where(expect_inside(truths(where, x), x), x, -math.inf)


def _normalised(x: Array, axis: AxisArgument, t: DType) -> Array:
    """The exponentials of ``x`` over their sum."""
    e = xp.exp(x - xp.max(x, axis, keepdims=True))
    return cast(e * (1.0 / xp.sum(e, axis, keepdims=True)), t)
