"""Random programs of arrays have NumPy's results, as a whole and in steps."""

from __future__ import annotations

import numpy as np
from array_programs import traced
from random_programs import REFUSED, distinct

from tests.compiler.program import steps_numpy
from tests.differential.budget import RANDOM
from warpfold.commands.checking.array_values import evaluate
from warpfold.compiler.errors import TraceError
from warpfold.compiler.program.cuts.cut import cut


def test_programs_have_the_results_of_numpy() -> None:
    """Also where each fold is a step, and where a step has as many folds as fit; steps do not split axes here."""
    refused = 0
    for seed, program in distinct(RANDOM):
        try:
            whole = traced(program, *program.arrays)
        except TraceError as e:
            assert e.code in REFUSED, (seed, e)  # noqa: PT017 - seldom: most programs are traced
            refused += 1
            continue
        expected = program(*program.arrays)
        for found, e in zip(evaluate(whole, program.arrays), expected, strict=True):
            assert found.shape == e.shape, (seed, program)
            np.testing.assert_array_equal(found, e, err_msg=f"{seed} {program}")
        for owned in (True, False) if not any(len(s.sizes) > 1 for s in (*whole.splits, *whole.slices)) else ():
            steps = cut(whole, lambda *_, owned=owned: owned)
            for found, e in zip(steps_numpy.run(steps, whole, program.arrays), expected, strict=True):
                np.testing.assert_array_equal(found.ravel(), e.ravel(), err_msg=f"{seed} {program}")
    assert refused < RANDOM / 50
