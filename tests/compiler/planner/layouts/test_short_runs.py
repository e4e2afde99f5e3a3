"""Short runs: which table applies to a layout of runs, and what few results or few runs change."""

from __future__ import annotations

import pytest
from layouts import Layout
from tasks import task_of, traced

from warpfold.compiler.dtypes import dtype
from warpfold.compiler.planner.choose import Choice, choose
from warpfold.compiler.planner.layouts import runs, short_runs
from warpfold.compiler.planner.layouts.short_runs import MANY_RUNS, short
from warpfold.compiler.planner.task import Task
from warpfold.compiler.target import DEFAULT

BYTES = 1 << 27
SHORTEST = runs.SHORTEST_RUN_OF_WORDS
TABLES = {
    "beside": short_runs.NEIGHBOURS, "apart": short_runs.DISTANT, "whole": short_runs.WHOLE_ACCESSES,
    "whole truths": short_runs.WHOLE_ACCESSES_OF_TRUTHS, "whole, many": short_runs.MANY_ADDED,
    "whole, many truths": short_runs.MANY_TRUTHS, "others": short_runs.OTHER_BYTES, "pairs": short_runs.PAIRS,
}  # fmt: skip


def beside(what: str, t: str, count: int, length: int) -> Task:
    """Channels of ``count`` images; the pixels of an image are one run."""
    channels = BYTES // count // length
    layout = Layout((count, channels, length), (0, 2), ((channels * length, length, 1),), ((1,),))
    return task_of(traced(what, dtype(t)), layout, (0, 0), DEFAULT, DEFAULT.sms)


def crops(what: str, t: str, rows: int, length: int, pitch: int) -> Task:
    """Rows of these bytes, ``pitch`` apart, in images cut out of larger ones."""
    image = pitch * (rows + 2)
    count = BYTES // image
    layout = Layout((count, rows, length), (1, 2), ((image, pitch, 1),), ((1,),))
    return task_of(traced(what, dtype(t)), layout, (pitch + 1, 0), DEFAULT, DEFAULT.sms)


def runs_of(where: str, what: str, length: int, rows: int) -> Task:
    t = "bf16" if where == "pairs" else "bool" if what == "any" else "i8"
    if where == "beside":
        return beside(what, t, rows, length)
    pitch = -(-(length + 2) // 16) * 16
    return crops(what, t, rows, length, pitch + (0 if where.startswith("whole") else 3))


@pytest.mark.parametrize(
    ("where", "what"),
    [("beside", "any"), ("beside", "sum"), ("apart", "any"), ("apart", "sum"), ("whole truths", "any"),
     ("whole", "sum"), ("whole, many", "sum"), ("whole, many truths", "any"), ("apart", "max"), ("others", "prod"),
     ("pairs", "sum"), ("pairs", "max")],
)  # fmt: skip
def test_runs_of_every_length_are_read_as_their_table_says(where: str, what: str) -> None:
    table = TABLES[where]
    ends = [int(most) for most, _ in table.rows]
    rows = MANY_RUNS - 1 if where == "pairs" else short_runs.CROP_RUNS if "many" in where else 20
    shortest = {"pairs": runs.SHORTEST_RUN_OF_PAIRS, "others": runs.SHORTEST_RUN[1]}.get(where, SHORTEST)
    for (most, reading), least in zip(table.rows, [shortest, *(end + 1 for end in ends)], strict=False):
        for length in (least, int(most)):
            if length < shortest or length > most:
                continue
            task = runs_of(where, what, length, rows)
            assert short(task, length) == reading, (length, reading)
            plan = choose(task).plan
            if plan.walk != "runs":
                continue  # whole accesses are there anyway
            assert (plan.vector, plan.lanes, plan.unroll) == reading, length
    assert short(runs_of(where, what, ends[-1] + 1, rows), ends[-1] + 1) is None


def walked(task: Task) -> Choice | None:
    choice = choose(task)
    return choice if choice.plan.walk == "runs" else None


def test_tiny_runs_are_read_run_by_run_where_a_result_has_few() -> None:
    for length, rows, found in ((4, 8, False), (5, 8, True), (10, 16, True), (10, 17, False), (11, 8, False)):
        assert (walked(crops("any", "bool", rows, length, length + 3)) is not None) == found, (length, rows)
    assert walked(crops("max", "i8", 8, 9, 12)) is not None
    assert walked(crops("prod", "i8", 8, 9, 12)) is None


@pytest.mark.parametrize(
    ("what", "t", "length", "rows", "found"),
    [("sum", "bf16", runs.SHORTEST_RUN_OF_PAIRS, 13, True),
     ("sum", "bf16", runs.SHORTEST_RUN_OF_PAIRS - 1, 13, False), ("max", "i16", 40, 13, True),
     ("sum", "bf16", 40, MANY_RUNS, False), ("sum", "i16", 40, 13, False), ("logsumexp", "bf16", 40, 13, False),
     ("sum", "bf16", runs.SHORTEST_RUN[2], 40, True)],
)  # fmt: skip
def test_short_runs_of_two_byte_elements_are_read_run_by_run_where_a_result_has_few(
    what: str, t: str, length: int, rows: int, found: bool
) -> None:
    """If a state is one register; longer runs always are."""
    assert (walked(crops(what, t, rows, length, length + 3)) is not None) == found


def test_warps_share_results_of_many_short_runs_however_many_there_are() -> None:
    warps = {rows: choose(crops("sum", "i8", rows, 35, 38)).plan.warps for rows in (8, 13, 14, 40)}
    assert warps == {8: 1, 13: 1, 14: 4, 40: 8}, "each has RUNS_OF_WARP of them at least"


def test_runs_are_many_in_large_arrays_where_a_result_has_many_of_its_own() -> None:
    """They lie whole accesses apart, and apart from those of the next result."""
    least = short_runs.CROP_RUNS
    assert short_runs.are_many(crops("sum", "i8", least, 126, 128))
    assert not short_runs.are_many(crops("sum", "i8", least - 1, 126, 128))
    assert not short_runs.are_many(crops("sum", "i8", least, 126, 129))
    assert not short_runs.are_many(beside("sum", "i8", 1000, 128))
    small = crops("sum", "i8", least, 60, 128)
    assert not short_runs.are_many(small), "fewer than CROP_BYTES"
    assert choose(crops("max", "i8", least, 126, 128)).plan.lanes == 4


@pytest.mark.parametrize(
    ("what", "rows", "pitch", "reading"),
    [("sum", 150, 152, (4, 8, 2)), ("sum", 150, 153, (8, 4, 4)), ("sum", 20, 152, (8, 4, 4)),
     ("var", 150, 152, (8, 4, 4))],
)  # fmt: skip
def test_many_runs_of_pairs_are_read_by_eight_bytes(what: str, rows: int, pitch: int, reading: object) -> None:
    """If they lie whole accesses apart, and a combine is short."""
    task = crops(what, "bf16", rows, 150, pitch)
    plan = choose(task).plan
    assert (plan.vector, plan.lanes, plan.unroll) == reading
