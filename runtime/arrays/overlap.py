"""Whether views share bytes of memory.

Device addresses can be compared, too: the arrays made for the comparison are never read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..view import View, as_array, is_contiguous

MAX_WORK = 1 << 16
"""Limit for the search for a shared byte, some milliseconds; beyond it, views count as overlapping."""


def share(v: View, w: View) -> bool:
    """Whether a byte belongs to elements of both; also true if the search takes too long."""
    (low, high), (first, last) = v.extent, w.extent
    if v.device != w.device or max(low, first) >= min(high, last):
        return False
    return _meet(_bytes(v), _bytes(w))


def overlaps_itself(v: View) -> bool:
    """Whether two elements of ``v`` share a byte, as in a broadcast array.

    Two such elements differ along some axis; by symmetry one of them can be taken at the start of that axis.
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
