"""The best elements along an axis, sorted, and where they are.

A fold over sorted lists (``../sorted_lists.py``) finds them; then each place of the results takes its own of the list.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from ....errors import error
from ...arrays import namespace as xp
from ...arrays.folding import AxisArgument, one_axis, positions, reduced
from ...arrays.indexing import sliced
from ...frames import caller
from ...symbols import is_array
from ...tracing import tuple_type
from ..sorted_lists import best, element, number
from .operands import Array, expect_array, flag, placed

MOST = 16
"""The most elements that a list has: two lists of them take a quarter of a thread's registers."""


def topk(x: Array, k: int | None = None, *, axis: AxisArgument = -1, largest: bool = True) -> Any:
    """The ``k`` greatest elements along an axis, the greatest first, and their indices, which are i64.

    Of equal elements the first comes first; zeros are equal, and come out as +0. NaN is greater than any number, as in
    PyTorch's ``topk``.

    Args:
        x: an array of real numbers.
        k: how many, from 1 to 16, and not more than the axis has.
        axis: the axis.
        largest: False for the least elements, the least first.

    Returns:
        ``values`` and ``indices``, of the shape of ``x`` with ``k`` elements along the axis.

    Raises:
        ArgumentError: WF138 for a ``largest`` that is no bool.
        TraceError: WF280 for another ``k``, WF256 for an axis that ``x`` has not, WF292 for several, WF285 for an ``x``
            that is no array.
    """
    expect_array("x", x)
    if axis is None or isinstance(axis, tuple | list) or not x.ndim:
        raise one_axis("topk", axis, x.ndim)
    (place,) = positions(axis, x.axes, x)
    n = int(x.shape[place])
    given: Any = k
    k = index(given) if hasattr(given, "__index__") and not (type(given) is bool or is_array(given)) else given
    if type(k) is not int or not 1 <= k <= min(MOST, n):
        given = "an array" if is_array(k) else repr(k)
        raise error("WF280", k=given, greatest=min(MOST, n), n=n, most=MOST, remedy=_remedy(k, n), where=caller())
    largest = flag("largest", largest, default=True)
    how = {"k": k, "largest": largest, "most": n}
    keys = reduced("topk", best, (x,), place, keepdims=True, params=how)
    if k > 1:
        head = sliced(x, place, slice(0, k))
        numbers = placed(xp.arange(head.shape[place]), x.ndim, [place])
        keys = [tuple(_side_by_side(numbers, values) for values in zip(*keys, strict=True))]
    found = element(keys[0], x.dtype, largest=largest), number(keys[0])
    return tuple_type("topk", ("values", "indices"))(*found)


def _side_by_side(numbers: Array, values: Sequence[Array]) -> Array:
    """The array that has each of ``values``, arrays with one element along an axis, at its number."""
    found, *others = values
    for i, value in enumerate(others, 1):
        found = xp.where(numbers == i, value, found)
    return found


def _remedy(k: object, n: int) -> str:
    """What to do in place of a call with this ``k``, along an axis of ``n`` elements."""
    if type(k) is int and MOST < k <= n:
        return "sort for more: torch.topk, cupy.argpartition or numpy.argpartition"
    if k is None:
        return "say how many: wf.topk(x, 5), or on the command line --param k=5"
    return "pass a number of Python in this range"
