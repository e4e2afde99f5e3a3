"""Columns of small arrays: single elements where larger ones are read by periods, and where they are not."""

from __future__ import annotations

import numpy as np
import pytest
from tasks import simple

import warpfold as wf
from warpfold.compiler.planner.choose import choose


@pytest.mark.parametrize(
    ("what", "shape", "t"),
    [
        ("sum", (4096, 101), "f32"),
        ("sum", (83_000, 101), "f32"),
        ("argmax", (120_000, 65), "f32"),
        ("sum", (20_000, 201), "bf16"),
        ("sum", (127_100, 33), "f64"),
        ("sum", (41_527, 101), "i8"),
        ("var", (10_433, 201), "f32"),
        ("argmax", (63_550, 33), "f32"),
    ],
)
def test_small_arrays_are_read_by_single_elements(what: str, shape: tuple[int, int], t: str) -> None:
    plan = choose(simple(what, shape, (0,), t)).plan
    assert (plan.walk, plan.vector, plan.unroll, plan.lanes, plan.warps) == ("interleaved", 1, 8, 2, 8)


@pytest.mark.parametrize("t", ["f32", "f64"])
def test_lanes_lie_along_the_rows_of_few_columns(t: str) -> None:
    plan = choose(simple("sum", (200_000, 7), (0,), t)).plan
    assert (plan.walk, plan.warps) == ("interleaved", 8)
    assert plan.lanes >= 8


@pytest.mark.parametrize(
    ("what", "shape", "t"),
    [
        ("sum", (85_000, 101), "f32"),  # more elements
        ("sum", (130_000, 33), "f32"),
        ("sum", (45_000, 101), "bf16"),
        ("sum", (400_000, 7), "f32"),
        ("sum", (60_000, 17), "f32"),
        ("any", (40_000, 101), "bool"),
    ],
)
def test_others_are_read_as_they_were(what: str, shape: tuple[int, int], t: str) -> None:
    assert choose(simple(what, shape, (0,), t)).plan.walk in ("period", "staggered")


def test_the_sums_are_right() -> None:
    x = np.random.default_rng(4).standard_normal((3600, 37))
    assert choose(simple("sum", x.shape, (0,), "f64")).plan.lanes == 2
    np.testing.assert_allclose(wf.sum(x, axis=0, device="emulator"), x.sum(0), rtol=1e-12)
