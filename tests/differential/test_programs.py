"""Every program of the library on arrays of every type and layout, with every option, residency and kind of out."""

from __future__ import annotations

import pytest

from .budget import PROGRAMS, search
from .program_case import check
from .program_strategies import FUNCTIONS, calls


@pytest.mark.parametrize("function", FUNCTIONS)
def test_calls_of_every_kind(function: str, device: str) -> None:
    search(f"program {function}", calls(function), PROGRAMS[function], lambda case: check(case, device))
