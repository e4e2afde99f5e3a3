"""Floats of 8 bits: the instruction that rounds to them gives the bytes of the arithmetic for targets without it."""

from __future__ import annotations

import numpy as np
import pytest

import warpfold as wf

HALVES = np.arange(0x7C01, dtype=np.uint16).view(np.float16).astype(np.float32)
"""All halves up to infinity: results of all magnitudes, halfway between two of them, and beyond the range."""
X = np.concatenate([HALVES, -HALVES, np.float32([np.nan, -np.nan])])


@pytest.mark.parametrize(("name", "instruction"), [("float8_e4m3fn", "e4m3x2"), ("float8_e5m2", "e5m2x2")])
def test_both_ways_to_round_give_the_same_bytes(name: str, instruction: str) -> None:
    """Two elements an instruction, and one of a row of odd length; NaN is 0x7f, whatever its sign."""

    @wf.program
    def rounded(x: object) -> object:
        return wf.cast(x, name)

    for x in (X[: len(X) // 4 * 4], X[-33:]):
        old, new = (rounded.compile(x, arch=arch) for arch in ("sm_80", "sm_90a"))
        found = [f"cvt.rn.satfinite.{instruction}.f32" in made.ptx for made in (old, new)]
        assert found == [False, True]
        np.testing.assert_array_equal(new(x).view(np.uint8), old(x).view(np.uint8))
    assert new(x).view(np.uint8)[-2:].tolist() == [0x7F, 0x7F]
