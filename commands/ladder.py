"""``warpfold ladder``: named plans side by side, timed on a GPU and profiled on the emulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..compiler.errors import error, near
from ..compiler.plan.ladder import RUNGS, Rung
from ..compiler.plan.plan import Plan
from ..runtime.backends.select import backend_for
from . import terminal
from .ladder_runs import LAUNCHES, Ground, Step
from .plan_cost import BANDWIDTH
from .requests.request import Request

Row = dict[str, Any]
"""A rung as plain values."""
PROFILED = 1 << 22
"""Greatest number of elements that are profiled beside a GPU."""
Columns = dict[str, tuple[str, str]]
"""Columns of a profile: for each count its title and its format."""
COUNTS: Columns = {
    "branch_efficiency": ("uniform branches", "{:.1f} %"),
    "sectors_per_request": ("sectors per request", "{:.2f}"),
    "bytes_used": ("bytes used", "{:.1f} %"),
    "bank_conflicts": ("bank conflicts", "{:,}"),
    "barriers": ("barriers", "{:,}"),
    "instructions_per_element": ("instructions per element", "{:.2f}"),
}
"""The columns for a reduction."""


def ladder(op: str, *, dtype: str, size: int, device: str, names: Sequence[str], plot: str | None, json: bool) -> bool:
    """Runs, shows and draws the rungs; returns whether every result was right.

    Raises:
        ArgumentError: WF832 for a name that no rung has.
        FileError: WF505, WF830 or WF831 for a picture that cannot be written, before anything runs.
    """
    rungs = chosen(names)
    return reported(lambda: climbed(op, dtype, size, device, rungs), COUNTS, plot, json=json)


def reported(climb: Callable[[], Row], counts: Columns, plot: str | None, *, json: bool) -> bool:
    """Shows and draws what ``climb`` finds; returns whether every result was right."""
    picture = None
    if plot is not None:
        from .ladder_plot import Picture

        picture = Picture(plot)
    report = climb()
    if picture is not None:
        picture.write(report)
    if json:
        terminal.show(terminal.as_json(report))
    else:
        _show(report, counts)
    return all(row["passed"] for row in report["rungs"])


def chosen(names: Sequence[str], rungs: Sequence[Rung] = RUNGS) -> list[Rung]:
    """The rungs with these names in the ladder's order; without names all of them.

    Raises:
        ArgumentError: WF832.
    """
    known = [rung.name for rung in rungs]
    for name in names:
        if name not in known:
            raise error("WF832", name=name, near=near(name, known), known=" ".join(known))
    return [rung for rung in rungs if not names or rung.name in names]


def climbed(op: str, dtype: str, size: int, device: str, rungs: Sequence[Rung]) -> Row:
    """All that the command found, as plain values."""
    backend: Any = backend_for((), device)
    on_gpu = backend.name == "cuda"
    small = Request(op, shape=str(min(size, PROFILED) if on_gpu else size), dtype=dtype)
    profiled = Ground(small, "emulator")
    timed = Ground(Request(op, shape=str(size), dtype=dtype), device) if on_gpu else None
    steps = []
    for rung in rungs:
        with terminal.progress(rung.name):
            step = profiled.climb(rung)
            if timed is not None and not step.refused:
                time = timed.climb(rung)
                step = replace(time, counts=step.counts, checks=(*step.checks, *time.checks))
            steps.append(step)
    return {
        "op": op, "title": (timed or profiled).request.title(), "dtype": dtype, "size": size, **machine(backend),
        "profiled": small.title(), "rungs": rows(steps, timed.nbytes if timed else None, COUNTS),
    }  # fmt: skip


def machine(backend: Any) -> Row:
    """Where rungs ran: the device, and the bandwidth of its memory where that is known."""
    if backend.name != "cuda":
        return {"device": f"emulator of {backend.target.arch}", "memory_gbs": None}
    speed, part = BANDWIDTH[backend.target.arch]
    own = part.split()[0] in backend.device_name
    return {"device": backend.device_name, "memory_gbs": speed if own else None}


def rows(steps: Sequence[Step], nbytes: int | None, counts: Columns) -> list[Row]:
    """Each rung with the last one before it that could run; ``nbytes`` are those of a rung that is timed."""
    found: list[Row] = []
    before: Step | None = None
    for step in steps:
        spent, earlier = step.microseconds, before.microseconds if before else None
        gbs = nbytes / spent / 1e3 if nbytes and spent else None
        faster = earlier / spent if earlier and spent else None
        change = changes(before.plan if before else None, step.plan)
        worst = max(step.checks, key=lambda c: (not c.passed, c.error), default=None)
        found.append(
            {
                "rung": step.rung.name, "source": step.rung.source, "idea": step.rung.idea,
                "plan": step.plan and step.plan.to_dict(), "changes": change,
                "refused": step.refused or None, "passed": step.passed,
                "error": worst and worst.error, "allowed": worst and worst.allowed,
                "microseconds": spent, "gbs": gbs, "speedup": faster,
                **{key: getattr(step.counts, key) if step.counts else None for key in counts},
            }
        )  # fmt: skip
        before = before if step.refused else step
    return found


def changes(before: Plan | None, plan: Plan | None) -> str:
    """The fields of ``plan`` that differ from the plan before, as ``--plan`` takes them; without one all fields."""
    if plan is None:
        return ""
    old = before.to_dict() if before else {}
    return ",".join(f"{k}={v}" for k, v in plan.to_dict().items() if k != "tree" and old.get(k) != v)


def _show(report: Row, counts: Columns) -> None:
    rows = report["rungs"]
    terminal.show(f"{report['title']}, on {report['device']}\n")
    columns, lines = ["rung", "check", "changes of the plan"], [[r["rung"], _verdict(r), _change(r)] for r in rows]
    if any(r["microseconds"] for r in rows):
        columns[1:1] = ["time", "GB/s", "speed-up"]
        for line, r in zip(lines, rows, strict=True):
            line[1:1] = _time(r)
    terminal.table(columns, lines)
    if "time" in columns:
        terminal.show(f"\neach time is the median of up to {LAUNCHES} launches, with the L2 cache flushed before")
    show_counts(report, counts)


def show_counts(report: Row, counts: Columns) -> None:
    """Prints what the profiler counted for each rung."""
    terminal.show(f"\nprofile of {report['profiled']}, on the emulator\n")
    terminal.table(
        ("rung", *(title for title, _ in counts.values())),
        [(r["rung"], *counted(r, counts)) for r in report["rungs"] if not r["refused"]]
        or [("none", *("" for _ in counts))],
        spare=("barriers",),
    )


def counted(row: Row, counts: Columns = COUNTS) -> list[str]:
    """The counts of a rung in words."""
    return [form.format(row[key]) if row[key] is not None else "-" for key, (_, form) in counts.items()]


def _time(row: Row) -> tuple[str, str, str]:
    """Time, speed, and speedup over the rung before, in words."""
    if not row["microseconds"]:
        return "-", "-", "-"
    faster = f"{row['speedup']:.2f}x" if row["speedup"] else "-"
    return terminal.duration(row["microseconds"] / 1e6), f"{row['gbs']:.4g}", faster


def _verdict(row: Row) -> str:
    if row["refused"]:
        return "not possible"
    return "passed" if row["passed"] else f"FAILED: error {row['error']:.3g}, allowed {row['allowed']:.3g}"


def _change(row: Row) -> str:
    return str(row["refused"] or row["changes"])
