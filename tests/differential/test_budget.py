"""The suite is as large as it says."""

from __future__ import annotations

from .budget import LEAST, LEAST_OF_PROGRAMS, MONOIDS, PLAIN, PROGRAMS, RANDOM, RUN, WITH_ARGUMENTS
from .test_boundaries import GROUPS, cases


def test_at_least_5000_distinct_cases_run() -> None:
    """Tests that search check their own number; the cases of two tests differ in function, arguments or shape."""
    grid = {case.key for function, dtype in GROUPS for case in cases(function, dtype)}
    assert sum((*PLAIN.values(), *WITH_ARGUMENTS.values(), *MONOIDS.values())) + len(grid) >= LEAST


def test_at_least_1100_distinct_cases_of_programs_run() -> None:
    assert sum((*PROGRAMS.values(), RANDOM, RUN)) >= LEAST_OF_PROGRAMS
