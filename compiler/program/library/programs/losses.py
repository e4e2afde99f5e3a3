"""Losses of classifiers, whose targets are the numbers of classes: cross entropy and negative log-likelihood.

Logits are taken relative to the greatest of a row, so that no loss overflows, and none loses digits to an offset.
Everything happens on the device: nothing is copied to the host, and nothing waits.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from ....dtypes import I64, DType
from ....errors import error
from ...arrays import namespace as xp
from ...arrays.folding import positions, reduced
from ...fold import current_scope, fold, index
from ...frames import caller
from ...functions import tanh
from ...symbols import is_array
from ...values import cast
from ..monoids import SUM
from .operands import Array, OnlyArray, along, expect_array, finite, flag, fraction, result_type, wide

Reduction = Literal["none", "mean", "sum"]


def cross_entropy(
    x: Array,
    target: Array,
    weight: OnlyArray = None,
    *,
    axis: int | None = None,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    softcap: float | None = None,
    check: bool = False,
) -> Array:
    """log(sum(exp(x))) - x[target] along the axis of the classes, weighted by the target's class.

    With label smoothing s the target counts as 1 - s of itself and s / classes of every class, each with its own
    weight. The loss of a target outside of the classes is NaN.

    Args:
        x: logits; halves are computed in f32.
        target: integers, the class of each row: the shape of ``x`` without the axis of the classes.
        weight: a factor for each class, or None.
        axis: the axis of the classes; None for axis 1, or axis 0 of an array of rank 1.
        ignore_index: rows with this target have the loss 0 and are not counted.
        reduction: "none" for the loss of each row, "sum", or "mean": the sum divided by the sum of the targets'
            weights, which is NaN where all targets are ignored.
        label_smoothing: which part of a target all classes share, from 0 to 1.
        z_loss: this number times the square of log(sum(exp(x))) is added to each loss.
        softcap: a bound c: the logits are c tanh(x / c); None for none.
        check: whether a target outside of the classes raises an error, which waits for the device.

    Returns:
        Losses in f32; in f64 if ``x`` is f64 or of integers.

    Raises:
        ArgumentError: WF138 for an unknown reduction, or an option that is no such number; with ``check`` WF189 for a
            target outside of the classes, after the losses were written.
        TraceError: WF285 for an ``x`` that is no array, WF254 for a weight of another size, WF281 for one of another
            rank or that has no floats, WF271 for targets of another rank or that are no integers.
    """
    label_smoothing, z_loss = fraction("label_smoothing", label_smoothing, 0.0), finite("z_loss", z_loss, 0.0)
    place = _class_axis(x, axis)
    x, rows = _logits(x, softcap), _Rows(x, target, weight, place, ignore_index)
    greatest = xp.max(x, place, keepdims=True)
    shifted = x - greatest
    log_sum = xp.log(xp.sum(xp.exp(shifted), place, keepdims=True))
    loss = rows.weighted(log_sum - (rows.at_target(x) - greatest))
    if label_smoothing:
        others = log_sum - shifted if rows.weight is None else (log_sum - shifted) * rows.weight
        loss = loss * (1.0 - label_smoothing) + xp.mean(others, place, keepdims=True) * label_smoothing
    if z_loss:
        log_sum_exp = greatest + log_sum
        loss = loss + log_sum_exp * log_sum_exp * z_loss
    return rows.result(loss, reduction, check=check)


def nll_loss(
    x: Array,
    target: Array,
    weight: OnlyArray = None,
    *,
    axis: int | None = None,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
    check: bool = False,
) -> Array:
    """-x[target] along the axis of the classes, for logarithms of probabilities; arguments as in ``cross_entropy``."""
    place = _class_axis(x, axis)
    rows = _Rows(x, target, weight, place, ignore_index)
    return rows.result(rows.weighted(-rows.at_target(wide(x, result_type(x)))), reduction, check=check)


class _Rows:
    """The targets of rows of classes.

    Attributes:
        axis: the axis of the classes.
        target: the class of each row, along with the axis of the classes.
        weight: the weight of each class, or None.
        counted: whether a row is not ignored.
        inside: whether its target is a class.
    """

    def __init__(self, x: Array, target: Array, weight: OnlyArray, axis: int, ignore_index: int) -> None:
        expect_array("target", target)
        if type(ignore_index) is bool or not (is_array(ignore_index) or hasattr(ignore_index, "__index__")):
            raise error("WF138", option="ignore_index", value=ignore_index, expected="an integer", default=-100)
        if target.ndim != x.ndim - 1 or not target.dtype.is_integer:
            found = f"rank {target.ndim} and type {target.dtype}"
            remedy = "pass the number of the class of each row; the axis of the classes is named by axis="
            if target.dtype.is_float and x.dtype.is_integer:
                remedy = "the logits come first, and then the numbers of the classes: exchange both arguments"
            raise error("WF271", found=found, rank=x.ndim - 1, remedy=remedy, where=caller())
        self.axis = axis
        self.target = cast(xp.expand_dims(target, axis=axis), I64)
        self.weight = None if weight is None else _of_classes(weight, wide(x, result_type(x)), axis)
        self.counted = self.target != ignore_index
        self.inside = (self.target >= 0) & (self.target < x.shape[axis])

    def at_target(self, values: Array) -> Array:
        """The value of each row at its target."""
        return reduced("at_target", _at, (values, self.target), self.axis, keepdims=True, params={})

    def weighted(self, loss: Array) -> Array:
        """Losses times the weights of the targets' classes."""
        return loss if self.weight is None else loss * self.at_target(self.weight)

    def result(self, loss: Array, reduction: Reduction, *, check: bool) -> Array:
        """What ``reduction`` makes of the losses of all rows, with a check of the targets if it is asked for."""
        if flag("check", check, default=False):
            current_scope().checks.append(("WF189", self.counted & ~self.inside))
        loss = xp.where(self.counted, xp.where(self.inside, loss, math.nan), 0.0)
        if reduction == "none":
            return xp.squeeze(loss, self.axis)
        if reduction == "sum":
            return xp.sum(loss)
        if reduction != "mean":
            raise error("WF138", option="reduction", value=reduction, expected="none, sum or mean", default="mean")
        return xp.sum(loss) / self._divisor(loss.dtype)

    def _divisor(self, t: DType) -> Array:
        """The sum of the weights of the targets that are not ignored."""
        if self.weight is None:
            return cast(xp.count_nonzero(self.counted), t)
        return xp.sum(xp.where(self.counted, self.at_target(self.weight), 0.0))


def _of_classes(weight: Array, x: Array, axis: int) -> Array:
    """The weight of each class, along the axis of the classes of ``x``."""
    expect_array("weight", weight)
    if weight.ndim != 1 or not weight.dtype.is_float:
        found = f"rank {weight.ndim} and type {weight.dtype}"
        raise error("WF281", found=found, size=x.sizes[axis], where=caller())
    return along("weight", weight, x, axis)


def _at(x: Any, target: Any) -> Any:
    """The element of a row whose number is ``target``: a tensor program. A fold, since kernels read rows in order."""
    number = index()
    return fold(SUM, xp.where(number == cast(target, number.dtype), x, 0.0))


def _class_axis(x: Array, axis: int | None) -> int:
    """The position of the axis of the classes."""
    expect_array("x", x)
    return positions(min(1, x.ndim - 1) if axis is None else axis, x.axes, x)[0]


def _logits(x: Array, softcap: float | None) -> Array:
    """Logits in the type of computation, with a soft bound."""
    x = wide(x, result_type(x))
    if softcap is None:
        return x
    if isinstance(finite("softcap", softcap, None), int | float) and softcap <= 0:
        raise error("WF138", option="softcap", value=softcap, expected="a number above 0", default=None)
    return tanh(x * (1.0 / softcap)) * softcap
