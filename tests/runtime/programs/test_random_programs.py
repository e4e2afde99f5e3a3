"""Random programs of arrays of any type and layout, and their gradients, have NumPy's and PyTorch's results."""

from __future__ import annotations

import random_checks as checks

from tests.differential.budget import RUN


def test_programs_have_the_results_of_numpy() -> None:
    traced = [checks.checked(checks.on_emulator, seed) for seed in range(RUN)]
    assert sum(traced) > 0.9 * RUN
