"""2^x of the emulator has the bits of an H100."""

from __future__ import annotations

import json

import numpy as np
import pytest
from covering import some
from emulator_harness import DATA
from exp2_digests import INSTRUCTIONS, arguments, digest

from warpfold.runtime.emulator.instructions.approximate import exp2, exp2_flushed

MEASURED = json.loads((DATA / "exp2.json").read_text())
FUNCTIONS = dict(zip(INSTRUCTIONS, (exp2_flushed, exp2), strict=True))
NEGATIVE, ONE = 256, 127
"""Blocks count signs and biased exponents."""
CASES = [("ex2.approx.ftz.f32", b) for b in (0, ONE - 9, ONE, ONE + 6, NEGATIVE + ONE - 24, NEGATIVE + ONE + 3)]
CASES += [("ex2.approx.f32", NEGATIVE + ONE + k) for k in (6, 7)] + [("ex2.approx.ftz.f32", 255)]


@pytest.mark.parametrize(("instruction", "block"), some(CASES, 4))
def test_all_arguments_of_an_exponent_have_the_bits_of_an_h100(instruction: str, block: int) -> None:
    assert digest(FUNCTIONS[instruction](arguments(block))) == MEASURED[instruction][block]


def test_the_error_is_below_the_bound_of_the_isa() -> None:
    x = np.random.default_rng(1).uniform(-125, 127, 100_000).astype(np.float32)
    exact = np.exp2(x.astype(np.float64))
    assert (np.abs(exp2_flushed(x) - exact) <= 2.0**-22 * exact).all()
