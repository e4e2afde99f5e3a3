"""Which arguments may be part of the key of a call."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from fake_gpu import Gpu, gpu

from warpfold.runtime.programs.keys import has_key

__all__ = ["gpu"]


class Settings:
    scale = 2.0


class Number(float):
    pass


@pytest.mark.parametrize(
    "value", [1, True, 1.5, -0.0, 2j, -0j, "f32", None, np.float32, np.dtype("f4"), (1.0, (2,)), ()]
)
def test_values_that_never_change_have_a_key(value: object) -> None:
    assert has_key([value])


@pytest.mark.parametrize("value", [Number(1), (Number(1),), Settings, [1], np.float64(1), object(), lambda: None])
def test_values_that_may_change_have_none(value: object) -> None:
    assert not has_key([1, value])


def test_arrays_with_a_kind_have_a_key(gpu: Gpu) -> None:
    x: Any = gpu.tensor(np.ones(3, np.float32))
    assert has_key([x, 2])
    assert has_key([x, np.array(3.0)])
    assert not has_key([x, [3.0]])
