"""Rows of narrow elements read by half accesses: which rows, by how many threads, with how many in flight."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tasks import MANY, simple

from warpfold.compiler.dtypes import dtype
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.planner.alignment import HALF, WIDEST
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.limits import CTA_THREADS
from warpfold.compiler.planner.rows.half_accesses import (
    IN_VAIN,
    SHIFTED_PAIRS_BYTES,
    THREADS_OF_ALIGNED,
    THREADS_OF_OTHERS,
    THREADS_OF_SHIFTED_TRUTHS,
    at_once,
    serves,
)
from warpfold.compiler.target import WARP
from warpfold.runtime.api import plan_for


def plan(n: int, t: str, what: str = "max") -> Plan:
    """The plan of very many rows of ``n`` elements, read where they are."""
    return choose(simple(what, (MANY, n), (1,), t), "tile_bytes=0").plan


@pytest.mark.parametrize("what", ["max", "sum", "any"])
def test_aligned_rows_of_bytes_get_threads_by_their_length(what: str) -> None:
    """Bytes that are combined in words; the longest rows get a CTA each."""
    for (most, threads), (_, above) in pairwise([*THREADS_OF_ALIGNED.rows, (0, CTA_THREADS)]):
        found = [plan(n - n % HALF, "i8", what) for n in (most, most + HALF)]
        assert [p.positions for p in found] == [threads, above], most
        assert {p.vector for p in found} == {HALF}


def test_short_aligned_rows_of_bytes_that_are_taken_apart_are_read_by_half_accesses() -> None:
    for (most, threads), (_, above) in pairwise(THREADS_OF_OTHERS.rows):
        found = [plan(n - n % HALF, "i8", "prod") for n in (most, most + HALF)]
        assert [p.positions for p in found] == [threads, above], most
    longest = THREADS_OF_OTHERS.rows[-1][0]
    assert [serves(simple("prod", (MANY, n), (1,), "i8")) for n in (longest, longest + HALF)] == [True, False]
    assert not serves(simple("max", (MANY, 1024), (1,), "f16"))


@pytest.mark.parametrize(("t", "what"), [("i8", "max"), ("i8", "sum"), ("f16", "max"), ("bool", "any")])
def test_rows_that_begin_anywhere_get_threads_by_their_length(t: str, what: str) -> None:
    item = dtype(t).itemsize
    table = THREADS_OF_SHIFTED_TRUTHS.rows if what == "any" else THREADS_OF_OTHERS.rows
    for (most, threads), (_, above) in pairwise(table):
        if item > 1 and most + item > SHIFTED_PAIRS_BYTES:
            break
        found = [plan(n // item | 1, t, what) for n in (most - 2 * item, most + item)]
        assert [p.positions for p in found] == [threads, above], most
        assert {p.vector for p in found} == {HALF // item}
    longest = SHIFTED_PAIRS_BYTES if item > 1 else table[-1][0]
    assert [plan(n // item, t, what).vector * item for n in (longest - item, longest + item)] == [HALF, WIDEST]


def test_wide_states_and_numbers_are_not_read_by_half_accesses() -> None:
    for what in ("var", "logsumexp"):
        assert not serves(simple(what, (MANY, 1001), (1,), "i8")), what
    assert not serves(plan_for("argmax", (MANY, 1001), "i8", axis=1).task)
    assert not serves(simple("max", (64, 1001), (1,), "i8")), "few rows"


@pytest.mark.parametrize(
    ("n", "threads", "unroll"), [(800, 8, 8), (960, 8, 8), (1024, 16, 8), (1400, 16, 4), (200, 4, 2)]
)
def test_aligned_bytes_have_all_their_accesses_in_flight(n: int, threads: int, unroll: int) -> None:
    """Unless many would be masked off; the shortest rows, which few threads share, have at most two."""
    found = plan_for("sum", ((1 << 27) // n, n), "i8", axis=1, plan="tile_bytes=0").choice.plan
    assert (found.positions, found.unroll) == (threads, unroll)


@pytest.mark.parametrize("most", [1, 2, 4, 8])
def test_few_accesses_in_flight_are_masked_off(most: int) -> None:
    for each in range(1, 200):
        n = at_once(each, most)
        assert n <= most
        vain = -each % n
        assert vain * IN_VAIN <= each
        assert n == most or IN_VAIN * (-each % (2 * n)) > each or each < n
    assert at_once(1, WARP) == 1
