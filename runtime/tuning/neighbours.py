"""The neighbours of a plan in the autotuner's search: plans a few steps away with the planner's own bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product
from typing import Any, get_args

from ...compiler.errors import WarpfoldError
from ...compiler.plan.fields import Finish
from ...compiler.plan.launch import grain
from ...compiler.plan.plan import Plan
from ...compiler.planner import choose as planner
from ...compiler.planner.powers_of_two import ceil2
from ...compiler.planner.task import Choice, Task
from .. import tuned_plans

CHANGES = 3
"""Greatest number of fields that differ: half the warps need twice the vector to keep the tree."""
STEPPED = ("vector", "unroll", "lanes", "warps", "warps_kept", "cluster")
"""Fields to double and to halve."""


def neighbours(task: Task, own: Choice, best: Choice) -> Iterator[Choice]:
    """Choices a few steps from ``best`` that may replace the planner's ``own``, the nearest first."""
    steps = {name: list(values) for name, values in _steps(best, task.geometry.columns).items()}
    for count in range(1, CHANGES + 1):
        for names in combinations(steps, count):
            for values in product(*(steps[name] for name in names)):
                other = _choice(task, replace(best.plan, **dict(zip(names, values, strict=True))))
                if other is not None and tuned_plans.allowed(task, own, other):
                    yield other


def _steps(best: Choice, columns: int) -> dict[str, list[Any]]:
    """For each field of the plan, the values one step away."""
    plan, found = best.plan, dict[str, list[Any]]()
    for name in STEPPED:
        value = getattr(plan, name)
        found[name] = [v for v in (2 * value, value // 2) if v]
    found["finish"] = [f for f in get_args(Finish) if f != plan.finish]
    each = plan.coarsening or ceil2(max(1, best.run.chunk // grain(plan, columns)))
    found["coarsening"] = [v for v in (0, each // 2, each, 2 * each) if v != plan.coarsening]
    return found


def _choice(task: Task, plan: Plan) -> Choice | None:
    """The choice of exactly this plan; None if the planner rejects it."""
    if plan.finish == "cta":
        plan = replace(plan, coarsening=0)
    try:
        found = planner.choose(task, tuned_plans.words(plan))
    except WarpfoldError:
        return None
    return found if found.plan == plan else None
