"""The combining tree ``tree-v7``, as docs/tree.md describes it, in NumPy: the kernels give the same bits.

Each function is one numbered paragraph of the section on the tree. Sums of f32 show every combine, since each rounds.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
import pytest
from covering import covering

import warpfold as wf
from warpfold.compiler.plan.ladder import RUNGS
from warpfold.compiler.plan.plan import ROWS_A_ROUND, Plan
from warpfold.compiler.plan.rounds import second_unroll
from warpfold.compiler.planner.resident import held
from warpfold.compiler.planner.tree import same_bits
from warpfold.compiler.program.library import reductions
from warpfold.compiler.target import WARP
from warpfold.runtime.api import plan_for
from warpfold.runtime.segment_parts import Level, Pipeline

Row = np.ndarray[Any, np.dtype[np.float32]]


LADDER = [(r.name, Plan().with_options(r.name).finish) for r in RUNGS if r.options and "atomic" not in r.options]


def neighbours(states: Sequence[Any]) -> Any:
    """First with second, third with fourth, then the pairs; an odd one is carried along."""
    level = list(states)
    while len(level) > 1:
        level = [a + b for a, b in zip(level[::2], level[1::2], strict=False)] + level[len(level) & ~1 :]
    return level[0]


def walk(plan: Plan, q: int, length: int, chunk: int, lead: int, v: int) -> list[int]:
    """Paragraph 2: where the accesses of position ``q`` begin; a row that begins late begins ``lead`` early."""
    positions = plan.warps * plan.lanes
    if plan.walk != "blocked":
        return list(range(q * v - lead, length, positions * v))
    piece = -(-chunk // positions)
    return list(range(q * piece, min((q + 1) * piece, length)))


def thread(x: Row, starts: Sequence[int], v: int, unroll: int, cut: str) -> Any:
    """Paragraph 3: of rows that begin anywhere a few accesses, groups of accesses, single ones, then the elements."""

    def masked(start: int) -> Row:
        found = np.zeros(v, np.float32)
        inside = [j for j in range(v) if 0 <= start + j < len(x)]
        found[inside] = x[[start + j for j in inside]]
        return found

    state = np.zeros(v, np.float32)
    alone = [s for s in starts if "first" in cut and s == 0]
    head = starts[:unroll] if cut == "shifted" else alone
    rest = starts[len(head) :]
    end = len(x) - ("last" in cut)
    whole = [s for s in rest if s + v <= end]
    grouped = len(whole) // unroll * unroll if unroll > 1 else 0
    for s in head:
        state = state + masked(s)
    for i in range(0, grouped, unroll):
        state = state + neighbours([x[s : s + v] for s in whole[i : i + unroll]])
    if (left := whole[grouped:]) and unroll > 1 and cut != "shifted":
        state = state + left_over([x[s : s + v] for s in left], unroll)
        grouped = len(whole)
    for s in rest[grouped:]:
        state = state + masked(s)
    while len(state) > 1:
        state = state[0::2] + state[1::2]
    return state[0]


def left_over(accesses: list[Row], unroll: int) -> Any:
    """Paragraph 3: what is left after all groups is one more, with zeros for the accesses that are not there."""
    missing = [np.zeros_like(accesses[0])] * (-len(accesses) % unroll)
    return neighbours([*accesses, *missing])


def cta(x: Row, plan: Plan, chunk: int, v: int, unroll: int, lead: int = 0, cut: str = "") -> Any:
    """One CTA's part of a row."""
    return dealt_out(warps(x, plan, chunk, v, unroll, lead, cut), plan)


def warps(x: Row, plan: Plan, chunk: int, v: int, unroll: int, lead: int, cut: str) -> list[Any]:
    """Paragraph 4: the states of a CTA's warps, lanes by a butterfly of neighbours; or the one of paragraph 6."""
    if plan.meets_in_steps:
        return [in_steps(own, plan, v, unroll, lead, cut) for own in pieces(x, chunk, plan, v)]
    positions = plan.warps * plan.lanes
    threads = [thread(x, walk(plan, q, len(x), chunk, lead, v), v, unroll, cut) for q in range(positions)]
    if plan.cta != "shuffle":
        return [in_memory(threads, plan)]
    return [neighbours(threads[w * plan.lanes : (w + 1) * plan.lanes]) for w in range(plan.warps)]


def pieces(x: Row, chunk: int, plan: Plan, v: int) -> list[Row]:
    """Paragraph 15: the elements of each warp, whole steps."""
    step = plan.lanes * v
    each = ceil(ceil(chunk / plan.warps) / step) * step
    return [x[w * each : (w + 1) * each] for w in range(plan.warps)]


def in_steps(x: Row, plan: Plan, v: int, unroll: int, lead: int, cut: str) -> Any:
    """Paragraph 15: the state of a warp whose lanes meet in each step."""
    if not len(x):
        return np.float32(0)

    def step(start: int) -> Any:
        inside = [x[r] if 0 <= r < min(len(x), end) else np.float32(0) for r in range(start, start + plan.lanes * v)]
        return neighbours(inside)

    end = len(x) if cut == "shifted" else len(x) // v * v
    starts = list(range(-lead, end, plan.lanes * v))
    head = starts[:unroll] if cut == "shifted" else []
    rest = starts[len(head) :]
    whole = [s for s in rest if s + plan.lanes * v <= end - (lead if plan.lanes < WARP else 0)]
    grouped = len(whole) // unroll * unroll if unroll > 1 else len(whole)
    state = reduce(operator.add, map(step, head), np.float32(0))
    for i in range(0, grouped, max(1, unroll)):
        state = state + neighbours([step(s) for s in whole[i : i + unroll]])
    left = [step(s) for s in rest[grouped:]]
    if cut == "shifted" or unroll == 1:
        state = reduce(operator.add, left, state)
    elif left:
        state = state + neighbours([*left, *[np.float32(0)] * (-len(left) % unroll)])
    first, end = end, len(x)
    return state + step(first) if first < end else state


def dealt_out(states: list[Any], plan: Plan) -> Any:
    """Paragraphs 5 and 7: lanes take states that follow each other, then a butterfly."""
    groups = min(len(states), plan.lanes)
    each = len(states) // groups
    return neighbours([neighbours(states[g * each : (g + 1) * each]) for g in range(groups)])


def in_memory(states: list[Any], plan: Plan) -> Any:
    """Paragraph 6: one after another, neighbours, or each with the one half of them away."""
    if plan.cta == "serial":
        return reduce(operator.add, states)
    if plan.cta == "interleaved" or plan.walk == "blocked":
        return neighbours(states)
    while len(states) > 1:
        half = len(states) // 2
        states = [a + b for a, b in zip(states[:half], states[half:], strict=True)]
    return states[0]


def by_the_rules(
    x: Row, shape: tuple[int, ...], axis: int | None, options: str, lead: int = 0, determinism: str = "run",
    dtype: str = "f32", what: Any = "sum",
) -> tuple[Any, str]:  # fmt: skip
    """Paragraphs 1, 7 and 8: one row through all parts, and their states through one more round; and the finish."""
    choice = plan_for(what, shape, dtype, axis=axis, plan=options, determinism=determinism).choice
    plan, run = choice.plan, choice.run
    v, cut = plan.vector_reduced, choice.facts.cut
    ends = {p: cut.replace("unaligned", "first" * (p == 0) + "last" * (p == run.split - 1)) for p in range(run.split)}
    ctas = [
        warps(x[p * run.chunk : (p + 1) * run.chunk], plan, run.chunk, v, plan.unroll, lead, ends[p])
        for p in range(run.split)
    ]
    parts = [
        dealt_out([s for c in ctas[p : p + plan.cluster] for s in c], plan) for p in range(0, run.split, plan.cluster)
    ]
    if plan.finish == "cta":
        return parts[0], plan.finish
    last, unroll = anew(plan) if plan.finish == "last_block" else (plan, 4)
    return cta(np.array(parts, np.float32), replace(last, meet=""), len(parts), 1, unroll), plan.finish


def anew(plan: Plan) -> tuple[Plan, int]:
    """Paragraph 8: how the threads of the last CTA lie, and their unroll."""
    unroll, v = min(4, plan.unroll), plan.vector
    if plan.fast == "reduced" or plan.cta != "shuffle" or plan.warps == 1 or plan.cluster > 1:
        return plan, unroll
    results = max(v // plan.lanes, min(v, 4))
    positions = plan.warps * plan.lanes * results // v
    return replace(plan, lanes=min(WARP, positions), warps=max(1, positions // WARP)), min(8, unroll * v // results)


def both_axes(x: Row, options: str) -> Row:
    """Paragraph 10: the sums of ``x`` over the first and the last axis."""
    choice = plan_for("sum", x.shape, axis=(0, 2), plan=options).choice
    plan, run = choice.plan, choice.run
    assert plan.fast == "both"

    def part(p: int, column: Row) -> Any:
        return cta(column[p * run.chunk : (p + 1) * run.chunk], plan, run.chunk, 1, plan.unroll)

    second = replace(plan, lanes=WARP, warps=plan.threads // WARP)
    left = [[part(p, x[:, i, j]) for p in range(run.split) for j in range(x.shape[2])] for i in range(x.shape[1])]
    sums = [cta(np.array(row, np.float32), second, len(row), 1, min(4, plan.unroll)) for row in left]
    return np.array(sums, np.float32)


def places(y: Row, lead: int, period: int, v: int, unroll: int) -> Row:
    """Paragraph 9: the states of the places of a period, for elements ``y`` that begin ``lead`` past a boundary."""
    states = np.zeros(period, np.float32)
    for slot in range(0, period, v):
        starts = range(slot - lead, len(y), period)
        whole = [y[s : s + v] for s in starts if s >= 0 and s + v <= len(y)]
        cut = {s < 0: [y[j] if 0 <= j < len(y) else 0 for j in range(s, s + v)]
               for s in starts if s < 0 or s + v > len(y)}  # fmt: skip
        state = np.zeros(v, np.float32)
        grouped = len(whole) // unroll * unroll if unroll > 1 else 0
        groups = [neighbours(whole[i : i + unroll]) for i in range(0, grouped, unroll)]
        left = whole[grouped:]
        left = [left_over(left, unroll)] if left and unroll > 1 else left
        for more in [cut.get(True), *groups, *left, cut.get(False)]:
            state = state if more is None else state + np.array(more, np.float32)
        states[slot : slot + v] = state
    return states


def columns_of(y: Row, n: int, rows: int, lead: int, v: int, unroll: int) -> Row:
    """Paragraph 9: rows meet in rounds, each with those a multiple of an eighth of them on; then columns have names."""
    states = places(y, lead, rows * n, v, unroll).reshape(rows, n)
    while len(states) > 1:
        left = -(-len(states) // ROWS_A_ROUND)
        states = [reduce(operator.add, states[i::left]) for i in range(left)]
    return np.roll(states[0], -lead)


def narrow(x: Row, options: str, lead: int) -> Row:
    """Paragraph 9: the sums of all columns; the parts' sums are such rows themselves."""
    choice = plan_for("sum", x.shape, axis=0, plan=options).choice
    plan, run, n = choice.plan, choice.run, x.shape[1]
    assert plan.walk == "period"
    lead %= plan.vector
    parts = [
        columns_of(x[p * run.chunk : (p + 1) * run.chunk].ravel(), n, run.rows, lead, plan.vector, plan.unroll)
        for p in range(run.split)
    ]
    if plan.finish == "cta":
        return parts[0]
    second = max(1, min(second_unroll(plan), 16 // plan.vector))
    return columns_of(np.concatenate(parts), n, run.rows, 0, plan.vector, second)


def in_runs(x: Row, options: str, start: int) -> tuple[Row, str]:
    """Paragraph 11: the sums of ``x`` over the first and the last axis; its first element is at ``start``."""
    choice = plan_for("sum", x.shape, axis=(0, 2), plan=options).choice
    plan, run, v = choice.plan, choice.run, choice.plan.vector
    runs, results, length = x.shape

    def of_run(k: int, r: int) -> Any:
        lead = (start + (r * results + k) * length) % v
        if plan.meets_in_steps:
            return in_steps(x[r, k], plan, v, plan.unroll, lead, "shifted" * (v > 1))
        starts = [walk(replace(plan, warps=1), q, length, 0, lead, v) for q in range(plan.lanes)]
        return [thread(x[r, k], own, v, plan.unroll, "shifted" * (v > 1)) for own in starts]

    def of_warp(k: int, own: Sequence[int]) -> Any:
        if plan.meets_in_steps:
            return reduce(operator.add, (of_run(k, r) for r in own), np.float32(0))
        lanes = np.zeros(plan.lanes, np.float32)
        for r in own:
            lanes = lanes + np.array(of_run(k, r), np.float32)
        return neighbours(list(lanes))

    def of_cta(k: int, p: int) -> Any:
        last = min((p + 1) * run.chunk, runs)
        own = [range(p * run.chunk + w, last, plan.warps) for w in range(plan.warps)]
        if plan.meets_in_steps:
            each, first = ceil(run.chunk / plan.warps), p * run.chunk
            own = [range(first + w * each, min(last, first + (w + 1) * each)) for w in range(plan.warps)]
        return dealt_out([of_warp(k, runs_of_warp) for runs_of_warp in own], plan)

    sums = [[of_cta(k, p) for p in range(run.split)] for k in range(results)]
    if plan.finish == "last_block":
        second = replace(plan, walk="blocked" if plan.meets_in_steps else "interleaved", meet="")
        sums = [[cta(np.array(s, np.float32), second, len(s), 1, min(4, plan.unroll))] for s in sums]
    return np.array(sums, np.float32)[:, 0], plan.finish


def halves(elements: Sequence[Any]) -> Any:
    """Paragraph 12: the first half, which is the shorter one, and the second half, each in the same way."""
    half = len(elements) // 2
    return halves(elements[:half]) + halves(elements[half:]) if half else elements[0]


def kept(x: Row, plan: Plan, lead: int | None = None, *, walked: bool = False) -> Any:
    """Paragraph 12: the sum of a row whose threads keep their accesses; rows may begin ``lead`` past a boundary."""
    v, positions = plan.vector_reduced, plan.positions
    length, lead = (len(x), 0) if lead is None else (len(x) + v - 1, lead)
    count = ceil(length / v)
    each = ceil(count / (positions * plan.cluster))
    part = min(each * positions, ceil(count / (8 * plan.cluster)) * 8) * v if plan.cluster > 1 else each * positions * v
    if plan.fast == "kept":
        part = ceil(len(x) / plan.cluster)

    def element(r: int, end: int) -> Any:
        return x[r] if 0 <= r < min(end, len(x)) else np.float32(0)

    def own(rank: int, q: int) -> Any:
        begin, end = rank * part - lead, (rank + 1) * part - lead
        starts = [begin + (k * positions + q) * v for k in range(each)]
        if walked:
            return thread(x[: max(0, end)], [s for s in starts if s < min(end, len(x))], v, 1, "shifted")
        return halves([element(start + j, end) for start in starts for j in range(v)])

    threads = [[own(rank, q) for q in range(positions)] for rank in range(plan.cluster)]
    warps = [neighbours(t[w * plan.lanes : (w + 1) * plan.lanes]) for t in threads for w in range(plan.warps)]
    return dealt_out(warps, plan)


@wf.program
def with_its_sum(x: Any, *, axis: int) -> Any:
    """The elements relative to their sum, so that these are read again, and the sum."""
    total = wf.sum(x, axis=axis, keepdims=True)
    return x - total, total


def random(*shape: int) -> Row:
    return np.random.default_rng(1).standard_normal(shape, dtype=np.float32)


@pytest.mark.parametrize(
    ("n", "options", "finish"),
    [
        (100000, "", "last_block"),
        (99999, "", "last_block"),
        (1, "", "cta"),
        (4096, "unroll=4,warps=16,finish=cta", "cta"),
        (12345, "vector=2,unroll=2,lanes=4,warps=8,finish=last_block", "last_block"),
        (50001, "finish=two_kernels", "two_kernels"),
        (5000, "lanes=2,warps=16,finish=cta", "cta"),
        (7777, "vector=1,walk=blocked,unroll=4,finish=cta", "cta"),
        (7777, "walk=blocked,meet=steps,vector=4,unroll=4,warps=4,finish=cta", "cta"),
        (30003, "walk=blocked,meet=steps,vector=2,unroll=2,lanes=8,warps=2,coarsening=4", "last_block"),
        (30000, "walk=blocked,vector=1,unroll=2,finish=two_kernels", "two_kernels"),
        (4097, "cta=serial,vector=4,finish=cta", "cta"),
        (30001, "cta=interleaved,coarsening=8,unroll=2", "last_block"),
        (30001, "cta=sequential,exchange=global,vector=1,coarsening=16", "last_block"),
        (5001, "cta=warp_sync,walk=blocked,warps=4,finish=two_kernels", "two_kernels"),
        (65536, "cluster=8,warps=16,unroll=4", "cta"),
        (4001, "cluster=4,warps=2,unroll=1,finish=cta", "cta"),
        (7777, "cluster=8,lanes=2,warps=16,unroll=1,finish=cta", "cta"),
        (50001, "cluster=2,warps=8,coarsening=4,unroll=2", "last_block"),
        (50001, "cluster=4,warps=4,unroll=2,finish=two_kernels", "two_kernels"),
        (7777, "cluster=8,walk=blocked,vector=1,warps=4,unroll=4,finish=cta", "cta"),
        (4097, "cluster=4,cta=serial,warps=2,finish=cta", "cta"),
        (30001, "cluster=2,cta=sequential,coarsening=8,unroll=2", "last_block"),
        *((9001, name, finish) for name, finish in LADDER),
    ],
)
def test_a_full_sum(n: int, options: str, finish: str) -> None:
    x = random(n)
    expected, found = by_the_rules(x, (n,), None, options)
    assert found == finish
    assert wf.sum(x, plan=options, device="emulator").tobytes() == np.float32(expected).tobytes()


@pytest.mark.parametrize(
    ("shape", "options"),
    [((6, 4096), "walk=blocked,meet=steps,vector=4,warps=2"),
     ((5, 90), "walk=blocked,meet=steps,vector=2,lanes=4,warps=1"),
     ((6, 3001), "walk=blocked,meet=steps,vector=4,unroll=2,lanes=32,warps=2"),
     ((9, 255), "walk=blocked,meet=steps,vector=4,unroll=2,lanes=8,warps=1"), ((6, 4096), ""), ((6, 96), ""),
     ((6, 1001), ""), ((6, 1003), "vector=4,unroll=2,lanes=8,warps=2"),
     ((40, 31), "tile_bytes=1024,lanes=4,unroll=2"), ((12, 150), "tile_bytes=1024,lanes=2,unroll=4,walk=blocked")],
)  # fmt: skip
def test_sums_of_rows(shape: tuple[int, int], options: str) -> None:
    """Rows of an odd length begin between boundaries: all but each fourth have a masked head."""
    x = random(*shape)
    vector = plan_for("sum", shape, axis=1, plan=options).choice.plan.vector_reduced
    rows = [by_the_rules(x[i], shape, 1, options, i * shape[1] % vector)[0] for i in range(shape[0])]
    assert wf.sum(x, axis=1, plan=options, device="emulator").tolist() == [float(r) for r in rows]


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((700, 8, 12), ""),
        ((700, 8, 7), "vector=4,unroll=2,lanes=4,warps=2,warps_kept=1"),
        ((300, 3, 5), "vector=1,unroll=8"),
        ((300, 8, 6), "cta=sequential,warps=4,warps_kept=2"),
    ],
)
def test_sums_over_both_axes(shape: tuple[int, ...], options: str) -> None:
    x, plan = random(*shape), ",".join(filter(None, ("fast=both", options)))
    assert wf.sum(x, axis=(0, 2), plan=plan, device="emulator").tobytes() == both_axes(x, plan).tobytes()


@pytest.mark.parametrize("start", [0, 1, 6])
@pytest.mark.parametrize("options", ["lanes=1,unroll=1", "lanes=2,unroll=4", "lanes=8,unroll=2"])
def test_sums_of_words_of_a_tile(options: str, start: int) -> None:
    """Halves are read by twos from the start of a row on, wherever that lies."""
    x, plan = random(40, 61).astype(np.float16), f"tile_bytes=1024,vector=2,{options}"
    rows = [by_the_rules(x[i].astype(np.float32), x.shape, 1, plan, 0, dtype="f16")[0] for i in range(40)]
    assert wf.sum(at_element(x, start), axis=1, plan=plan, device="emulator").tolist() == np.float16(rows).tolist()


@pytest.mark.parametrize(
    ("shape", "options"),
    [((3001, 5), ""), ((20000, 8), ""), ((300, 64), "finish=two_kernels"), ((300, 64), "cta=sequential"),
     ((300, 64), "cluster=4"), ((999, 8), "cluster=2,warps=4,vector=2,finish=last_block,coarsening=1,unroll=1"),
     ((999, 8), "cta=unrolled,exchange=global,finish=last_block"), ((300, 5), "simple"), ((300, 5), "two-pass-simple")],
)  # fmt: skip
def test_sums_of_columns(shape: tuple[int, int], options: str) -> None:
    """Along the kept axis a vector holds elements of several results, and one of each."""
    x = random(*shape)
    columns = [by_the_rules(x[:, j], shape, 0, options)[0] for j in range(shape[1])]
    assert wf.sum(x, axis=0, plan=options, device="emulator").tolist() == [float(c) for c in columns]


def in_single(x: Any) -> Any:
    """A sum in single precision, which a result in halves would hide."""
    return reductions.sum(x, dtype="f32")


@pytest.mark.parametrize(
    "options",
    ["vector=8,unroll=2,lanes=4,warps=8,coarsening=2", "vector=8,unroll=1,lanes=1,warps=2,coarsening=8",
     "vector=8,unroll=4,lanes=16,warps=2,coarsening=4", "vector=8,unroll=4,lanes=2,warps=4,warps_kept=2,coarsening=4",
     "walk=blocked,vector=8,unroll=2,lanes=4,warps=8,coarsening=2", "walk=staggered,vector=8,unroll=1,coarsening=1"],
)  # fmt: skip
def test_threads_that_lie_anew_have_the_last_round_among_themselves(options: str) -> None:
    """Halves are read eight at a time; after that a thread has four results, or as few as its lanes shared."""
    x = (random(2000, 65) * random(2000, 65) ** 6).astype(np.float16)
    plan = f"fast=kept,finish=last_block,{options}"
    columns = [
        by_the_rules(x[:, j].astype(np.float32), x.shape, 0, plan, 0, dtype="f16", what=in_single)[0] for j in range(65)
    ]
    assert wf.reduce(x, in_single, axis=0, plan=plan, device="emulator").tolist() == [float(c) for c in columns]


KEPT = [
    "vector=4,lanes=8,warps=1", "vector=4,lanes=32,warps=2", "vector=2,lanes=4,warps=4", "vector=1,lanes=32,warps=4",
    "vector=4,lanes=2,warps=2,cluster=2", "vector=4,lanes=16,warps=1,cluster=4",
]  # fmt: skip


@covering(("where", ["registers", "shared"]), ("n", [96, 333, 1000]), ("options", KEPT))
def test_sums_of_rows_that_wait_on_chip(options: str, n: int, where: str) -> None:
    """Rows of 333 elements begin between boundaries, so that accesses begin before them."""
    x, plan = at_element(random(5, n), 0), Plan().with_options(options)
    wanted = f"fast=reduced,warps_kept=1,resident={where},{options}"
    out = at_element(x, 0), np.empty((5, 1), np.float32)
    found = with_its_sum(x, axis=1, plan=wanted, out=out, device="emulator")[1]
    leads = [i * n % plan.vector if n % plan.vector else None for i in range(5)]
    assert found[:, 0].tolist() == [float(kept(row, plan, lead)) for row, lead in zip(x, leads, strict=True)]


@wf.program
def weighted_with_its_sum(x: Any, w: Any, *, axis: int) -> Any:
    """The same with a weight for each element of a row."""
    total = wf.sum(x, axis=axis, keepdims=True)
    return (x - total) * w, total


@pytest.mark.parametrize("options", KEPT)
def test_sums_of_rows_that_a_loop_walks(options: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large rows with weights that begin between boundaries wait in shared memory: paragraph 3 holds."""
    monkeypatch.setattr(held, "LARGE", 0)
    x, plan = at_element(random(5, 333), 0), Plan().with_options(options)
    wanted = f"fast=reduced,warps_kept=1,resident=shared,{options}"
    out = at_element(x, 0), np.empty((5, 1), np.float32)
    found = weighted_with_its_sum(x, random(1, 333)[0], axis=1, plan=wanted, out=out, device="emulator")[1]
    leads = [i * 333 % plan.vector if plan.vector > 1 else None for i in range(5)]
    sums = [kept(row, plan, lead, walked=lead is not None) for row, lead in zip(x, leads, strict=True)]
    assert found[:, 0].tolist() == [float(s) for s in sums]


@pytest.mark.parametrize("options", ["lanes=8,warps=1", "lanes=2,warps=4", "lanes=8,warps=2,cluster=2"])
def test_sums_of_columns_that_wait_on_chip(options: str) -> None:
    x, options = random(77, 12), f"fast=kept,vector=4,warps_kept=1,{options}"
    plan = Plan().with_options(options)
    found = with_its_sum(x, axis=0, plan=options, device="emulator")[1]
    assert found[0].tolist() == [float(kept(column, plan)) for column in x.T]


STAGGERED = [
    "warps=4,unroll=2,vector=4,finish=cta", "warps=8,unroll=1,vector=4,finish=last_block,coarsening=2",
    "warps=2,unroll=4,vector=2,finish=last_block,coarsening=8", "warps=4,unroll=1,vector=2,finish=cta",
]  # fmt: skip


@pytest.mark.parametrize("start", [0, 3])
@pytest.mark.parametrize("options", STAGGERED)
def test_sums_of_columns_by_staggered_warps(options: str, start: int) -> None:
    """Positions are warps, and the first and the last row stand alone; columns and addresses change nothing."""
    x, options = random(203, 127), f"walk=staggered,{options}"
    columns = [by_the_rules(x[:, j], x.shape, 0, options)[0] for j in range(x.shape[1])]
    found = wf.sum(at_element(x, start), axis=0, plan=options, device="emulator")
    assert found.tolist() == [float(c) for c in columns]


@pytest.mark.parametrize("walk", ["walk=staggered", "fast=kept,lanes=2,warps_kept=1", "fast=kept,walk=blocked,lanes=4"])
@pytest.mark.parametrize("options", [STAGGERED[0], STAGGERED[1]])
def test_sums_of_a_middle_axis_whose_tiles_go_by_row(walk: str, options: str) -> None:
    """Each row has the tree of columns alone, for all its parts; what the other kept dims are changes nothing."""
    x, options = random(3, 203, 61), f"{walk},{options}"
    assert plan_for("sum", x.shape, axis=1, plan=options).choice.facts.by_row
    rows = np.moveaxis(x, 1, -1).reshape(-1, x.shape[1])
    expected = [float(by_the_rules(row, x.shape, 1, options)[0]) for row in rows]
    assert np.ravel(wf.sum(at_element(x, 1), axis=1, plan=options, device="emulator")).tolist() == expected


@pytest.mark.parametrize("options", STAGGERED)
def test_staggered_warps_have_the_tree_of_unaligned_vectors(options: str) -> None:
    """So the autotuner may take the one for the other; of single elements the first and the last row are in groups."""
    x, single = random(203, 127), re.sub(r"vector=\d", "vector=1", options)
    kinds = (f"walk=staggered,{options}", f"walk=interleaved,{options}", f"walk=interleaved,{single}")
    plans = [f"fast=kept,lanes=1,warps_kept=1,{kind}" for kind in kinds]
    ready = [plan_for("sum", x.shape, axis=0, plan=plan) for plan in plans]
    assert [r.choice.facts.access for r in ready] == [("staggered",), ("unaligned",), ("strided",)]
    own, *others = [wf.sum(x, axis=0, plan=plan, device="emulator").tobytes() for plan in plans]
    assert [own == other for other in others] == [True, "unroll=1" in options]
    same = [same_bits(ready[0].program, len(x), ready[0].choice, other.choice) for other in ready[1:]]
    assert same == [True, False]


@covering(
    ("start", range(4)),
    (
        ("shape", "options"),
        [
            ((50_000, 9), ""),
            ((1000, 9), "walk=period,warps_kept=2,unroll=2,finish=last_block"),
            ((777, 33), "walk=period,warps_kept=4,unroll=1,finish=cta"),
            ((3001, 6), "walk=period,warps_kept=1,unroll=4"),
            ((900, 5), "walk=period,warps_kept=1,unroll=2,vector=2"),
            ((30, 31), "walk=period,warps_kept=1"),
        ],
    ),
)
def test_sums_of_narrow_columns(shape: tuple[int, int], options: str, start: int) -> None:
    """Rows that are read as one: the place of the array in the first access decides who has which element."""
    x = random(*shape)
    found = wf.sum(at_element(x, start), axis=0, plan=options, device="emulator")
    assert found.tolist() == narrow(x, options, start).tolist()


@pytest.mark.parametrize(
    "options",
    [
        "",
        "lanes=1,warps=1",
        "lanes=4,warps=2,warps_kept=1,unroll=2",
        "walk=blocked",
        "cta=serial,warps=2,warps_kept=1",
        "simple",
        "cta=warp_sync,exchange=global",
    ],
)
def test_sums_of_segments(options: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row is a part of its own length; pieces' states are the elements of the next kernel's rows."""
    lengths = [0, 1, 31, 700, 64, 4000, 2]
    x = random(sum(lengths))
    levels: list[Level] = []
    queue = Pipeline.queue
    monkeypatch.setattr(Pipeline, "queue", lambda self, level, *a: (levels.append(level), queue(self, level, *a))[1])
    got = wf.segment_reduce(x, np.cumsum([0, *lengths]), "sum", plan=options, device="emulator")
    states = x
    for level in levels:
        rows = [states[a:b] for a, b in pairwise(level.rows.bounds)]
        states = np.array([cta(r, level.plan, len(r), 1, level.plan.unroll) for r in rows], np.float32)
    assert got.tobytes() == states.tobytes()


def at_element(x: Row, start: int) -> Row:
    """A copy of ``x`` that begins ``start`` elements after a boundary of 16 bytes."""
    room = np.empty(x.nbytes + 32, np.uint8)
    first = -room.ctypes.data % 16 + start * x.itemsize
    found = room[first : first + x.nbytes].view(x.dtype).reshape(x.shape)
    found[...] = x
    return found


@pytest.mark.parametrize("start", range(4))
@pytest.mark.parametrize(
    ("shape", "axis"), [((20000,), None), ((6, 4096), 1), ((6, 1001), 1), ((3000, 8), 0), ((2, 300, 8), 1)]
)
def test_a_portable_sum_has_one_tree_wherever_the_array_lies(
    shape: tuple[int, ...], axis: int | None, start: int
) -> None:
    """The tree of the aligned array, with vectors where it has them."""
    x = random(*shape)
    plan = plan_for("sum", shape, axis=axis, determinism="portable").choice.plan
    rows = np.moveaxis(x, axis, -1).reshape(-1, shape[axis]) if axis is not None else x[None]
    expected = [by_the_rules(row, shape, axis, "", determinism="portable")[0] for row in rows]
    found = wf.sum(at_element(x, start), axis=axis, determinism="portable", device="emulator")
    assert np.ravel(found).tolist() == [float(e) for e in expected]
    assert plan.vector == (1 if shape[-1] == 1001 else 4)


@pytest.mark.parametrize("start", [0, 1, 3])
@pytest.mark.parametrize(
    ("shape", "options"),
    [((20, 3, 90), "lanes=4,warps=2,unroll=2,finish=cta"), ((37, 2, 33), "lanes=1,warps=8,unroll=4,vector=2"),
     ((41, 2, 131), "lanes=32,warps=4,unroll=1,finish=last_block,coarsening=2"),
     ((41, 2, 131), "meet=steps,lanes=32,warps=4,unroll=2,vector=4,finish=last_block,coarsening=2"),
     ((19, 2, 150), "lanes=8,warps=1,unroll=2,vector=1,finish=last_block,coarsening=4")],
)  # fmt: skip
def test_sums_of_runs(shape: tuple[int, int, int], options: str, start: int) -> None:
    """Each begins at a place of its own: a lane adds what it has of one run after another."""
    x, options = random(*shape), f"walk=runs,warps_kept=1,{options}"
    found = wf.sum(at_element(x, start), axis=(0, 2), plan=options, device="emulator")
    wanted, finish = in_runs(x, options, start)
    assert finish == ("last_block" if "last_block" in options else "cta")
    assert found.tolist() == wanted.tolist()
