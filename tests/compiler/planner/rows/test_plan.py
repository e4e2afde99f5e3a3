"""Rows: the width of an access, and the CTAs that share long rows."""

from __future__ import annotations

import pytest
from tasks import MANY, simple

from warpfold.compiler.dtypes import dtype
from warpfold.compiler.planner.alignment import HALF, WIDEST
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.limits import SHIFTED_ACCESSES
from warpfold.runtime.api import plan_for


@pytest.mark.parametrize(
    ("shape", "start", "kind"),
    [((64, 4096), 0, "aligned"), ((64, 4096), 1, "shifted"), ((64, 4097), 0, "shifted"), ((4097,), 3, "shifted")],
)
def test_rows_that_start_anywhere_are_read_from_the_boundary_before(
    shape: tuple[int, ...], start: int, kind: str
) -> None:
    choice = choose(simple("sum", shape, (len(shape) - 1,), "f32", start))
    assert choice.facts.access == (kind,)
    assert choice.plan.vector == 4


def test_rows_aligned_for_half_an_access_are_read_by_half_accesses() -> None:
    """Not from the boundary before, whatever their length."""
    for n, t in ((1002, "f32"), (20_004, "f16"), (20_008, "i8")):
        choice = choose(simple("max", (MANY, n), (1,), t))
        assert (choice.plan.vector * dtype(t).itemsize, choice.facts.access) == (HALF, ("aligned",))


@pytest.mark.parametrize("t", ["i8", "f16", "f32", "f64"])
def test_a_row_that_begins_anywhere_is_read_in_vectors_where_it_is_long_enough(t: str) -> None:
    item = dtype(t).itemsize
    wide = (HALF if item <= 2 else WIDEST) // item
    shortest = SHIFTED_ACCESSES[item] * wide
    for n, kind in ((shortest - 1, "strided"), (shortest + 1, "shifted")):
        choice = choose(simple("max", (MANY, n), (1,), t))
        assert choice.facts.access == (kind,)
        assert choice.plan.vector == (wide if kind == "shifted" else 1)


@pytest.mark.parametrize(("t", "vector", "unroll"), [("bf16", 8, 4), ("f32", 4, 4), ("i8", 4, 8)])
def test_values_shared_by_all_elements_take_no_registers_of_each(t: str, vector: int, unroll: int) -> None:
    """In large arrays only two of a variance's three values count, so accesses are as wide as possible."""
    large = choose(simple("var", (MANY, 8192), (1,), t)).plan
    assert (large.vector, large.unroll) == (vector, unroll)
    assert choose(simple("var", (4, 8192), (1,), "bf16")).plan.vector == 4


@pytest.mark.parametrize("t", ["i8", "bool"])
@pytest.mark.parametrize(("n", "threads"), [(1555, 8), (5051, 16), (46977, 128), (188_989, 256)])
def test_numbered_bytes_that_begin_anywhere_have_few_masked(t: str, n: int, threads: int) -> None:
    """Half an access, except truth values, whose mask is one comparison a word. Few rows keep whole accesses."""
    plan = plan_for("argmax", ((1 << 28) // n, n), t, axis=1).choice.plan
    assert (plan.vector, plan.positions, plan.unroll) == (16 if t == "bool" else 8, threads, 2)
    few = plan_for("argmax", (64, n), t, axis=1).choice.plan
    assert (few.vector, few.unroll) == (16, 2 if t == "bool" else 1)


@pytest.mark.parametrize(("n", "lanes", "unroll"), [(30, 1, 1), (100, 1, 4), (300, 1, 4), (1001, 4, 4), (1201, 4, 0)])
def test_short_rows_of_numbered_bytes_are_copied(n: int, lanes: int, unroll: int) -> None:
    """If they are long enough, the copy is read by half accesses, in steps of as many as there are."""
    plan = plan_for("argmax", ((1 << 27) // n, n), "i8", axis=1).choice.plan
    assert bool(plan.tile_bytes) == bool(unroll)
    if plan.tile_bytes:
        assert (plan.vector, plan.lanes, plan.unroll) == (8 if n > 30 else 4, lanes, unroll)


@pytest.mark.parametrize(
    ("what", "t", "warps"),
    [("sum", "f32", 16), ("sum", "bf16", 16), ("sum", "f64", 16), ("norm", "f32", 16), ("any", "bool", 16),
     ("max", "i8", 16), ("argmax", "f32", 16), ("sum", "i32", 8), ("var", "f32", 8), ("logsumexp", "f32", 8),
     ("mean", "i32", 8), ("norm", "i8", 8), ("nansum", "f32", 8), ("sum", "f8e4m3fn", 8), ("count_nonzero", "f64", 8)],
)  # fmt: skip
def test_ctas_that_share_rows_are_large_where_states_are_light(what: str, t: str, warps: int) -> None:
    """A light state has one register, or is as wide as an element and made from it by at most one operation."""
    assert [plan_for(what, (n,), t).choice.plan.warps for n in (1 << 26, (1 << 26) + 64)] == [warps, warps]
    assert plan_for(what, (1 << 19,), t).choice.plan.warps == 8, "a small array"


@pytest.mark.parametrize(
    ("what", "t", "n", "warps", "unroll"),
    [
        ("sum", "f32", 2048, 8, 4), ("sum", "f32", 2049, 16, 2), ("sum", "f32", 4097, 16, 4),
        ("var", "f32", 4096, 8, 4), ("max", "f64", 4096, 16, 4), ("sum", "bf16", 16384, 16, 4),
        ("sum", "i8", 16384, 16, 2),
    ],
)  # fmt: skip
def test_few_rows_are_read_in_one_step(what: str, t: str, n: int, warps: int, unroll: int) -> None:
    """By 512 threads where states are light and each row has an SM."""
    plan = choose(simple(what, (n,), (0,), t)).plan
    assert (plan.lanes, plan.warps, plan.unroll, plan.cluster, plan.finish) == (32, warps, unroll, 1, "cta")
    many = choose(simple(what, (200, n), (1,), t)).plan
    assert many.lanes * many.warps <= 256
