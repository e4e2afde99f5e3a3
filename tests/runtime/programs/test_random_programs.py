"""Random programs of arrays, run on the emulator, have NumPy's results."""

from __future__ import annotations

import inspect
from random import Random
from typing import Any

import numpy as np
import pytest
from random_programs import REFUSED, random_program

import warpfold as wf
from warpfold.compiler.errors import TraceError


@pytest.mark.parametrize("seed", range(40))
def test_a_program_has_the_results_of_numpy(seed: int) -> None:
    program = random_program(Random(seed))

    def function(*arrays: Any) -> Any:
        return program(*arrays)

    kind = inspect.Parameter.POSITIONAL_ONLY
    names = [inspect.Parameter(f"x{i}", kind) for i in range(len(program.arrays))]
    function.__signature__ = inspect.Signature(names)  # type: ignore[attr-defined]
    try:
        found = wf.program(function)(*program.arrays)
    except TraceError as e:
        assert e.code in REFUSED  # noqa: PT017 - seldom: most programs run
        return
    for f, e in zip(found, program(*program.arrays), strict=True):
        assert f.shape == e.shape
        np.testing.assert_array_equal(f, e)
