"""Equal signatures mean equal bits: random plans, whose sums the model of tests/test_tree.py computes."""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from covering import covering

import warpfold as wf
from warpfold.compiler.plan.facts import Facts
from warpfold.compiler.plan.launch import Launch, launch
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.plan.rounds import second_plan, second_unroll
from warpfold.compiler.planner.task import Choice
from warpfold.compiler.planner.tree import same_bits, signature, unordered
from warpfold.runtime.api import plan_for

sys.path.insert(0, str(Path(__file__).parents[2]))
from test_tree import cta, dealt_out, warps

MEETINGS = ("shuffle", "serial", "interleaved", "sequential", "warp_sync", "unrolled")


def summed(x: Any, plan: Plan, run: Launch, lead: int = 0) -> bytes:
    """The sum of ``x`` by the model: its parts, then their states."""
    v, chunk = plan.vector_reduced, run.chunk
    ctas = [
        warps(x[p * chunk :][:chunk], plan, chunk, v, plan.unroll, lead, "shifted" if lead else "")
        for p in range(run.split)
    ]
    clusters = range(0, run.split, plan.cluster)
    parts = [dealt_out([s for c in ctas[p : p + plan.cluster] for s in c], plan) for p in clusters]
    if plan.finish == "cta":
        return np.float32(parts[0]).tobytes()
    if plan.finish == "last_block":
        again = second_plan(plan)
        return np.float32(cta(np.array(parts, np.float32), again, len(parts), 1, again.unroll)).tobytes()
    unroll = second_unroll(plan)
    tile = plan.positions * unroll
    return np.float32(cta(np.array(parts, np.float32), plan, -(-len(parts) // tile) * tile, 1, unroll)).tobytes()


def plans(n: int, *, few: int, seed: int) -> list[tuple[Plan, Launch]]:
    """Random plans for a row of ``n`` elements; their extents are small, so that many share a tree."""
    rng = np.random.default_rng(seed)
    found = []
    every = list(
        product((1, 2, 4), (1, 2, 4), (1, 2, 4, 32), (1, 2, 4), MEETINGS, ("interleaved", "blocked"), (1, 1, 2))
    )
    for i in rng.choice(len(every), few, replace=False):
        vector, unroll, lanes, rows, meeting, walk, cluster = every[i]
        finish = ("cta", "last_block", "two_kernels")[int(rng.integers(3))]
        fast = ("reduced", "kept")[int(rng.integers(2))]
        vector = 1 if walk == "blocked" else vector
        plan = Plan(fast, walk, vector, unroll, lanes, rows, 1, 0, cluster, meeting, finish=finish)  # type: ignore[arg-type]
        found.append((plan, launch(plan, 1, n, int(rng.integers(1, 5)))))
    return found


@covering(("n", [1, 3, 31, 64, 100, 256, 511, 768]), ("lead", [0, 1]))
def test_equal_signatures_mean_equal_bits(n: int, lead: int) -> None:
    """Elements of very different magnitudes, so nearly every other order gives other bits."""
    rng = np.random.default_rng(n)
    rows = [(rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4, n)).astype(np.float32) for _ in range(3)]
    classes = defaultdict(list)
    for plan, run in plans(n, few=120, seed=n + lead):
        shift = lead % plan.vector_reduced if plan.walk == "interleaved" else 0
        bits = tuple(summed(x, plan, run, shift) for x in rows)
        classes[signature(plan, run, n, cut="shifted" if shift else "")].append(bits)
    assert all(len(set(found)) == 1 for found in classes.values())
    assert any(len(found) > 1 for found in classes.values())
    if n >= 511:  # and the signature is no finer than it must: most classes give bits of their own
        assert len({found[0] for found in classes.values()}) > 0.6 * len(classes)


def change(plan: Plan, **fields: Any) -> bool:
    """Whether a row of 4096 elements keeps its tree when ``fields`` of its plan change."""
    other = replace(plan, **fields)
    runs = [launch(p, 1, 4096, 2) for p in (plan, other)]
    return signature(plan, runs[0], 4096) == signature(other, runs[1], 4096)


def test_what_belongs_to_the_tree() -> None:
    plan = Plan(vector=4, unroll=2, lanes=32, warps=4, finish="last_block")
    assert change(plan, lanes=16, warps=8)
    assert change(plan, warps_kept=4)
    assert change(plan, finish="two_kernels")
    assert change(plan, cta="interleaved", exchange="global")
    assert not change(plan, warps=8)
    assert not change(plan, unroll=4)
    assert not change(plan, walk="blocked", vector=1)
    assert not change(plan, cta="serial")
    assert not change(plan, tree="tree-v2")
    assert not change(plan, vector=2, warps=8)  # the second round has other positions
    one = replace(plan, finish="cta")
    assert change(one, vector=2, warps=8)
    assert change(one, vector=1, unroll=2, warps=16)
    assert not change(one, vector=2)


def test_a_second_kernel_deals_out_whole_tiles() -> None:
    """Five states for two positions: the last CTA deals out three each, a second kernel four."""
    found = []
    for finish in ("last_block", "two_kernels"):
        plan = Plan(walk="blocked", unroll=2, lanes=2, finish=finish)  # type: ignore[arg-type]
        run = launch(plan, 1, 4100, 5)
        rows = np.random.default_rng(0).standard_normal((8, 4100)).astype(np.float32)
        found.append((signature(plan, run, 4100), [summed(x, plan, run) for x in rows]))
    assert run.split == 5
    assert found[0][0] != found[1][0]
    assert found[0][1] != found[1][1]


def test_atomics_have_no_tree() -> None:
    plan = Plan(finish="atomic")
    assert signature(plan, launch(plan, 1, 4096, 2), 4096) is None
    choice = Choice(plan, Facts(1, 1, 32, ("strided",), False), launch(plan, 1, 4096, 2))
    assert not same_bits(program("sum", "f32"), 4096, choice, choice)
    assert same_bits(program("sum", "i32"), 4096, choice, choice)


def program(what: Any, dtype: str) -> Any:
    return plan_for(what, (4096,), dtype).program


@pytest.mark.parametrize(
    ("what", "dtype", "free"),
    [("sum", "i32", True), ("sum", "i8", True), ("max", "f32", True), ("minmax", "f32", True), ("any", "bool", True),
     ("argmax", "f32", True), ("argmin", "i64", True), ("prod", "u64", True), ("count_nonzero", "f32", True),
     ("sum", "f32", False), ("mean", "f16", False), ("var", "f32", False), ("logsumexp", "f64", False),
     ("describe", "f32", False), (("max", "sum"), "f32", False), (("max", "argmax"), "f32", True)],
)  # fmt: skip
def test_reductions_whose_order_has_no_effect(what: Any, dtype: str, free: bool) -> None:
    """Proved from the graph: two sums of which one has an order have one; so has what is not proved."""
    assert unordered(program(what, dtype)) is free


def test_a_users_monoid_has_an_order_unless_disproved() -> None:
    @wf.monoid(identity=0)
    def added(a: Any, b: Any) -> Any:
        return a - (0 - b)

    assert not unordered(program(added, "i32"))
