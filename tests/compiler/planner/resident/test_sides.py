"""Persistent CTAs for side folds: how many threads share a row, and how many CTAs an SM holds."""

from __future__ import annotations

import re
from typing import Any

import pytest
from covering import covering

import warpfold as wf
from warpfold.compiler.dtypes import dtype
from warpfold.compiler.planner.resident import uneven
from warpfold.runtime import ptxas
from warpfold.runtime.view import ArraySpec

NORMS = {"layer": (wf.vjp(wf.layer_norm), 2), "rms": (wf.vjp(wf.rms_norm), 1)}


def _plan(norm: str, rows: int, columns: int, t: str) -> Any:
    """The plan of the gradient of a norm; None where its rows are cut from its weights."""
    function, weights = NORMS[norm]
    xs = [((rows, columns), t)] * 2 + [((columns,), t)] * weights
    steps = function._planned(xs, {}, "sm_90a").prepared.steps
    return steps[0].prepared.choice.plan if len(steps) == 1 else None


@covering(
    ("norm", NORMS),
    (("columns", "t"), [(128, "bf16"), (768, "f32"), (4096, "bf16"), (4096, "f32"), (12288, "bf16"), (4095, "bf16")]),
)
def test_nothing_spills(norm: str, columns: int, t: str) -> None:
    """Not in the loop over rows: a spill there takes longer than any other plan."""
    if ptxas.find_ptxas() is None:
        pytest.skip("ptxas, which says what spills, is not installed")
    function, weights = NORMS[norm]
    compiled = function.compile(*[((131072, columns), t)] * 2, *[((columns,), t)] * weights)
    (text,) = compiled.ptx if isinstance(compiled.ptx, tuple | list) else (compiled.ptx,)
    assert re.search(rf"\.minnctapersm {compiled.plans[0].persistent}\b", text)
    assert ptxas.assemble(text, "sm_90a").spills == 0


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("columns", [64, 512, 768, 1024, 2048, 3072, 4096, 6144, 8192])
def test_a_thread_keeps_its_columns_in_registers(norm: str, columns: int) -> None:
    plan = _plan(norm, 131072, columns, "bf16")
    assert plan.held * plan.positions * plan.vector >= columns
    assert plan.held * plan.vector <= 32
    assert 1 <= plan.persistent * plan.threads <= 2048


@pytest.mark.parametrize(("columns", "t"), [(65536, "bf16"), (40960, "f32"), (515, "bf16")])
def test_other_rows_are_cut(columns: int, t: str) -> None:
    assert _plan("layer", 32768, columns, t) is None


@pytest.mark.parametrize(("columns", "t", "sets"), [(12288, "bf16", 2), (16384, "f32", 1), (12289, "f32", 1)])
def test_a_long_row_waits_in_shared_memory(columns: int, t: str, sets: int) -> None:
    """Where there is room, beside weights of rows that begin anywhere, the next one is copied while it is read."""
    plan = _plan("layer", 32768, columns, t)
    assert (plan.resident, plan.persistent, plan.sets) == ("shared", 1, sets)


def test_weights_are_read_once_if_there_is_room() -> None:
    assert _plan("layer", 32768, 12288, "bf16").reads == "ahead"
    assert _plan("layer", 32768, 20480, "f32").reads == ""


def test_a_cta_of_few_rows_is_cut() -> None:
    assert _plan("layer", 1000, 4096, "bf16") is None
    assert _plan("layer", 2000, 4096, "bf16") is not None


def test_a_thread_holds_no_more_accesses_than_a_plan_may_have() -> None:
    """Rows of a slice wait by single elements: of 256 threads each would hold 65."""
    n, t = 16385, dtype("f32")
    x, w = ArraySpec((1000, n), (n + 2, 1), 4, t), ArraySpec((n,), (1,), 0, t)
    steps = wf.vjp(wf.rms_norm)._planned([x, x, w], {}, "sm_90a").prepared.steps
    assert steps[0].prepared.choice.plan.held == 33


@pytest.mark.parametrize(
    ("norm", "rows", "columns", "t", "ctas"),
    [
        ("layer", 132, 1024, "f32", 0), ("layer", 300, 1024, "f32", 1), ("layer", 300, 2048, "f32", 0),
        ("rms", 300, 2048, "f32", 1), ("layer", 4224, 1024, "f32", 2), ("layer", 65536, 1024, "f32", 4),
        ("layer", 300, 256, "bf16", 0), ("rms", 2112, 256, "bf16", 1), ("layer", 1056, 1001, "f32", 0),
    ],
)  # fmt: skip
def test_an_sm_has_fewer_ctas_of_few_rows(norm: str, rows: int, columns: int, t: str, ctas: int) -> None:
    """None, where a second kernel reads the rows sooner than the states of CTAs are combined."""
    plan = _plan(norm, rows, columns, t)
    assert (plan.persistent if plan else 0) == ctas


@pytest.mark.parametrize(
    ("columns", "warps", "held"), [(777, 1, 4), (2047, 3, 3), (4095, 6, 3), (5001, 4, 5), (8191, 11, 3)]
)
def test_rows_that_begin_anywhere_have_as_many_warps_as_they_need(columns: int, warps: int, held: int) -> None:
    plan = _plan("layer", 65536, columns, "bf16")
    assert (plan.resident, plan.warps, plan.held) == ("registers", warps, held)
    assert columns + 7 <= plan.held * plan.positions * plan.vector <= 1.35 * columns


def test_an_sm_has_registers_for_all_warps() -> None:
    """Four files of them, to which warps are dealt out; if it can be, each gets as many."""
    assert [uneven.ctas_of(warps, 148) for warps in (1, 3, 6, 9, 11, 13)] == [12, 4, 2, 1, 1, 0]
