"""Random programs of arrays have NumPy's results."""

from __future__ import annotations

from random import Random

import numpy as np
from array_programs import traced
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_programs import REFUSED, random_program

from warpfold.commands.checking.array_values import evaluate
from warpfold.compiler.errors import TraceError


@settings(max_examples=400)
@given(st.randoms(use_true_random=True))
def test_a_program_has_the_results_of_numpy(random: Random) -> None:
    program = random_program(random)
    try:
        traced_program = traced(program, *program.arrays)
    except TraceError as e:
        assume(e.code not in REFUSED)
        raise
    found = evaluate(traced_program, program.arrays)
    for f, e in zip(found, program(*program.arrays), strict=True):
        assert f.shape == e.shape
        np.testing.assert_array_equal(f, e)
