"""Every program of the library on arrays of every type and layout, with every option, residency and kind of out."""

from __future__ import annotations

import pytest

from .budget import search
from .program_case import check
from .program_strategies import FUNCTIONS, calls

DISTINCT = 60


@pytest.mark.parametrize("function", FUNCTIONS)
def test_programs(function: str, device: str) -> None:
    search(f"program {function}", calls(function), DISTINCT, lambda case: check(case, device))
