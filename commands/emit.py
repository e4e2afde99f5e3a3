"""``warpfold compile``: one form of a compiled reduction, from the tensor program to machine code."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..compiler.errors import error
from ..runtime import api
from ..runtime.prepare import Prepared, artifact
from ..runtime.programs.compiled import compiled, for_any_size
from . import levels, terminal
from .output_file import Output
from .programs.words import Words
from .requests.count_request import CountRequest
from .requests.program_request import ProgramRequest
from .requests.request import Request

if TYPE_CHECKING:
    from ..compiler.driver.pipeline import Stage

FORMS = ("program", "plan", "stages", "llvm", "ptx", "sass", "artifact")
IR = ("program", "stages", "llvm")
"""The forms that are MLIR."""
_OPTIONS: dict[str, tuple[str, Sequence[str]]] = {
    "--json": ("JSON form", ("plan",)),
    "--changes": ("changes", ("stages",)),
    "--names": ("named values", IR),
    "--locations": ("locations", IR),
}
"""For each option: what it asks for, and the forms that offer it."""


@dataclass(frozen=True)
class View:
    """The options on how a form is shown; see ``warpfold compile --help``."""

    json: bool = False
    changes: bool = False
    names: bool = False
    locations: bool = False

    def check(self, form: str) -> None:
        """Raises ArgumentError WF813 for an option that ``form`` does not offer."""
        for option, (part, forms) in _OPTIONS.items():
            if getattr(self, option.removeprefix("--")) and form not in forms:
                raise error(
                    "WF813", form=form, part=part, option=option, forms=" or ".join(f"--emit {f}" for f in forms)
                )


def emit(request: Request | ProgramRequest, form: str, arch: str, path: str | None, view: View) -> None:
    """Compiles, and writes ``form`` to ``path`` or standard output.

    Raises:
        ArgumentError: WF812 for an artifact without a path, WF813 for an option that the form does not offer.
    """
    if form == "artifact" and path is None:
        raise error("WF812")
    view.check(form)
    output = Output(path) if path is not None else None
    if form == "plan" and output is None and not view.json:
        return table(request, arch)
    with terminal.progress("compiling"):
        text = _text(request, form, arch, output, view)
    if output is None:
        terminal.show(text.rstrip("\n"))
    elif form != "artifact":
        output.write(lambda f: f.write(text.rstrip("\n").encode() + b"\n"))
    return None


def _text(request: Request | ProgramRequest, form: str, arch: str, output: Output | None, view: View) -> str:
    """The text of a form; an artifact is saved as a file and has none."""
    if form == "plan":
        return terminal.as_json(_plan_facts(request, arch))
    if form == "artifact":
        assert output is not None
        _save(request, arch, output.path)
        return ""
    texts = [_with_title(title, _form(ready, form, view)) for title, ready in _kernels(request, arch)]
    return _SEPARATOR.join(texts)


def _kernels(request: Request | ProgramRequest, arch: str) -> list[tuple[str, Prepared]]:
    """What is compiled: a reduction, or each step of a program with its title."""
    if isinstance(request, Request):
        return [("", for_any_size(request.planned(arch), request.plan))]
    prepared = request.planned(arch).prepared
    words = Words(request, prepared)
    return [(words.title(i), own.prepared) for i, own in enumerate(prepared.steps)]


def _with_title(title: str, text: str) -> str:
    """A text below a comment that names its step."""
    return f"// ===== {title} =====\n{text}" if title else text


def _save(request: Request | ProgramRequest, arch: str, path: Path) -> None:
    """Saves an artifact."""
    if not isinstance(request, Request):
        compiled(request.planned(arch)).save(path)
        return
    if isinstance(request, CountRequest):
        raise request.without("--emit artifact")
    shape, types, _ = request.kind()
    how: dict[str, Any] = {
        "axis": request.axis, "arch": arch, "plan": request.plan, "determinism": request.determinism,
    }  # fmt: skip
    with request.users_code():
        api.compile(request.what, shape, types, **how, **request.params).save(path)


def _form(ready: Prepared, form: str, view: View) -> str:
    """The text of the kernels of a reduction or of a step."""
    if form in IR:
        return _ir(ready, form, view)
    ptx = artifact(ready).ptx
    if form == "ptx":
        return ptx
    from ..runtime.ptxas import assemble, disassemble

    return disassemble(assemble(ptx, ready.target.arch).cubin)


def _ir(ready: Prepared, form: str, view: View) -> str:
    """A form that is MLIR: the program, or the IR after one or every pass."""
    asked = view.names or view.locations
    if form == "program" and not asked:
        return artifact(ready).source
    found = _listed(ready, view) if asked else _stages(ready)
    if form != "stages":
        name = "to-nvvm" if form == "llvm" else form
        return str(next(s.ir for s in found if s.name == name))
    return _SEPARATOR.join(f"// ===== after {s.name} =====\n{text}" for s, text in _shown(found, changes=view.changes))


def _stages(ready: Prepared) -> Sequence[Stage]:
    """The IR after every pass."""
    from ..compiler.driver.compile import stages
    from ..passes import steps

    return stages(artifact(ready).source, steps(ready.target, ready.choice.plan))


def _listed(ready: Prepared, view: View) -> Sequence[Stage]:
    """The stages with names or lines, for which the program is lowered again: an artifact keeps neither."""
    from ..compiler.driver.compile import listed
    from ..compiler.driver.listing import comments
    from ..passes import steps

    choice, target = ready.choice, ready.target
    return listed(
        ready.program,
        choice.facts,
        choice.plan,
        target,
        steps(target, choice.plan),
        names=view.names,
        beside=comments if view.locations else None,
    )


_SEPARATOR = "\n// -----\n"
"""Separator of modules in a file of MLIR, at which ``warpfold-opt --split-input-file`` splits."""


def _shown(stages: Sequence[Stage], *, changes: bool) -> Iterator[tuple[Stage, str]]:
    """Each stage with its IR, or with its ``changes`` only."""
    before = ""
    for stage in stages:
        if stage.ir == before:
            yield stage, "// (unchanged)"
        elif stage.name == "ptx":
            yield stage, _in_lines(stage.ir)
        elif changes and before:
            yield stage, "\n".join(_changes(before.splitlines(), stage.ir.splitlines()))
        else:
            yield stage, stage.ir.rstrip("\n")
        before = stage.ir


def _changes(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """The removed and added lines, with dots for all others; renumbered values count as unchanged."""
    for kind, i, j, k, n in compared(before, after):
        if kind == "equal":
            yield "  ..."
        else:
            yield from (f"- {line}" for line in before[i:j])
            yield from (f"+ {line}" for line in after[k:n])


def compared(before: Sequence[str], after: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """How one IR becomes the other, as difflib's opcodes; renumbered values count as unchanged."""
    old, new = ([re.sub(r"%[\w#]+", "%", line) for line in lines] for lines in (before, after))
    return difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()


def _in_lines(module: str) -> str:
    """The PTX string of the last module as comment lines, since it is no IR."""
    return "\n".join(f"// {line}".rstrip() for line in ptx_in(module).splitlines())


def ptx_in(module: str) -> str:
    """The PTX string of the last module."""
    (text,) = re.findall(r'assembly = "(.*?)(?:\\00)?">', module)[:1] or [""]
    return str(text).replace("\\0A", "\n").replace("\\09", "\t").replace("\\22", '"')


def table(request: Request | ProgramRequest, arch: str) -> None:
    """The plan as a table of levels, and in the form that ``--plan`` takes; of a program that of each step."""
    for i, (title, ready) in enumerate(_planned(request, arch)):
        if title:
            terminal.show("\n" * (i > 0) + title)
        terminal.table(levels.COLUMNS, levels.lines(ready), levels.SPARE)
        terminal.show()
        terminal.show("--plan " + levels.plan_words(ready.choice.plan))


def _planned(request: Request | ProgramRequest, arch: str) -> list[tuple[str, Prepared]]:
    """The plan of a reduction, or of each step of a program with its title."""
    return [("", request.planned(arch))] if isinstance(request, Request) else _kernels(request, arch)


def _plan_facts(request: Request | ProgramRequest, arch: str) -> dict[str, object]:
    if isinstance(request, Request):
        return plan_facts(request.planned(arch))
    return program_facts(Words(request, request.planned(arch).prepared))


def program_facts(words: Words) -> dict[str, object]:
    """A program and the plan of each of its steps as plain values."""
    steps = [words.step_facts(i) | plan_facts(own.prepared) for i, own in enumerate(words.prepared.steps)]
    return {**words.facts(), "steps": steps}


def plan_facts(ready: Prepared) -> dict[str, object]:
    """The plan, the launch and the levels as plain values."""
    plan, run = ready.choice.plan, ready.choice.run
    stages = [
        {
            "level": v.name,
            "reduced": v.reduced,
            "kept": v.kept,
            "threads": v.threads,
            "stages": [s for s, _ in v.stages],
        }
        for v in levels.of(ready)
    ]
    launch = {"tiles": run.tiles, "split": run.split, "chunk": run.chunk, "threads": plan.threads}
    return {"arch": ready.target.arch, "plan": plan.to_dict(), "launch": launch, "levels": stages}
