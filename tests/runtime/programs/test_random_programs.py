"""Random programs of arrays of any layout have NumPy's results, whatever the plan."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from random_programs import REFUSED, distinct, positional

import warpfold as wf
from tests.differential.budget import RUN
from warpfold.compiler.errors import PlanError, TraceError

PLANS = ("", "", "resident=none", "resident=memory", "resident=shared", "vector=1")
LAYOUTS: tuple[Callable[[Any], Any], ...] = (
    lambda a: a,
    lambda a: a.T.copy().T,
    lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    lambda a: a[::-1].copy()[::-1],
    lambda a: np.concatenate([[0.0], a.ravel()])[1:].reshape(a.shape),
)
"""C and Fortran order, with gaps, backwards, and misaligned."""


def test_programs_have_the_results_of_numpy() -> None:
    for seed, program in distinct(RUN, most=12):
        rng = Random(seed)
        made = range(len(program.arrays), len(program.arrays) + len(program.steps))
        program.returned = tuple(sorted(rng.sample(made, min(len(made), rng.randint(1, 4)))))
        arrays = [rng.choice(LAYOUTS)(a) if a.ndim else a for a in program.arrays]
        plan, determinism = rng.choice(PLANS), rng.choice(("run", "portable"))
        call, how = wf.program(positional(program)), {"determinism": determinism}
        try:
            found = call(*arrays, **how, **({"plan": plan} if plan else {}))
        except PlanError as e:
            assert e.code == "WF427", (seed, e)  # noqa: PT017 - no row waits
            found = call(*arrays, **how)
        except TraceError as e:
            assert e.code in REFUSED, (seed, e)  # noqa: PT017
            continue
        for f, e in zip(found, program(*program.arrays), strict=True):
            assert f.shape == e.shape, (seed, program)
            np.testing.assert_array_equal(f, e, err_msg=f"{seed} {plan} {program}")
