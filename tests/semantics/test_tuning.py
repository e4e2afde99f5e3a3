"""docs/semantics.md: tuning."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from covering import covering
from meanings import normal, total

import warpfold as wf
from warpfold.runtime import tuned_plans
from warpfold.runtime.api import plan_for
from warpfold.runtime.tuning.autotune import neighbours


@pytest.fixture
def no_finds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tuned_plans, "machine", lambda: "GPU")


def keep(ready: Any, plan: str) -> Any:
    """The choice for what ``ready`` is, after ``plan`` was found for it on a GPU."""
    tuned_plans.keep(tuned_plans.Find(tuned_plans.key(ready.task, "GPU"), plan))
    return tuned_plans.better(ready.task, ready.choice, "GPU")


@pytest.mark.usefixtures("no_finds")
def test_finds_are_for_one_kind() -> None:
    ready = plan_for("max", (64, 4096), axis=1)
    assert keep(ready, "unroll=1").plan == ready.choice.plan.with_options("unroll=1")
    for other in (plan_for("max", (64, 4100), axis=1), plan_for("min", (64, 4096), axis=1)):
        assert tuned_plans.better(other.task, other.choice, "GPU") is other.choice
    assert tuned_plans.better(ready.task, ready.choice, "another GPU") is ready.choice
    tuned_plans.forget()
    assert tuned_plans.better(ready.task, ready.choice, "GPU") is ready.choice


@pytest.mark.usefixtures("no_finds")
@covering(
    ("determinism", ["run", "portable"]),
    (("shape", "axis"), [((20000,), None), ((40, 512), 1), ((3000, 40), 0), ((40, 30), 1)]),
)
def test_finds_have_the_same_bits(shape: tuple[int, ...], axis: Any, determinism: str) -> None:
    x = normal(*shape)
    ready, own = plan_for("sum", shape, axis=axis, determinism=determinism), total(x, axis, determinism=determinism)
    tried = list(itertools.islice(neighbours(ready.task, ready.choice, ready.choice), 0, None, 3))[:5]
    assert tried
    for other in tried:
        assert keep(ready, tuned_plans.words(other.plan)).plan == other.plan
        plan = tuned_plans.words(other.plan)
        assert total(x, axis, determinism=determinism, plan=plan).tobytes() == own.tobytes()
    reordered = "cta=serial" if ready.choice.plan.positions > 2 else "cta=sequential,lanes=32,warps=8"
    assert keep(ready, reordered) is ready.choice


@pytest.mark.usefixtures("no_finds")
def test_finds_without_determinism() -> None:
    ready = plan_for("sum", (20000,), determinism="none")
    assert keep(ready, "finish=atomic").plan.finish == "atomic"
    plans = [c.plan for c in neighbours(ready.task, ready.choice, ready.choice)]
    assert {"atomic", "cta"} <= {p.finish for p in plans}


@pytest.mark.usefixtures("no_finds")
def test_finds_for_other_sizes() -> None:
    for what, taken in (("max", True), ("argmin", True), ("sum", False)):
        ready = plan_for(what, (64, 4096), axis=1)
        assert keep(ready, "lanes=16,warps=32").plan != ready.choice.plan
        assert (wf.compile(what, (64, 4096), axis=1).plan != ready.choice.plan) is taken
