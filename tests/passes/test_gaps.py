"""Gaps between the rows of narrow columns are read but not reduced or written; the last row's gap is not read."""

from __future__ import annotations

import numpy as np
from arrays import laid, numbers

import warpfold as wf
from warpfold.compiler.driver.artifact import Artifact
from warpfold.runtime.emulator.counters import total
from warpfold.runtime.emulator.profiler import Profiler


def test_several_kept_dims(artifacts: list[Artifact]) -> None:
    big = numbers((5, 400, 12), np.float32)
    big[..., 9:] = np.nan
    x = big[..., :9]
    np.testing.assert_array_equal(wf.sum(x, axis=1, plan="walk=period", device="emulator"), x.sum(axis=1))
    assert (artifacts[-1].main.facts.gapped, artifacts[-1].main.facts.access) == (True, ("period",))


def test_a_large_array_has_the_layout_without_a_plan(artifacts: list[Artifact], profiler: Profiler) -> None:
    """Each line is read once: a fifth less than the columns' bytes, and what the finish reads."""
    x, _ = laid(numbers((1 << 19, 9), np.int8), (10, 1))
    np.testing.assert_array_equal(wf.sum(x, axis=0, device="emulator"), x.sum(axis=0))
    assert artifacts[0].main.facts.gapped
    sectors = total(profiler.profiles).traffic("global load").sectors
    assert sectors < 1.1 * (10 << 19) / 32
