"""Every built-in reduction on arrays of every type and layout, with every axis and argument."""

from __future__ import annotations

import pytest

from .budget import PLAIN, WITH_ARGUMENTS, search
from .case import check
from .strategies import FUNCTIONS, plain, with_arguments


@pytest.mark.parametrize("function", FUNCTIONS)
def test_arrays_of_every_layout(function: str, device: str) -> None:
    search(f"plain {function}", plain(function), PLAIN[function], lambda case: check(case, device))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_masks_initial_values_types_and_out(function: str, device: str) -> None:
    search(
        f"arguments {function}", with_arguments(function), WITH_ARGUMENTS[function], lambda case: check(case, device)
    )
