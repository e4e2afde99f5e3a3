"""Collects what a page shows: asks the planner for the plan, the compiler for the code, the emulator for the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...compiler.errors import WarpfoldError
from ...compiler.target import DEFAULT
from ...runtime.prepare import Prepared
from ...runtime.programs.plans import PreparedProgram, PreparedStep
from .. import explain, levels
from ..programs import explain as programs
from ..programs.cut_rows import cut_rows
from ..programs.plan_words import fragments
from ..programs.words import Words
from ..requests.choose import AnyRequest
from ..requests.program_request import ProgramRequest
from .code import Places, columns
from .model import Fact, Page, Part, Side, Table
from .seen import Seen


def collect(request: AnyRequest, compare: str | None, max_steps: int | None, *, sass: bool = False) -> Page:
    """The page of an operation, under its plan and under the one that it is compared with.

    Raises:
        WarpfoldError: whatever is wrong with the request. What the emulator cannot run is said on the page.
    """
    known = Places()
    sides = [_side(request, known, max_steps, sass)]
    if compare is not None:
        sides.append(_side(replace(request, plan=compare), known, max_steps, sass))
    return Page(request.title(), _command(request, compare), sides)


def _command(request: AnyRequest, compare: str | None) -> str:
    """The command that makes the page."""
    words = ["warpfold page", request.op]
    shapes = [request.shape] if not isinstance(request, ProgramRequest) else list(request.shapes)
    options: list[tuple[str, str | None]] = [("--input", f) for f in request.files]
    options += [*(("--shape", s) for s in shapes), ("--dtype", request.dtype), ("--axis", request.axis_text)]
    options += [("--param", p) for p in request.param_texts] + [("--plan", request.plan), ("--compare", compare)]
    options.append(("--determinism", request.determinism if request.determinism != "run" else None))
    return " ".join([*words, *(f"{name} {value}" for name, value in options if value)])


def _side(request: AnyRequest, known: Places, max_steps: int | None, sass: bool) -> Side:
    """What a page shows of one plan."""
    planned = request.planned(DEFAULT.arch)
    ready: Any = planned if isinstance(planned, Prepared) else planned.prepared
    seen, trouble = None, ""
    try:
        seen = Seen(request, max_steps)
        ready = seen.watched.prepared
    except WarpfoldError as e:
        if e.code != "WF857" and not e.code.startswith("WF7"):
            raise
        trouble = str(e)
    parts = _reduction(request, ready) if isinstance(ready, Prepared) else _program(request, ready)
    made = []
    for number, (part, own) in enumerate(parts):
        lines = seen.lines(number) if seen else {}
        code, unchanged = columns(own, known, lines, sass=sass)
        made.append(replace(part, columns=code, unchanged=unchanged))
    facts = [*_facts(request, ready), *(seen.bounds() if seen else [])]
    return Side(request.plan or "the planner's own", facts, made, seen.launches() if seen else (), trouble)


def _facts(request: AnyRequest, ready: Prepared | PreparedProgram) -> list[Fact]:
    """The bytes that must move, and the least time for them."""
    found: list[tuple[str, object]]
    if isinstance(ready, Prepared):
        found = explain.cost(request, ready)[:2]  # type: ignore[arg-type]
    else:
        words = Words(request, ready)  # type: ignore[arg-type]
        bits = f"those of a result depend on {programs.bits(words)}"
        found = [*programs.bytes_moved(words, DEFAULT.arch), ("bits", bits)]
    return [(name, str(text)) for name, text in found]


def _reduction(request: AnyRequest, ready: Prepared) -> list[tuple[Part, Prepared]]:
    """The one part of a reduction."""
    facts = [(name, str(text)) for name, text in explain.cost(request, ready)[2:]]  # type: ignore[arg-type]
    choice = ready.choice
    part = _part("", ready, facts, list(choice.reasons), list(choice.rejected))
    return [(part, ready)]


def _program(request: AnyRequest, prepared: PreparedProgram) -> list[tuple[Part, Prepared]]:
    """A part for each step of a program."""
    assert isinstance(request, ProgramRequest)
    words = Words(request, prepared)
    cuts = cut_rows(request, prepared, DEFAULT.arch)
    return [(_step(words, number, own, cuts), own.prepared) for number, own in enumerate(prepared.steps)]


def _step(words: Words, number: int, own: PreparedStep, cuts: Any) -> Part:
    choice = own.prepared.choice
    cut = cuts.get((own.step.kept, own.step.reduced)) if own.step.program.reduces else None
    why = [*programs.why_a_step(words, own, cut), *choice.reasons]
    rejected = [*(cut.rejected if cut else ()), *choice.rejected]
    facts = [(name, str(text)) for name, text in programs.step_facts(own)]
    part = _part(words.title(number), own.prepared, facts, why, rejected)
    accesses = Table(("array", "along", "an access", "times"), programs.accesses(words, own), ("times",))
    return replace(part, phases=programs.phases(words, own), accesses=accesses)


def _part(title: str, ready: Prepared, facts: list[Fact], why: list[str], rejected: list[Fact]) -> Part:
    """A part without its code."""
    rows = [tuple(map(str, line)) for line in levels.lines(ready)]
    table = Table(levels.COLUMNS, rows, ("reduced", "kept", "threads"))
    plan = ready.choice.plan
    named = [*facts, ("combining tree", plan.tree)]
    lanes = fragments(plan)
    return Part(title, table, named, (), None, lanes, why, rejected, levels.plan_words(plan), (), ())
