"""Rows that a CTA folds once and then gathers from: which steps are planned so."""

from __future__ import annotations

from typing import Any

import pytest

import warpfold as wf
from warpfold.compiler.plan.plan import Plan


@wf.program
def weighted(x: Any, target: Any) -> Any:
    """The elements of a row beside the one of its target, divided by its sum."""
    xp = x.__array_namespace__()
    return (x - xp.take_along_axis(x, target[:, None], axis=1)) / xp.sum(x, axis=1, keepdims=True)


@wf.program
def chosen(x: Any, target: Any) -> Any:
    """The sum of the elements of a row, each multiplied with that of the target."""
    xp = x.__array_namespace__()
    return xp.sum(x * xp.take_along_axis(x, target[:, None], axis=1), axis=1)


def _plans(function: Any, *xs: Any, arch: str = "sm_90a", **how: Any) -> list[Plan]:
    """The plans of the steps of a program."""
    return [own.prepared.choice.plan for own in function._planned(xs, how, arch).prepared.steps]


def _rows(rows: int, columns: int, t: str = "f32") -> tuple[Any, Any]:
    return ((rows, columns), t), ((rows,), "i64")


@pytest.mark.parametrize(
    ("rows", "columns", "t", "warps", "cluster"),
    [
        (4096, 131072, "bf16", 16, 1),  # many rows of narrow elements
        (400, 131072, "bf16", 8, 1),  # SMs would have one or two CTAs of 16 warps
        (8192, 32768, "f32", 8, 4),
        (4096, 131072, "f32", 8, 8),  # 64 KiB in each CTA
        (4096, 32768, "f64", 8, 4),
        (150, 131072, "bf16", 8, 2),  # more rows than SMs, but fewer than two for each
        (100, 131072, "f32", 16, 2),
        (64, 131072, "f32", 32, 2),  # each SM has one CTA
        (30, 131072, "f32", 8, 8),
    ],
)
def test_a_cross_entropy_of_long_rows_is_one_kernel(rows: int, columns: int, t: str, warps: int, cluster: int) -> None:
    (plan,) = _plans(wf.cross_entropy, *_rows(rows, columns, t), reduction="none")
    assert (plan.resident, plan.held, plan.fast) == ("memory", 0, "reduced")
    assert (plan.warps, plan.cluster) == (warps, cluster)


@pytest.mark.parametrize(
    ("rows", "columns", "how"),
    [
        (4096, 131071, {}),  # accesses would have masks
        (4096, 131076, {"x": "bf16"}),  # accesses would have 8 bytes
        (4096, 8192, {}),  # rows wait in registers
        (4096, 65536, {"determinism": "portable"}),  # a plan for any machine
        (20, 131072, {}),  # too few for clusters
        (4096, 131072, {"plan": "resident=none"}),
        (4096, 131072, {"arch": "sm_80"}),  # no clusters
    ],
)
def test_other_rows_are_not_folded_so(rows: int, columns: int, how: dict[str, Any]) -> None:
    given = {name: value for name, value in how.items() if name not in ("x", "arch")}
    xs = _rows(rows, columns, how.get("x", "f32"))
    plans = _plans(wf.cross_entropy, *xs, arch=how.get("arch", "sm_90a"), reduction="none", **given)
    assert "memory" not in {plan.resident for plan in plans}


def test_results_with_elements_and_folds_of_gathers_are_others() -> None:
    x, target = _rows(4096, 131072)
    for function in (weighted, chosen):
        assert "memory" not in {plan.resident for plan in _plans(function, x, target)}
