"""``warpfold tune``: searches for a faster plan on this machine's GPU; lists or deletes the plans found."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..compiler.errors import error
from ..runtime import tuned_plans
from ..runtime.tuning import autotune
from ..runtime.tuning.autotune import Search, Tried, Tuned
from . import terminal
from .programs.tune import tune as tune_program
from .requests import inputs
from .requests.choose import AnyRequest
from .requests.program_request import ProgramRequest
from .requests.request import Request

SHOWN = 20
"""Greatest number of lines in the table, which shows the fastest plans."""


def tune(request: AnyRequest, *, seconds: float, json: bool) -> bool:
    """Searches and shows what was found; returns whether the search ended by itself.

    Raises:
        BackendError: WF834 without a GPU.
        ArgumentError: WF835, WF836.
    """
    if isinstance(request, ProgramRequest):
        return tune_program(request, seconds=seconds, json=json)
    request.kind()  # errors of the request are raised on any machine
    autotune.require_gpu()
    xs = [inputs.aligned(x) for x in request.arrays]
    with request.users_code():
        search = Search.of(xs, request.what, request.axis, None, "propagate", request.determinism, request.params)
    whole = True
    with terminal.progress(f"tuning {request.title()}"):
        try:
            search.run(seconds)
        except KeyboardInterrupt:
            if not search.tried:
                raise
            whole = False
    found = search.found()
    if json:
        terminal.show(terminal.as_json(_report(request, found, whole)))
    else:
        _show(request, found, whole)
    return whole


def kept(op: str, *, forget: bool, json: bool) -> None:
    """Lists or deletes all plans found.

    Raises:
        ArgumentError: WF837 for an OP beside ``--forget``.
        FileError: WF505.
    """
    if forget and op:
        raise error("WF837", op=op)
    if forget:
        count = autotune.forget_all()
        terminal.show(
            terminal.as_json({"forgotten": count}) if json else f"forgot {count} find(s) in {tuned_plans.folder()}"
        )
        return
    found = tuned_plans.all_kept()
    if json:
        terminal.show(terminal.as_json([asdict(f) for f in found]))
    elif found:
        terminal.table(("reduction", "device", "faster", "plan"), [_line(f.provenance, f.plan) for f in found])
    else:
        terminal.show(f"no finds in {tuned_plans.folder()}: warpfold tune OP makes one")


def _line(p: dict[str, Any], plan: str) -> tuple[str, ...]:
    shape = "x".join(map(str, p.get("shape", ())))
    what = f"{p.get('reduction')} of {', '.join(p.get('dtypes', ()))} {shape}"
    return what, str(p.get("device")), f"{p.get('faster')}x", changes(str(p.get("own_plan", "")), plan)


def changes(own: str, plan: str) -> str:
    """The fields in which ``plan`` differs from the planner's ``own``."""
    before = own.split(",")
    return ",".join(item for item in plan.split(",") if item not in before)


def _report(request: Request, found: Tuned, whole: bool) -> dict[str, Any]:
    return {
        "title": request.title(), "device": found.device, "complete": whole, "faster": found.faster,
        "own": asdict(found.own), "best": asdict(found.best), "path": found.path,
        "tried": [asdict(t) for t in found.tried],
    }  # fmt: skip


def _show(request: Request, found: Tuned, whole: bool) -> None:
    terminal.show(f"{request.title()}, on {found.device}\n")
    timed = sorted((t for t in found.tried if t.timing), key=_time)
    terminal.table(("time", "quartiles", "verdict", "changes of the plan"), [_cells(found, t) for t in timed[:SHOWN]])
    others = len(found.tried) - len(timed)
    terminal.show(f"\n{len(found.tried)} plan(s) tried, {others} of them refused or with other bits" * (others > 0)
                or f"\n{len(found.tried)} plan(s) tried")  # fmt: skip
    if not whole:
        terminal.show("interrupted: what was found until then counts")
    if found.path is None:
        terminal.show("none is faster than the planner's own: nothing is kept")
        return
    terminal.show(f"chosen: {found.best.plan}")
    terminal.show(f"{found.faster:.2f} times faster: {_words(found.own)} before, {_words(found.best)} now")
    terminal.show(f"kept in {found.path}: later calls of this kind use it, with the same answers")


def _time(tried: Tried) -> float:
    return tried.timing.median if tried.timing else 0.0


def _words(tried: Tried) -> str:
    return terminal.duration(_time(tried) / 1e6)


def _cells(found: Tuned, tried: Tried) -> tuple[str, ...]:
    timing = tried.timing
    assert timing is not None
    spread = f"{timing.low:.2f} to {timing.high:.2f} us"
    verdict = "planner's own" if tried.verdict == "own" else tried.verdict
    return _words(tried), spread, verdict, changes(found.own.plan, tried.plan)
