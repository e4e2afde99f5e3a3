"""Numbers of elements as inputs of kernels."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from ..arrays.conversion import from_numpy, view
from ..arrays.dask_arrays import in_dask


def numbers_beside(like: Any, numbers: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """Numbers of elements as an input beside ``like``: on a GPU they lie in its memory, and are kept for later."""
    made = np.array(numbers, np.int64).reshape(shape)
    if in_dask([like]):
        return made[()]
    v = view(like)
    if v.device.kind == "cpu":
        return made[()]
    key = type(like).__module__.partition(".")[0], v.device, numbers, shape
    found = _KEPT.get(key)
    if found is None:
        found = _KEPT[key] = from_numpy(like, made)
        if len(_KEPT) > _MOST_KEPT:
            _KEPT.popitem(last=False)
    return found


_KEPT: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
_MOST_KEPT = 256
