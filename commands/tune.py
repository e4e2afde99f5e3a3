"""``warpfold tune``: looks for a faster plan on this machine's GPU, says what was tried; lists or gives up finds."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..compiler.errors import error
from ..runtime.tuning import autotune, finds
from ..runtime.tuning.autotune import Search, Tried, Tuned
from . import screen
from .requests import inputs
from .requests.request import Request

SHOWN = 20
"""Lines of the table at most: of many plans the fastest."""


def tune(request: Request, *, determinism: str, seconds: float, json: bool) -> bool:
    """Searches and shows what was found; gives whether it came to its end.

    Raises:
        BackendError: WF834 without a GPU.
        ArgumentError: WF835, WF836.
    """
    request.kind()  # what is wrong with it is said anywhere
    autotune.require_gpu()
    xs = [inputs.aligned(x) for x in request.arrays]
    with request.users_code():
        search = Search.of(xs, request.what, request.axis, None, "propagate", determinism, request.params)  # type: ignore[arg-type]
    whole = True
    with screen.progress(f"tuning {request.title()}"):
        try:
            search.run(seconds)
        except KeyboardInterrupt:
            if not search.tried:
                raise
            whole = False
    found = search.found()
    if json:
        screen.show(screen.as_json(_report(request, found, whole)))
    else:
        _show(request, found, whole)
    return whole


def kept(op: str, *, forget: bool, json: bool) -> None:
    """Lists all finds, or gives them up.

    Raises:
        ArgumentError: WF837 for an OP beside ``--forget``.
        FileError: WF505.
    """
    if forget and op:
        raise error("WF837", op=op)
    if forget:
        count = autotune.forget_all()
        screen.show(screen.as_json({"forgotten": count}) if json else f"forgot {count} find(s) in {finds.folder()}")
        return
    found = finds.all_kept()
    if json:
        screen.show(screen.as_json([asdict(f) for f in found]))
    elif found:
        screen.table(("reduction", "device", "faster", "plan"), [_line(f.provenance, f.plan) for f in found])
    else:
        screen.show(f"no finds in {finds.folder()}: warpfold tune OP makes one")


def _line(p: dict[str, Any], plan: str) -> tuple[str, ...]:
    shape = "x".join(map(str, p.get("shape", ())))
    what = f"{p.get('reduction')} of {', '.join(p.get('dtypes', ()))} {shape}"
    return what, str(p.get("device")), f"{p.get('faster')}x", changes(str(p.get("own_plan", "")), plan)


def changes(own: str, plan: str) -> str:
    """The fields of ``plan`` that are not those of the planner's ``own``."""
    before = own.split(",")
    return ",".join(item for item in plan.split(",") if item not in before)


def _report(request: Request, found: Tuned, whole: bool) -> dict[str, Any]:
    return {
        "title": request.title(), "device": found.device, "complete": whole, "faster": found.faster,
        "own": asdict(found.own), "best": asdict(found.best), "path": found.path,
        "tried": [asdict(t) for t in found.tried],
    }  # fmt: skip


def _show(request: Request, found: Tuned, whole: bool) -> None:
    screen.show(f"{request.title()}, on {found.device}\n")
    timed = sorted((t for t in found.tried if t.timing), key=_time)
    screen.table(("time", "quartiles", "verdict", "changes of the plan"), [_cells(found, t) for t in timed[:SHOWN]])
    others = len(found.tried) - len(timed)
    screen.show(f"\n{len(found.tried)} plan(s) tried, {others} of them refused or with other bits" * (others > 0)
                or f"\n{len(found.tried)} plan(s) tried")  # fmt: skip
    if not whole:
        screen.show("interrupted: what was found until then counts")
    if found.path is None:
        screen.show("none is faster than the planner's own: nothing is kept")
        return
    screen.show(f"chosen: {found.best.plan}")
    screen.show(f"{found.faster:.2f} times faster: {_words(found.own)} before, {_words(found.best)} now")
    screen.show(f"kept in {found.path}: later calls of this kind use it, with the same answers")


def _time(tried: Tried) -> float:
    return tried.timing.median if tried.timing else 0.0


def _words(tried: Tried) -> str:
    return screen.duration(_time(tried) / 1e6)


def _cells(found: Tuned, tried: Tried) -> tuple[str, ...]:
    timing = tried.timing
    assert timing is not None
    spread = f"{timing.low:.2f} to {timing.high:.2f} us"
    verdict = "planner's own" if tried.verdict == "own" else tried.verdict
    return _words(tried), spread, verdict, changes(found.own.plan, tried.plan)
