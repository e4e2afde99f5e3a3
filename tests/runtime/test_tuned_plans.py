"""Tuned plans on disk are used only if they are whole, servable and give the planner's own bits."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import warpfold as wf
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.task import Choice, Task
from warpfold.runtime import tuned_plans
from warpfold.runtime.api import plan_for

DEVICE = "Stand-in GPU"


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Task:
    """A sum of rows of several accesses, with a cache of its own."""
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path))
    found: Task = plan_for("sum", (4096, 8192), axis=1).task
    return found


def own(task: Task) -> Choice:
    """The planner's own choice."""
    return choose(task)


def faster(task: Task) -> str:
    """Another plan of the same tree."""
    plan = own(task).plan
    return tuned_plans.words(replace(plan, lanes=plan.lanes // 2, warps=plan.warps * 2))


def kept(task: Task, plan: str, **changed: Any) -> Path:
    return tuned_plans.keep(replace(tuned_plans.Find(tuned_plans.key(task, DEVICE), plan, {"made": "now"}), **changed))


def better(task: Task) -> str:
    return tuned_plans.words(tuned_plans.better(task, own(task), DEVICE).plan)


def test_a_tuned_plan_is_used(task: Task) -> None:
    assert better(task) == tuned_plans.words(own(task).plan)
    path = kept(task, faster(task))
    assert better(task) == faster(task)
    assert tuned_plans.read(path) == tuned_plans.Find(tuned_plans.key(task, DEVICE), faster(task), {"made": "now"})
    assert [f.plan for f in tuned_plans.all_kept()] == [faster(task)]


def test_the_emulator_and_other_machines_have_no_tuned_plans(task: Task) -> None:
    kept(task, faster(task))
    for device in ("", "Another GPU"):
        assert tuned_plans.better(task, own(task), device) == own(task)
    for other in (replace(task, sms=1), replace(task, addresses=(4, 0)), replace(task, determinism="portable")):
        assert tuned_plans.key(other, DEVICE) != tuned_plans.key(task, DEVICE)


@pytest.mark.parametrize(
    "damage",
    [lambda b: b[:-9], lambda b: b.replace(b"warps=", b"warps=1"), lambda _: b"", lambda b: b"\xff\xfe" + b,
     lambda b: b.partition(b"\n")[2], lambda _: b"{}\n{}\n"],
)  # fmt: skip
def test_a_damaged_file_counts_as_missing(task: Task, damage: Any) -> None:
    path = kept(task, faster(task))
    path.write_bytes(damage(path.read_bytes()))
    assert better(task) == tuned_plans.words(own(task).plan)
    assert tuned_plans.all_kept() == []
    kept(task, faster(task))
    assert better(task) == faster(task)


@pytest.mark.parametrize("body", ["[]", "{}", '{"key": 1, "plan": 2}', '{"key": "k", "plan": "p", "provenance": 3}'])
def test_a_valid_file_of_another_kind_counts_as_missing(task: Task, body: str) -> None:
    path = kept(task, faster(task))
    path.write_text(hashlib.sha256(body.encode()).hexdigest() + "\n" + body + "\n")
    assert better(task) == tuned_plans.words(own(task).plan)


def test_a_tuned_plan_under_another_name_is_not_used(task: Task) -> None:
    kept(task, faster(task)).rename(
        tuned_plans.folder() / (tuned_plans.key(replace(task, sms=7), DEVICE) + tuned_plans.ENDING)
    )
    assert tuned_plans.better(replace(task, sms=7), own(task), DEVICE) == own(task)


@pytest.mark.parametrize("plan", ["unroll=1", "vector=1", "cta=serial", "finish=atomic", "lanes=64", "nonsense",
                                  "warps=32,warps_kept=32"])  # fmt: skip
def test_a_plan_of_another_tree_or_without_one_is_not_used(task: Task, plan: str) -> None:
    """Not even when its file is whole: answers do not depend on who wrote it."""
    kept(task, plan)
    assert better(task) == tuned_plans.words(own(task).plan)


def test_a_tuned_plan_serves_all_sizes_only_where_the_order_has_no_effect(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuned_plans, "machine", lambda: DEVICE)
    kept(task, faster(task))
    assert tuned_plans.for_any_size(task, own(task)) == own(task)
    ready = plan_for("max", (4096, 8192), axis=1)
    assert tuned_plans.for_any_size(ready.task, ready.choice) == ready.choice
    tuned_plans.keep(tuned_plans.Find(tuned_plans.key(ready.task, DEVICE), "unroll=1"))
    assert tuned_plans.for_any_size(ready.task, ready.choice).plan == ready.choice.plan.with_options("unroll=1")


@pytest.mark.usefixtures("task")
def test_the_driver_is_not_used_without_tuned_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuned_plans, "machine", lambda: pytest.fail("asked"))
    ready = plan_for("max", (4096, 8192), axis=1)
    assert tuned_plans.for_any_size(ready.task, ready.choice) == ready.choice


def test_forgetting_removes_damaged_files(task: Task) -> None:
    assert tuned_plans.forget() == 0
    kept(task, faster(task))
    (tuned_plans.folder() / f"other{tuned_plans.ENDING}").write_text("damaged")
    assert tuned_plans.forget() == 2
    assert list(tuned_plans.folder().iterdir()) == []


def test_a_tuned_plan_that_cannot_be_written_or_removed(
    task: Task, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(wf.WarpfoldError, match="WF505: cannot write"):
        kept(task, faster(task))
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path))
    (tuned_plans.folder() / f"folder{tuned_plans.ENDING}").mkdir(parents=True)
    with pytest.raises(wf.WarpfoldError, match="WF505"):
        tuned_plans.forget()


def test_the_file_is_readable(task: Task) -> None:
    text = kept(task, faster(task)).read_text()
    assert json.loads(text.partition("\n")[2])["provenance"] == {"made": "now"}
