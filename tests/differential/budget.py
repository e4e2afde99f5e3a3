"""How many cases the searches run; ``WARPFOLD_CASES=every`` runs ten times as many.

The numbers are small: what matters is that each function, layout and size can come up.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any
from zlib import crc32

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from .program_strategies import FUNCTIONS as LIBRARY
from .strategies import FUNCTIONS
from .user_monoids import SUBJECTS

SCALE = 10 if os.environ.get("WARPFOLD_CASES") == "every" else 1
_HEAVY = {"describe": 0.5, "logsumexp": 0.6, "dot": 0.4}
"""Functions that take a share of the usual number: their kernels take long to compile, or have one shape only."""
PLAIN = {f: int(9 * _HEAVY.get(f, 1)) * SCALE for f in FUNCTIONS}
WITH_ARGUMENTS = {f: int(8 * _HEAVY.get(f, 1)) * SCALE for f in FUNCTIONS}
MONOIDS = dict.fromkeys(SUBJECTS, 7 * SCALE)
PROGRAMS = dict.fromkeys(LIBRARY, 8 * SCALE)
"""Calls of each program of the library."""
RANDOM, RUN = 400 * SCALE, 40 * SCALE
"""Random programs of arrays, with their gradients: those that NumPy runs in steps, and those that the emulator runs."""


def search(name: str, strategy: st.SearchStrategy[Any], distinct: int, check: Callable[[Any], Any]) -> None:
    """Runs ``check`` on about ``distinct`` distinct cases, the same on every run; one that fails is made small."""
    seen: set[Any] = set()
    failed = False

    @seed(crc32(name.encode()))
    @settings(
        max_examples=distinct + distinct // 4, deadline=None, database=None, phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def run(case: Any) -> None:
        nonlocal failed
        # Once one failed, nothing is left out: the search for a smaller one would take it for a case that passes.
        if not failed and (case.key in seen or len(seen) == distinct):
            return
        try:
            check(case)
        except BaseException:
            failed = True
            raise
        seen.add(case.key)

    run()
    assert 2 * len(seen) > distinct, f"{len(seen)} distinct cases, not {distinct}"
