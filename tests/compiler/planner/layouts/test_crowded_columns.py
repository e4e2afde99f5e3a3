"""Crowded columns: lanes lie along short rows of a middle axis, and where they do not."""

from __future__ import annotations

import pytest
from tasks import simple

from warpfold.compiler.planner.choose import choose


@pytest.mark.parametrize(
    ("shape", "t", "lanes", "unroll"),
    [
        ((1 << 18, 16, 8), "bf16", 8, 2),
        ((1 << 18, 8, 24), "bf16", 4, 2),
        ((1 << 18, 4, 16), "bf16", 2, 2),
        ((1 << 18, 20, 8), "bf16", 8, 4),
        ((1 << 18, 250, 8), "bf16", 8, 4),
        ((1 << 18, 16, 8), "f32", 8, 2),
        ((1 << 18, 16, 8), "i32", 8, 2),
        ((1 << 18, 64, 4), "f64", 8, 4),
        ((1 << 18, 16, 16), "f32", 8, 2),
    ],
)
def test_lanes_lie_along_short_rows(shape: tuple[int, ...], t: str, lanes: int, unroll: int) -> None:
    plan = choose(simple("sum", shape, (1,), t)).plan
    assert (plan.fast, plan.walk, plan.vector * int(t.lstrip("bif")) // 8) == ("kept", "interleaved", 16)
    assert (plan.lanes, plan.unroll, plan.warps, plan.warps_kept) == (lanes, unroll, 1, 8)


@pytest.mark.parametrize(
    ("what", "shape", "t"),
    [
        ("sum", (1 << 18, 16, 40), "bf16"),  # rows of 80 bytes
        ("sum", (1 << 18, 300, 8), "bf16"),  # more rows
        ("sum", (1 << 8, 16, 8), "bf16"),  # a small array
        ("sum", (1 << 18, 16, 12), "bf16"),  # rows are no whole accesses
        ("sum", (1 << 18, 16, 16), "i8"),
        ("sum", (1 << 18, 16, 8), "i16"),
        ("sum", (1 << 18, 101, 4), "f64"),
        ("sum", (1 << 18, 16, 2), "f64"),  # rows of one access
        ("var", (1 << 18, 16, 8), "bf16"),
        ("argmax", (1 << 18, 16, 8), "bf16"),
    ],
)
def test_others_are_read_otherwise(what: str, shape: tuple[int, ...], t: str) -> None:
    plan = choose(simple(what, shape, (1,), t)).plan
    assert (plan.lanes, plan.warps_kept) != (8, 8)


@pytest.mark.parametrize(
    ("shape", "t", "lanes"),
    [
        ((1 << 12, 1000, 2), "f64", 32),
        ((1 << 12, 4000, 8), "f32", 16),
        ((1 << 12, 1500, 4), "bf16", 32),
        ((1 << 12, 999, 2), "f64", 4),
        ((1 << 12, 1000, 16), "f32", 4),  # rows of 64 bytes
        ((1 << 10, 1000, 2), "f64", 4),  # too few CTAs
    ],
)
def test_a_cta_reads_many_short_rows(shape: tuple[int, ...], t: str, lanes: int) -> None:
    plan = choose(simple("sum", shape, (1,), t)).plan
    assert (plan.fast, plan.lanes, plan.warps, plan.warps_kept) == ("kept", lanes, 8, 1)
