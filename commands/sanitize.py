"""``warpfold sanitize``: errors of OP or FILE.ptx on the emulator, with their threads and source lines."""

from __future__ import annotations

import shlex
from dataclasses import asdict, replace
from typing import Any

from ..compiler.errors import WarpfoldError
from ..runtime.emulator.sanitizer import Finding, Sanitizer, grouped
from ..runtime.emulator.sanitizer.launch_errors import of_error
from . import terminal
from .emulated import Work, watch
from .requests.choose import AnyRequest
from .requests.program_request import ProgramRequest


def sanitize(work: Work, *, seeds: int, json: bool) -> bool:
    """Runs OP or FILE.ptx and prints the findings; returns whether there are none.

    After the run in lockstep come ``seeds`` runs under drawn schedules.

    Raises:
        WarpfoldError: the request is wrong. Errors of a kernel are findings and raise nothing.
    """
    title = "; ".join([work.request.op, *work.launches]) if work.is_ptx else work.request.title()
    with terminal.progress("sanitizing on the emulator"):
        tool = _run(work, None, json=json)
    found = grouped(tool.findings)
    for seed in range(seeds):
        with terminal.progress(f"schedule {seed + 1} of {seeds}"):
            more = grouped(_run(work, seed, json=json).findings)
        known = {(f.kind, f.line) for f in found}
        words = f"; found under the schedule of seed {seed}"
        found += [replace(f, words=f.words + words) for f in more if (f.kind, f.line) not in known]
    if json:
        terminal.show(terminal.as_json(_facts(title, found, tool)))
    else:
        _report(title, found, tool, work, seeds)
    return not found


def _run(work: Work, seed: int | None, *, json: bool) -> Sanitizer:
    """The sanitizer after a run in lockstep, or under the schedule that ``seed`` draws."""
    tool = Sanitizer()
    try:
        watch(replace(work, schedule=seed), tool, json=json)
    except WarpfoldError as e:
        if not tool.launches:
            raise
        of_error(tool.findings, e, tool.symbols.launch.memory)
    return tool


def _facts(title: str, found: list[Finding], tool: Sanitizer) -> dict[str, Any]:
    checked = {"launches": tool.launches, "threads": tool.threads, "accesses": tool.accesses}
    return {"title": title, "findings": [asdict(f) for f in found], "checked": checked}


def _report(title: str, found: list[Finding], tool: Sanitizer, work: Work, seeds: int) -> None:
    terminal.show(f"sanitize {title}")
    for number, finding in enumerate(found, 1):
        terminal.show()
        terminal.show(f"{number}. {finding.kind} at line {finding.line}: {finding.text}")
        terminal.facts(_lines(finding))
    terminal.show()
    terminal.show(f"{len(found)} finding(s)" if found else "no findings")
    terminal.facts([
        ("checked", f"{tool.launches} launch(es) of {tool.threads:,} threads in all, {tool.accesses:,} accesses"
         + f", and under {seeds} more schedule(s)" * (seeds > 0)),
        *([("lines", f"those of what `{_compile(work.request)}` prints")] if found and not work.is_ptx else []),
    ])  # fmt: skip


def _lines(finding: Finding) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for name, place in zip(("thread", *("and",) * (len(finding.threads) - 1)), finding.threads, strict=True):
        rows.append((name, str(place)))
        rows += [("source", str(place.source))] if place.source else []
    if finding.where:
        rows.append(("at", finding.where))
    rows.append(("what", finding.words))
    if finding.count > 1:
        rows.append(("seen", f"{finding.count:,} times"))
    return [(f"   {name}", value) for name, value in rows]


def _compile(r: AnyRequest) -> str:
    """The command line that prints the PTX of a request."""
    shapes = r.shapes if isinstance(r, ProgramRequest) else filter(None, [r.shape])
    options = {"--dtype": r.dtype, "--axis": r.axis_text, "--plan": r.plan}
    given = [("--input", f) for f in r.files] + [("--shape", s) for s in shapes]
    given += [(k, v) for k, v in options.items() if v]
    given += [("--param", p) for p in r.param_texts]
    return shlex.join(["warpfold", "compile", r.op, *(word for pair in given for word in pair)])
