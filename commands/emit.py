"""``warpfold compile``: one form of a compiled reduction, from the tensor program to machine code."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..compiler.errors import error
from ..runtime import api
from ..runtime.prepare import Prepared
from . import levels, screen
from .files import Output
from .request import Request

if TYPE_CHECKING:
    from ..compiler.pipeline import Stage

FORMS = ("program", "plan", "stages", "llvm", "ptx", "sass", "artifact")


def emit(request: Request, form: str, arch: str, path: str | None, *, json: bool, changes: bool = False) -> None:
    """Compiles, and writes ``form`` to ``path`` or standard output; of stages, if asked for, the ``changes`` alone.

    Raises:
        ArgumentError: WF812 for an artifact without a path, WF813 for JSON of another form than the plan.
    """
    if form == "artifact" and path is None:
        raise error("WF812")
    if json and form != "plan":
        raise error("WF813", form=form)
    output = Output(path) if path is not None else None
    if form == "plan" and output is None and not json:
        return table(request.planned(arch))
    with screen.progress("compiling"):
        if form == "plan":
            text = screen.as_json(plan_facts(request.planned(arch)))
        else:
            text = _text(_compiled(request, arch), form, arch, output, changes=changes)
    if output is None:
        screen.show(text.rstrip("\n"))
    elif form != "artifact":
        output.write(lambda f: f.write(text.rstrip("\n").encode() + b"\n"))
    return None


def _compiled(request: Request, arch: str) -> Any:
    shape, types, _ = request.kind()
    with request.users_code():
        how = {"axis": request.axis, "arch": arch, "plan": request.plan, **request.params}
        return api.compile(request.what, shape, types, **how)


def _text(compiled: Any, form: str, arch: str, output: Output | None, *, changes: bool) -> str:
    """The text of a form; an artifact is saved as it is, and has none."""
    if form == "program":
        return str(compiled.artifact.source)
    if form == "ptx":
        return str(compiled.ptx)
    if form == "sass":
        from ..runtime.ptxas import assemble, disassemble

        return disassemble(assemble(compiled.ptx, arch).cubin)
    if form == "artifact":
        assert output is not None
        compiled.save(Path(output.path))
        return ""
    found = compiled.stages
    if form == "llvm":
        return str(next(s.ir for s in found if s.name == "to-nvvm"))
    return _SEPARATOR.join(f"// ===== after {s.name} =====\n{text}" for s, text in _shown(found, changes=changes))


_SEPARATOR = "\n// -----\n"
"""What stands between modules in a file of MLIR: ``warpfold-opt --split-input-file`` takes the stages apart."""


def _shown(stages: Sequence[Stage], *, changes: bool) -> Iterator[tuple[Stage, str]]:
    """Each stage with what is shown of it: its IR, or what ``changes`` in it, and a word where nothing does."""
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
    """The lines that went and came, with dots for the others; values that only have new numbers are the same."""
    old, new = ([re.sub(r"%[\w#]+", "%", line) for line in lines] for lines in (before, after))
    for kind, i, j, k, n in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            yield "  ..."
        else:
            yield from (f"- {line}" for line in before[i:j])
            yield from (f"+ {line}" for line in after[k:n])


def _in_lines(module: str) -> str:
    """The PTX that the last module holds as a string, to be read: as comments, since its lines are no IR."""
    (text,) = re.findall(r'assembly = "(.*?)(?:\\00)?">', module)[:1] or [""]
    ptx = text.replace("\\0A", "\n").replace("\\09", "\t").replace("\\22", '"')
    return "\n".join(f"// {line}".rstrip() for line in ptx.splitlines())


def table(ready: Prepared) -> None:
    """The plan as the table of levels, and as ``--plan`` takes it."""
    screen.table(levels.COLUMNS, levels.lines(ready), levels.SPARE)
    screen.show()
    screen.show("--plan " + levels.plan_words(ready.choice.plan))


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
