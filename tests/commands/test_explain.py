"""``explain`` agrees with the PTX: accesses, loops, and the stages of every level."""

from __future__ import annotations

import re
from functools import cache

import pytest
from catalogue import CATALOGUE, Case

from warpfold.commands import levels
from warpfold.compiler.driver.compile import compile_program
from warpfold.passes import steps
from warpfold.runtime import api
from warpfold.runtime.prepare import Prepared

ORDERED = [c for c in CATALOGUE if getattr(c.what, "__name__", "") == "affine"]
SOME = [*CATALOGUE[::3], *(c for c in ORDERED if c not in CATALOGUE[::3])]
_READ = re.compile(r"(\d+) element\(s\) an access \((\d+) bytes, ([^)]*)\)")
_LOAD = re.compile(r"ld\.global(?:\.\w+)*?(?:\.v(\d))?\.[a-z](\d+)\b")
_MEET = {
    "fold.warp_reduce": r"shfl\.sync|redux\.sync|vote\.sync", "fold.interwarp_accumulate": r"bar\.sync",
    "fold.shared_store": r"st\.shared", "fold.cta_reduce": r"bar\.sync|bar\.warp\.sync",
    "fold.period_reduce": r"bar\.sync", "fold.cluster_reduce": r"barrier\.cluster",
    "fold.tile_copy": r"st\.shared|cp\.async",
}  # fmt: skip
"""What of the PTX a stage cannot do without."""


def planned(case: Case) -> Prepared:
    return api.plan_for(case.what, case.shape, case.dtype, axis=case.axis, plan=case.plan)


@cache
def ptx(case: Case) -> str:
    """The PTX of the explained plan, for its launch."""
    ready = planned(case)
    return compile_program(ready.program, ready.choice.facts, ready.choice.plan, ready.target, steps(ready.target)).ptx


def numbers(case: Case, pattern: str) -> list[int]:
    """The numbers in the reasons that match a pattern."""
    return [int(m[1].replace(",", "")) for reason in planned(case).choice.reasons if (m := re.search(pattern, reason))]


def jumps_back(entry: str) -> bool:
    """Whether a kernel has a loop: a branch to a label above it."""
    seen = set[str]()
    for line in entry.splitlines():
        if label := re.match(r"(\$L\w+):", line):
            seen.add(label[1])
        elif (jump := re.search(r"\bbra(?:\.uni)?\s+(\$L\w+);", line)) and jump[1] in seen:
            return True
    return False


@pytest.mark.parametrize("case", SOME, ids=lambda c: c.name)
def test_accesses_are_as_wide_as_explain_says(case: Case) -> None:
    said = [m for reason in planned(case).choice.reasons if (m := _READ.search(reason))]
    widths = {int(count or 1) * int(bits) // 8 for count, bits in _LOAD.findall(ptx(case))}
    for elements, nbytes, kind in (m.groups() for m in said):
        plan = planned(case).choice.plan
        assert int(elements) == plan.vector
        assert (kind == "single elements") == (plan.vector == 1)
        assert int(nbytes) in widths


@pytest.mark.parametrize("case", SOME, ids=lambda c: c.name)
def test_levels_have_the_stages_that_explain_says(case: Case) -> None:
    ready, text = planned(case), ptx(case)
    stages = {stage for level in levels.of(ready) for stage, _ in level.stages}
    for stage, pattern in _MEET.items():
        assert stage not in stages or re.search(pattern, text), stage
    assert ("fold.cluster_reduce" in stages) == ("barrier.cluster" in text)
    finish = ready.choice.plan.finish
    assert bool(re.search(r"\b(atom|red)\.", text)) == (finish in ("last_block", "atomic"))
    assert text.count(".entry") == {"two_kernels": 2, "atomic": 3}.get(finish, 1)


@pytest.mark.parametrize("case", SOME, ids=lambda c: c.name)
def test_counts_are_those_of_the_plan(case: Case) -> None:
    plan = planned(case).choice.plan
    assert set(numbers(case, r"(\d+) element\(s\) an access")) <= {plan.vector}
    assert set(numbers(case, r"up to (\d+) access\(es\) in flight each")) <= {plan.unroll}
    assert set(numbers(case, r"^(\d+) thread\(s\) a result")) <= {plan.positions}
    assert set(numbers(case, r"^([\d,]+) CTAs share each result")) <= {planned(case).choice.run.split}


@pytest.mark.parametrize("case", SOME, ids=lambda c: c.name)
def test_kernels_without_a_loop_have_none(case: Case) -> None:
    """A second round has loops of its own."""
    if numbers(case, r"no loop: (\d+)") and planned(case).choice.plan.finish in ("cta", "two_kernels"):
        assert not jumps_back(ptx(case).split(".entry")[1])
