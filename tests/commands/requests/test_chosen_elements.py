"""Arrays of indices are drawn from the indices of the axis along which they choose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.commands.requests.chosen_elements import choices
from warpfold.commands.requests.program_request import ProgramRequest
from warpfold.compiler.dtypes import F32, I64
from warpfold.compiler.program.arrays.trace import ArrayArg, trace_arrays


def of(function: Any, *shapes: tuple[int, ...]) -> dict[int, int]:
    kinds = [ArrayArg(I64 if i else F32, shape) for i, shape in enumerate(shapes)]
    return choices(trace_arrays(function, kinds, {}), shapes)


def test_the_size_of_the_axis_is_found_behind_elementwise_code() -> None:
    def picked(x: Any, i: Any, j: Any, k: Any) -> Any:
        xp = x.__array_namespace__()
        return xp.take(wf.exp(x), i + 1, axis=0), xp.sum(j), k * 2

    assert of(picked, (7, 5), (3,), (4,), (4,)) == {1: 7}


def test_of_several_axes_the_least_counts() -> None:
    def both(x: Any, i: Any) -> Any:
        xp = x.__array_namespace__()
        return xp.take(x, i, axis=0), xp.take(x, i, axis=1)

    assert of(both, (7, 5), (3,)) == {1: 5}


def test_numbers_that_choose_nothing_are_of_any_size() -> None:
    assert of(lambda x, i: x + i, (7, 5), (5,)) == {}


@pytest.mark.parametrize("t", ["i64", "u8", "i16"])
@pytest.mark.parametrize("shapes", [("6x300", "6"), ("4x7x3", "4x3")])
def test_targets_of_losses_are_classes(t: str, shapes: tuple[str, ...]) -> None:
    request = ProgramRequest(wf.cross_entropy, "cross_entropy", shapes=shapes, dtype=f"f32,{t}")
    x, target = request.arrays
    assert target.min() >= 0
    assert target.max() < x.shape[1]
    assert len(np.unique(target)) > 1
    assert np.isfinite(wf.cross_entropy(x, target))
