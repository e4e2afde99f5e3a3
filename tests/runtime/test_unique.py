"""The distinct elements, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import warpfold as wf

NAMES = ("bool", "int8", "uint8", "int16", "uint16")


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_the_distinct_elements_are_numpys(name: str, data: st.DataObject) -> None:
    shape = data.draw(arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=9))
    x = data.draw(arrays.arrays(name, shape))
    found = wf.unique(x.T if data.draw(st.booleans()) else x, device="emulator")
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, np.unique(x))


@pytest.mark.parametrize("name", NAMES[1:])
def test_unique_of_every_value(name: str) -> None:
    bounds = np.iinfo(name)
    x = np.arange(bounds.min, bounds.max + 1, dtype=np.int64).astype(name)[::-1]
    np.testing.assert_array_equal(wf.unique(x, device="emulator"), x[::-1])


def test_unique_of_a_large_array_with_extremes() -> None:
    x = np.zeros(300_001, np.int16)
    x[[0, 77_777, 300_000]] = -32768, 32767, -1
    assert wf.unique(x, device="emulator").tolist() == [-32768, -1, 0, 32767]


@pytest.mark.parametrize(("name", "remedy"), [("int32", "sort the elements first"), ("float16", "round the elements")])
def test_a_set_of_wider_elements_is_refused(name: str, remedy: str) -> None:
    with pytest.raises(wf.WarpfoldError, match=r"WF149: unique of \w+ is not supported: expected 8- or 16-bit") as e:
        wf.unique(np.zeros(3, name))
    assert remedy in str(e.value)
