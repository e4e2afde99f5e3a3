"""NumPy's own answers, by which results of the built-in reductions are checked."""

from __future__ import annotations

import numpy as np
import pytest

from warpfold.commands.checking.reference import BUILT_IN
from warpfold.compiler.dtypes import ALL, dtype


@pytest.mark.parametrize("name", [t.name for t in ALL])
def test_elements_of_all_types_are_ordered_exactly(name: str) -> None:
    """Of two neighbouring numbers the greater one is greater, also where a wider or a narrower type has neither."""
    t = dtype(name).numpy
    bits = np.dtype(f"u{t.itemsize}")
    low = np.array([np.iinfo(t).max - 1 if t.kind in "iu" else t.kind != "b"]).astype(t)
    high = (low.view(bits) + bits.type(1)).view(t)
    x = np.stack([np.concatenate([low, high, low]), np.concatenate([high, high, low])])
    for what, wanted in (("max", [high, high]), ("min", [low, low])):
        np.testing.assert_array_equal(BUILT_IN[what](x).astype(t), np.concatenate(wanted))
    assert BUILT_IN["argmax"](x).tolist() == [1, 0]
    assert BUILT_IN["argmin"](x).tolist() == [0, 2]
