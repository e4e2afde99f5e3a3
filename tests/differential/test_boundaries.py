"""Sizes on both sides of every boundary of the planner, in every arrangement that it tells apart."""

from __future__ import annotations

from math import prod

import pytest

from warpfold.runtime.api import plan_for

from .case import Case, check
from .layouts import Layout, dense

GROUPS = (
    ("sum", "f32"), ("sum", "bf16"), ("sum", "i8"), ("max", "f32"), ("max", "u16"), ("argmin", "f64"),
    ("argmin", "i32"), ("any", "bool"), ("mean", "f32"), ("count_nonzero", "i16"), ("nansum", "f16"),
)  # fmt: skip
"""Functions and types that between them have every kind of state and every width of element."""
SIZES = (1, 2, 31, 32, 33, 127, 128, 129, 257, 1023, 1024, 1025, 4095, 4097, 32769, 65537)
MOST = 70_000
"""Elements of the largest array."""


def arrangements(dtype: str, n: int) -> list[tuple[Layout, int | None]]:
    """Arrays with ``n`` elements to a result (and, in the last two, ``n`` results), each with its axis."""
    found: list[tuple[Layout, int | None]] = [
        (dense(dtype, (n,)), None),
        (dense(dtype, (n,), 1), None),
        (Layout(dtype, (n,), (0,), (-1,)), None),
        (Layout(dtype, (n,), (0,), (3,), 2), None),
        (dense(dtype, (3, n)), 1),
        (dense(dtype, (n, 5), 1), 0),
        (dense(dtype, (n, 64)), 0),
        (dense(dtype, (2, n, 8)), 1),
        (dense(dtype, (n, 4), 3), 1),
        (dense(dtype, (7, n)), 0),
    ]
    return [(layout, axis) for layout, axis in found if prod(layout.shape) <= MOST]


def cases(group: int) -> list[Case]:
    """Sizes, those around the tile and the seams of the plan of a long row among them, and arrangements.

    The groups share the pairs of a size and an arrangement out among themselves: each pair comes in one or two of them.
    """
    function, dtype = GROUPS[group]
    tile = plan_for(function, (1 << 20,), dtype).choice.plan.tile
    sizes = sorted({*SIZES, *(k * tile + d for k in (1, 2, 3) for d in (-1, 0, 1))})
    return [
        Case(function, (layout,), axis, elements, seed=n)
        for i, (n, elements) in enumerate(zip(sizes, ("whole", "special") * len(sizes), strict=False))
        for j, (layout, axis) in enumerate(arrangements(dtype, n))
        if (i + 3 * j + group) % 8 == 0
    ]


@pytest.mark.parametrize("group", range(len(GROUPS)), ids=["-".join(group) for group in GROUPS])
def test_sizes_around_boundaries(group: int, device: str) -> None:
    for case in cases(group):
        check(case, device)
