"""Random programs of arrays, and their gradients, have the results of NumPy and PyTorch, as a whole and in steps."""

from __future__ import annotations

import random_checks as checks
from random_programs import RandomProgram
from random_shrinking import failure, smallest

from tests.differential.budget import RANDOM


def test_programs_have_the_results_of_numpy() -> None:
    """As a whole, as they are planned, and cut at random; ``tests/random_programs.py --seeds`` runs more of them."""
    traced = [checks.checked(checks.in_steps, seed) for seed in range(RANDOM)]
    assert sum(traced) > 0.95 * RANDOM


def test_a_step_may_read_rows_after_its_fold() -> None:
    """Under one cut, a gradient of this program has a step whose result is a value of rows, beside its fold."""
    assert checks.checked(checks.in_steps, 23526)


def test_a_failure_is_made_small() -> None:
    """Of a program that fails where it has a product, the product of an argument is left."""

    def fails(program: RandomProgram, _: int) -> bool:
        assert not any("xp.multiply" in code for code, _ in program.steps)
        return True

    seed = next(s for s in range(100) if failure(fails, checks.drawn(s), s))
    small = smallest(fails, checks.drawn(seed), seed, "AssertionError")
    assert len(small.steps) == 1
    assert all(set(a.shape) <= {1} and a.layout == "plain" for a in small.arguments)
