"""The autotuner, on the emulator as a GPU; the tests set the time of each plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stand_in_gpu import StandIn, stand_in  # noqa: F401 - a fixture

import warpfold as wf
from warpfold.compiler.errors import error
from warpfold.compiler.plan.plan import Plan
from warpfold.runtime import tuned_plans
from warpfold.runtime.api import plan_for
from warpfold.runtime.programs.reductions import prepared
from warpfold.runtime.tuning import autotune as tuner
from warpfold.runtime.tuning.measure import Timing

ROWS = (96, 64)
LONG = (2, 16384)
"""Rows of several accesses a thread, whose unrolling is of the tree."""


def rows(dtype: str = "f4", shape: tuple[int, ...] = ROWS) -> Any:
    x = np.random.default_rng(0).standard_normal(shape) * 100
    return x.astype(dtype)


def plan_of(x: Any, backend: StandIn, what: str = "sum", determinism: Any = "run") -> Plan:
    """The plan that a call on the stand-in has now."""
    arrays, found = prepared([x], what, x.ndim - 1, determinism=determinism, device="cuda")
    assert arrays.backend is backend
    return found.steps[0].prepared.choice.plan


def by_results(plan: Plan) -> float:
    """More results a CTA are faster, up to 32 warps of them."""
    return 1000.0 / plan.warps_kept


def test_a_faster_plan_is_found_kept_and_used(gpu: Any) -> None:
    backend, x = gpu(by_results), rows()
    own, before = plan_of(x, backend), wf.sum(x, axis=1, device="cuda")
    found = wf.autotune(x, what="sum", axis=1)
    most = int(fields(found.best.plan)["warps_kept"])
    assert most > own.warps_kept
    assert found.faster == most / own.warps_kept
    assert found.own.plan == tuned_plans.words(own)
    assert found.path is not None
    assert plan_of(x, backend) == own.with_options(found.best.plan)
    assert wf.sum(x, axis=1, device="cuda").tobytes() == before.tobytes()
    kept = json.loads(Path(found.path).read_text().partition("\n")[2])
    assert kept["provenance"] | {"made": ""} == {
        "reduction": "sum", "shape": [96, 64], "dtypes": ["f32"], "determinism": "run", "device": "Stand-in GPU",
        "own_plan": found.own.plan, "own_us": 1000 / own.warps_kept, "us": 1000 / most, "faster": found.faster,
        "tried": len(found.tried), "made": "", "warpfold": wf.__version__,
    }  # fmt: skip


def test_a_tuned_plan_serves_its_own_kind_only(gpu: Any) -> None:
    backend, x = gpu(by_results), rows()
    others = (rows(shape=(97, 64)), rows(shape=(96, 68)), rows("f8"), rows(shape=(96, 128))[:, ::2])
    before = [plan_of(x, backend), *(plan_of(y, backend) for y in others)]
    wf.autotune(x, what="sum", axis=1)
    assert plan_of(x, backend) != before[0]
    assert [plan_of(y, backend) for y in others] == before[1:]
    assert plan_of(x, backend, "mean") == before[0]
    assert plan_of(x, backend, determinism="portable") == before[0]
    backend.device_name = "Another GPU"
    assert plan_of(x, backend) == before[0]


def test_forgetting_restores_the_planners_choice(gpu: Any) -> None:
    backend, x = gpu(by_results), rows()
    own = plan_of(x, backend)
    wf.autotune(x, what="sum", axis=1)
    assert plan_of(x, backend) != own
    assert tuner.forget_all() == 1
    assert plan_of(x, backend) == own


def test_a_float_sum_keeps_its_tree_and_a_sum_of_integers_any(gpu: Any) -> None:
    gpu(lambda p: 1000.0 / p.unroll)
    floats = wf.autotune(rows(shape=LONG), what="sum", axis=1)
    assert floats.path is None
    assert len(floats.tried) > 1
    assert not [t for t in floats.tried if t.verdict == "other bits"]
    integers = wf.autotune(rows("i4", LONG), what="sum", axis=1, seconds=1)
    assert integers.faster > 1
    assert not [t for t in integers.tried if t.verdict == "other bits"]


def test_plans_of_one_tree_may_differ_in_several_fields(gpu: Any) -> None:
    """Such as half the vector and twice the threads."""
    gpu(lambda p: 100.0 * p.vector)
    found = wf.autotune(rows(shape=(96, 512)), what="sum", axis=1)
    own, best = (fields(t.plan) for t in (found.own, found.best))
    threads = [int(f["lanes"]) * int(f["warps"]) * int(f["vector"]) for f in (own, best)]
    assert int(best["vector"]) < int(own["vector"])
    assert threads[0] == threads[1]


def fields(words: str) -> dict[str, str]:
    return dict(item.split("=") for item in words.split(","))  # type: ignore[misc]


def test_without_determinism_every_plan_takes_part(gpu: Any) -> None:
    gpu(lambda p: 1000.0 / p.unroll)
    found = wf.autotune(rows(shape=LONG), what="sum", axis=1, determinism="none", seconds=1)
    assert found.faster > 1


def test_a_plan_with_other_bits_never_wins(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the tree's rule were wrong, the answers would differ."""
    monkeypatch.setattr(tuned_plans, "allowed", lambda *_: True)
    gpu(lambda p: 1000.0 / p.unroll)
    found = wf.autotune(rows(shape=LONG), what="sum", axis=1, seconds=1)
    assert [t for t in found.tried if t.verdict == "other bits"]
    assert found.path is None


def test_a_plan_that_writes_nothing_never_wins(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    backend, done = gpu(by_results), []

    def once(self: Any, *args: Any) -> None:
        if not done:
            StandIn.launch(self, *args)
        done.append(1)

    monkeypatch.setattr(backend, "launch", once.__get__(backend))
    found = wf.autotune(rows(), what="sum", axis=1, seconds=1)
    assert {t.verdict for t in found.tried[1:]} == {"other bits"}


def test_a_plan_wins_by_more_than_the_margin(gpu: Any) -> None:
    gpu(lambda p: 100 - p.warps_kept / 32)
    assert wf.autotune(rows(), what="sum", axis=1).path is None
    assert not tuner.beats(Timing(98.5, 98.5, 98.5, 9), Timing(100, 100, 100, 9))
    assert tuner.beats(Timing(97, 97, 97, 9), Timing(100, 100, 100, 9))
    assert not tuner.beats(Timing(97, 90, 103, 9), Timing(100, 100, 100, 9))


def test_one_lucky_time_does_not_win(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu(lambda _: 100.0)
    lucky = iter([100.0, 50.0, 50.0])
    monkeypatch.setattr(tuner.Trials, "time", lambda _, c, runs: Timing(*[next(lucky, 100.0)] * 3, runs))  # noqa: ARG005
    found = wf.autotune(rows(), what="sum", axis=1, seconds=1)
    assert [t.verdict for t in found.tried].count("faster") == 0
    assert found.path is None
    assert found.best == found.own


@pytest.mark.parametrize("at", [0, 1, 9])
def test_ctrl_c_keeps_what_was_found(gpu: Any, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    backend, x = gpu(lambda _: 1.0), rows()
    times = [100.0, *[50.0] * 7]

    def time(_: Any, __: Any, runs: int) -> Timing:
        if len(seen) == at:
            raise KeyboardInterrupt
        seen.append(1)
        return Timing(*[times[min(len(seen), 8) - 1]] * 3, runs)

    seen: list[int] = []
    monkeypatch.setattr(tuner.Trials, "time", time)
    own = plan_of(x, backend)
    with pytest.raises(KeyboardInterrupt):
        wf.autotune(x, what="sum", axis=1)
    assert (plan_of(x, backend) != own) is (at == 9)


def test_plans_that_fail_are_left_out(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu(by_results)
    first = tuner.Trials.work
    seen: list[str] = []

    def work(self: Any, choice: Any) -> Any:
        words = tuned_plans.words(choice.plan)
        if seen and words != seen[0]:
            raise error("WF605", number=7, found="none")
        seen.append(words)
        return first(self, choice)

    monkeypatch.setattr(tuner.Trials, "work", work)
    found = wf.autotune(rows(), what="sum", axis=1)
    assert {t.verdict for t in found.tried[1:]} == {"refused"}
    assert all("7" in t.why for t in found.tried[1:])


def test_time_is_limited(gpu: Any) -> None:
    gpu(by_results)
    assert len(wf.autotune(rows(), what="sum", axis=1, seconds=1e-9).tried) == 1


def test_a_compiled_reduction_uses_a_tuned_plan_where_the_order_has_no_effect(gpu: Any) -> None:
    gpu(lambda plan: 100.0 * plan.vector)  # which is tried first, so that a slow machine comes to it
    for x, what, used in ((rows(), "max", True), (rows(), "sum", False)):
        wf.autotune(x, what=what, axis=1, seconds=3)
        own = plan_for(what, ROWS, axis=1).choice.plan
        assert (wf.compile(what, ROWS, axis=1).plan != own) is used


def test_errors(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu(by_results)
    for seconds in (0, -1.0, float("nan")):
        with pytest.raises(wf.WarpfoldError, match=r"WF835: a search cannot last .* seconds"):
            wf.autotune(rows(), what="sum", seconds=seconds)
    with pytest.raises(wf.WarpfoldError, match=r"WF836: an array of shape \(0, 3\) leaves nothing to reduce"):
        wf.autotune(np.zeros((0, 3), np.float32), what="sum", axis=1)
    with pytest.raises(wf.WarpfoldError, match="WF130"):
        wf.autotune(rows())
    with pytest.raises(wf.WarpfoldError, match="WF138"):
        wf.autotune(rows(), "sum", determinism="always")  # type: ignore[arg-type]
    monkeypatch.setattr("warpfold.runtime.backends.cuda_backend.find", list)
    with pytest.raises(wf.WarpfoldError, match="WF834: plans are timed on a GPU, and there is none"):
        wf.autotune(rows(), "sum")
