"""Ragged rows: segment parts cover every element once, plans are few, and no thread reads a long row alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tasks import traced

from warpfold.compiler.dtypes import F32, F64, DType
from warpfold.compiler.errors import WarpfoldError
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.planner import ragged
from warpfold.compiler.planner.ragged import RaggedRows, Threads
from warpfold.compiler.planner.task import Task
from warpfold.compiler.space.geometry import collapse
from warpfold.compiler.target import DEFAULT

ROOM = DEFAULT.sms * DEFAULT.threads_per_sm
LENGTHS = st.lists(st.one_of(st.sampled_from([0, 1, 7, 8, 31, 32, 33]), st.integers(0, 5000)), max_size=40)


def rows_of(lengths: list[int], start: int = 0) -> RaggedRows:
    return RaggedRows.of(start + np.concatenate([[0], np.cumsum(np.array(lengths, np.int64))]))


def task(name: str = "sum", columns: int = 1, dtype: DType = F32, size: int = 1 << 20) -> Task:
    """Segments along the first axis of [size, columns]."""
    strides = (0, columns, 1)
    geometry = collapse((1, size, columns), (1,), [strides], [(columns, 1)], ordered=True, rows=0)
    return Task(traced(name, dtype), geometry, (0, 0), DEFAULT, DEFAULT.sms)


def plan_of(lengths: list[int], columns: int = 1, name: str = "sum") -> Plan:
    rows = rows_of(lengths)
    return ragged.plan(task(name, columns), Threads.of(rows, columns, ROOM))


@given(LENGTHS, st.integers(0, 100), st.integers(1, 600))
def test_segment_parts_cover_every_element_once_and_keep_the_limit(lengths: list[int], start: int, limit: int) -> None:
    rows = rows_of(lengths, start)
    parts, joined = rows.cut(limit)
    covered = [np.arange(a, b) for a, b in zip(parts.bounds, parts.bounds[1:], strict=False)]
    assert all(0 < len(c) <= limit for c in covered)
    assert np.concatenate([[start], *covered])[1:].tolist() == list(range(start, start + sum(lengths)))
    assert len(joined) == len(lengths)
    assert joined.count.tolist() == lengths
    for k, length in enumerate(lengths):
        own = range(joined.bounds[k], joined.bounds[k + 1])
        assert sum(len(covered[p]) for p in own) == length
        assert all(covered[p][0] >= rows.bounds[k] for p in own)
        assert {int(parts.origin[p]) for p in own} <= {int(rows.bounds[k])}
        assert {int(parts.count[p]) for p in own} <= {length}


@given(LENGTHS, st.integers(1, 50), st.integers(1, 50))
def test_cutting_twice_keeps_the_callers_counts(lengths: list[int], first: int, second: int) -> None:
    _, joined = rows_of(lengths).cut(first)
    states, last = joined.cut(second)
    assert last.count.tolist() == lengths
    assert sorted(set(states.count.tolist())) == sorted({n for n in lengths if n})


@settings(max_examples=120)
@given(
    st.lists(st.integers(0, 1 << 22), min_size=1, max_size=30),
    st.integers(0, 10**5),
    st.sampled_from([1, 2, 33, 64]),
    st.sampled_from(["sum", "argmax", "affine"]),
)
def test_a_few_cuts_leave_no_thread_a_long_row(long: list[int], short: int, columns: int, name: str) -> None:
    """Long segments among many of length 8: each cut shortens the longest row, whatever the number of segments."""
    rows = rows_of([8] * short + long)
    asked = task(name, columns)
    for _ in range(6):
        plan = ragged.plan(asked, Threads.of(rows, columns, ROOM))
        limit = ragged.cut_at(plan, rows, columns, ROOM)
        if limit is None:
            break
        parts, rows = rows.cut(limit)
        assert len(parts) <= len(rows) + columns * int(rows.count.sum()) // (ragged.THREAD_ELEMENTS * plan.positions)
    fair = ragged.PARTS_OF_ROW * max(ragged.THREAD_ELEMENTS, 2 * rows.bounds[-1] * columns // (ROOM))
    assert rows.lengths.max() <= 2 * fair * plan.positions


@given(LENGTHS, st.integers(1, 70), st.sampled_from(["sum", "argmax", "affine", "powers", "describe"]))
def test_plans_are_of_one_cta_and_single_elements(lengths: list[int], columns: int, name: str) -> None:
    plan = plan_of(lengths, columns, name)
    assert (plan.finish, plan.vector, plan.tile_bytes) == ("cta", 1, 0)
    assert plan.walk == ("blocked" if name == "affine" else "interleaved")


def test_threads_follow_the_rows() -> None:
    def threads(lengths: list[int], columns: int = 1) -> int:
        return plan_of(lengths, columns).positions

    many = 10**6
    assert threads([1] * many) == 1
    assert threads([8] * many) == 1
    assert threads([20] * many) == 2
    assert threads([100] * many) == 8
    assert threads([1000] * many) == 16
    assert threads([100_000] * 1000) == 256
    assert threads([8] * 10**5 + [1 << 24]) == 8  # short rows do not pay for the long one
    assert threads([8, 1 << 24, 3]) == 256  # unless they are few
    assert threads([100] * many, columns=64) == 1  # lanes lie along the columns
    assert threads([4, 30_000], columns=64) == 8


def test_similar_calls_share_a_plan() -> None:
    """Random lengths of all sizes end in a handful of plans."""
    rng = np.random.default_rng(0)
    found = {plan_of(rng.integers(0, 2 ** rng.integers(1, 20), 1000).tolist()) for _ in range(200)}
    assert len(found) <= 9


def test_a_state_too_wide_for_shared_memory_takes_fewer_warps() -> None:
    wide = ragged.plan(task("powers", 64, F64), Threads(256, 256))
    assert wide.warps < ragged.plan(task("sum", 64, F64), Threads(256, 256)).warps


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("vector=4", "WF146: segments are reduced element by element in one CTA each: vector=4 does not fit"),
        ("walk=period", "WF146: segments are reduced .*: walk=period does not fit"),
        ("walk=staggered", "WF146: segments are reduced .*: walk=staggered does not fit"),
        ("tile_bytes=4096", "WF146: segments are reduced .*: tile_bytes=4096 does not fit"),
        ("cluster=2", "WF146: segments are reduced .*: cluster=2 does not fit"),
        ("finish=two_kernels", "WF146: segments are reduced .*: finish=two_kernels does not fit"),
        ("warps=64", "WF403"),
    ],
)
def test_plans_that_rows_cannot_have_are_refused(options: str, message: str) -> None:
    with pytest.raises(WarpfoldError, match=message):
        ragged.plan(task(), Threads(8, 8), options)


def test_options_cannot_give_up_the_order() -> None:
    with pytest.raises(WarpfoldError, match="WF409"):
        ragged.plan(task("affine"), Threads(8, 8), "walk=interleaved")


def test_lanes_of_segments_in_order_meet_in_steps_where_they_have_the_warp() -> None:
    assert ragged.plan(task("affine"), Threads(32, 32)).meet == "steps"
    assert ragged.plan(task("affine"), Threads(8, 8)).meet == ""
    with pytest.raises(WarpfoldError, match=r"WF146: .*: meet=steps does not fit"):
        ragged.plan(task("affine"), Threads(8, 8), "meet=steps")


def test_counts_beyond_32_bits_widen_the_kernel() -> None:
    """A second kernel walks few states, but divides by the length of the segment."""
    plan = ragged.plan(task(), Threads(8, 8))
    _, joined = rows_of([3 << 30]).cut(1 << 20)
    assert joined.lengths.max() < 1 << 12
    assert ragged.is_wide(joined)
    assert ragged.facts(task(), plan, wide=True).index_bits == 64
    assert ragged.facts(task(), plan, wide=False).index_bits == 32
    assert ragged.facts(task(), plan, wide=False).ragged
