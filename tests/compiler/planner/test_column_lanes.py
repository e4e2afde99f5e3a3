"""How many lanes and warps of columns lie along the kept axis."""

from __future__ import annotations

import pytest
from tasks import MANY, simple, sliced

from warpfold.compiler.planner.choose import choose


@pytest.mark.parametrize(("width", "lanes"), [(5, 2), (8, 2), (9, 4), (16, 4), (17, 8), (257, 8)])
def test_few_columns_get_few_lanes(width: int, lanes: int) -> None:
    """Rows with an element between them, which cannot be read as one row."""
    assert choose(sliced("max", (MANY, width))).plan.lanes_kept == lanes


@pytest.mark.parametrize(
    ("what", "t", "shape", "lanes", "warps"),
    [
        ("sum", "f32", (1 << 20, 32), 4, 16),
        ("sum", "f32", (1 << 20, 64), 2, 16),
        ("max", "bf16", (1 << 19, 320), 2, 16),
        ("sum", "f64", (1 << 19, 96), 2, 16),
        ("sum", "f32", (1 << 17, 256), 2, 8),  # a row of eight lines
        ("sum", "f32", (1 << 17, 64), 4, 8),  # half of the bytes
        ("sum", "i8", (1 << 20, 128), 2, 8),
        ("argmax", "f32", (1 << 20, 64), 2, 8),
    ],
)
def test_narrow_rows_are_read_by_two_lines_and_many_warps(
    what: str, t: str, shape: tuple[int, int], lanes: int, warps: int
) -> None:
    plan = choose(simple(what, shape, (0,), t)).plan
    assert (plan.fast, plan.walk, plan.lanes, plan.warps, plan.warps_kept) == ("kept", "interleaved", lanes, warps, 1)
