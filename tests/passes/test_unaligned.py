"""Arrays that begin anywhere are read in whole accesses, which stay inside the array's memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from covering import covering

import warpfold as wf

TYPES = [np.int8, np.float16, np.float32]


def check(x: np.ndarray[Any, Any], axis: int | tuple[int, ...], plan: str = "") -> None:
    """Compares on the emulator, which knows where the memory of ``x`` (its elements and gaps) ends."""
    found = wf.reduce(x, "sum", axis=axis, plan=plan, device="emulator")
    np.testing.assert_array_equal(found.astype(np.float64), x.astype(np.float64).sum(axis=axis))


def filled(shape: tuple[int, ...], t: type) -> np.ndarray[Any, Any]:
    """Numbers whose sums every type holds."""
    return (np.random.default_rng(3).random(shape) < 0.3).astype(t)


@covering(
    ("t", TYPES),
    (
        ("shape", "part", "axis"),
        [
            ((8, 9, 51), np.s_[:, :8], (0, 1)),
            ((40, 60, 51), np.s_[:, :59], (0, 1)),
            ((3, 9, 301), np.s_[:, :8], (0, 1)),
            ((8, 5, 9, 51), np.s_[:, :, :8], (0, 1, 2)),
            ((8, 9, 51), np.s_[:, 1:, 2:], (0, 1)),
            ((6, 9, 5, 27), np.s_[:, :8], (0, 1)),
            ((9, 6, 5, 27), np.s_[:, ::-1, :4], (0, 2)),
        ],
    ),
)
def test_images_cut_out_of_others(t: type, shape: tuple[int, ...], part: Any, axis: tuple[int, ...]) -> None:
    """Several dims are reduced, and the last row ends where the memory does."""
    check(filled(shape, t)[part], axis)


@pytest.mark.parametrize("plan", ["cluster=4,lanes=1,warps=1", "cluster=4", "cluster=8,vector=16"])
def test_ctas_of_a_cluster_without_elements(plan: str) -> None:
    """Rows that begin anywhere and are so short that some CTAs have no elements."""
    check(filled((3, 1000), np.int8)[:, 15:], 1, plan)
    check(filled((200, 57), np.int8)[:, 15:], 1, plan)
