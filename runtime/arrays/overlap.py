"""Whether views share bytes of memory.

Addresses of a device can be compared too: the arrays made for that are never read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..view import View, as_array, is_contiguous

MAX_WORK = 1 << 16
"""Steps of the search for a shared byte: milliseconds. Strides that need more are taken to meet."""


def share(v: View, w: View) -> bool:
    """Whether some byte belongs to an element of both; true, too, where that is too hard to find out."""
    (low, high), (first, last) = v.extent, w.extent
    if v.device != w.device or max(low, first) >= min(high, last):
        return False
    return _meet(_bytes(v), _bytes(w))


def overlaps_itself(v: View) -> bool:
    """Whether two elements of ``v`` share a byte, as those of a broadcast array do.

    Two such elements differ along some axis, and by symmetry the first of them may be taken at the axis's start.
    """
    if is_contiguous(v):
        return False
    whole = _bytes(v)
    return any(
        size > 1 and _meet(whole[(slice(None),) * axis + (slice(1),)], whole[(slice(None),) * axis + (slice(1, None),)])
        for axis, size in enumerate(v.shape)
    )


def _bytes(v: View) -> np.ndarray[Any, Any]:
    return as_array(v, f"V{v.dtype.itemsize}")


def _meet(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    try:
        return np.shares_memory(a, b, max_work=MAX_WORK)  # type: ignore[arg-type]  # the stubs know two numbers
    except np.exceptions.TooHardError:
        return True
