"""The columns of a page: Python, the tensor program, the IR after each pass that changes it, PTX; lines with places."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...compiler.driver.pipeline import Stage
from ...compiler.errors import Location
from ...compiler.ir.source_lines import places, with_numbers
from ...compiler.plan.kernels import kernels
from ...runtime.emulator.counters import Line as Counted
from ...runtime.prepare import Prepared, artifact
from .. import levels
from ..emit import compared, ptx_in
from .model import Column, Line

MARKS = {"divergent": "diverges", "conflict": "bank conflict", "sectors": "excess sectors"}
"""What a line of PTX costs more than it need, in words."""
_BESIDE = re.compile(r"  // (\d+)$")
_LOC = re.compile(r"\t\.loc\t1 (\d+) 0$")
_SASS_LINE = re.compile(r'\s*//## File ".*", line (\d+)')
_SASS_CODE = re.compile(r"\s*/\*[0-9a-f]{4,}\*/")
_NO_CODE = re.compile(r"\s*\.(?:loc|file)\s")


@dataclass
class Places:
    """The Python lines of a page, by file and line, and how many nodes it has numbered."""

    known: dict[tuple[str, int], int] = field(default_factory=dict)
    nodes: int = 0

    def number(self, place: Location | None) -> int:
        """The number of a place; -1 without one."""
        return -1 if place is None else self.known.setdefault((place.file, place.line), len(self.known))


@dataclass(frozen=True)
class _Nodes:
    """The places of one part: for each of its nodes the Python line, all as numbers within the page."""

    first: int
    lines: Sequence[int]

    def line(self, text: str, node: int | None, **more: object) -> Line:
        """A line of a column that comes from a node."""
        if node is None or node >= len(self.lines):
            return Line(text, **more)  # type: ignore[arg-type]
        return Line(text, place=self.lines[node], node=self.first + node, **more)  # type: ignore[arg-type]


def columns(
    ready: Prepared, known: Places, counted: Mapping[int, Counted], *, sass: bool = False
) -> tuple[list[Column], list[str]]:
    """The columns of one program, and the passes that change nothing.

    ``counted`` has what is counted at the lines of its PTX.

    Raises:
        WarpfoldError: with ``sass``, where no assembler or disassembler is found.
    """
    found = [k for _, k in kernels(ready.program, ready.choice.facts, ready.choice.plan)]
    own = places(found)
    nodes = _Nodes(known.nodes, [known.number(place) for place in own])
    known.nodes += len(own)
    stages = _listed(ready)
    made, unchanged = _ir(stages[:-1], nodes)
    python = Column("Python", "python", list(_python(own, known)), about="what was traced")
    ptx = artifact(ready).ptx
    numbered = with_numbers(ptx_in(stages[-1].ir))
    about = "what the driver gets, and how often warps run a line"
    kept = Column("PTX", "ptx", list(_ptx(ptx, list(_nodes_of(numbered)), nodes, counted)), about=about)
    machine = [_machine_code(numbered, ready.target.arch, nodes)] if sass else []
    return [python, *made, kept, *machine], unchanged


def _machine_code(numbered: str, arch: str, nodes: _Nodes) -> Column:
    """The column of SASS, assembled from PTX whose lines are the numbers of nodes."""
    from ...runtime.ptxas import assemble, disassemble

    lines, node = [], None
    for text in disassemble(assemble(numbered, arch).cubin, lines=True).splitlines():
        if match := _SASS_LINE.match(text):
            node = int(match[1])
        elif text.strip():
            lines.append(nodes.line(text.expandtabs(4), node if _SASS_CODE.match(text) else None))
    return Column("SASS", "sass", lines, about="what runs on a GPU")


def _listed(ready: Prepared) -> Sequence[Stage]:
    """The IR after every pass, with the numbers of nodes beside operations."""
    from ...compiler.driver.compile import listed
    from ...compiler.driver.listing import numbers
    from ...passes import steps

    choice, target = ready.choice, ready.target
    lowering = steps(target, choice.plan)
    return listed(ready.program, choice.facts, choice.plan, target, lowering, names=True, beside=numbers)


def _ir(stages: Sequence[Stage], nodes: _Nodes) -> tuple[list[Column], list[str]]:
    """A column for each stage that differs from the one before."""
    found: list[Column] = []
    unchanged: list[str] = []
    before: list[str] = []
    for stage in stages:
        pairs = [_split(line) for line in stage.ir.rstrip("\n").splitlines()]
        texts = [text for text, _ in pairs]
        if texts == before:
            unchanged.append(stage.name)
            continue
        new, removed = _changes(before, texts)
        lines = [nodes.line(text, n, changed=i in new) for i, (text, n) in enumerate(pairs)]
        about = _summary(stage.name) if before else "before any pass"
        found.append(Column(stage.name if before else "tensor program", "ir", lines, removed, about))
        before = texts
    return found, unchanged


def _summary(name: str) -> str:
    """What a pass does, in a line."""
    from ...passes import PASSES

    upstream = {
        "canonicalize": "simplifies, and moves what is invariant out of loops",
        "to-nvvm": "leaves the llvm and nvvm dialects",
    }
    return next((p.summary for p in PASSES if p.name == name), upstream.get(name, ""))


def _split(line: str) -> tuple[str, int | None]:
    """A line of IR without the number beside it, and that number."""
    beside = _BESIDE.search(line)
    return (line[: beside.start()], int(beside[1])) if beside else (line, None)


def _changes(before: Sequence[str], after: Sequence[str]) -> tuple[set[int], int]:
    """The lines of ``after`` that are new, and how many of ``before`` are gone; nothing for the first column."""
    if not before:
        return set(), 0
    new: set[int] = set()
    removed = 0
    for kind, i, j, k, n in compared(before, after):
        if kind != "equal":
            new.update(range(k, n))
            removed += j - i
    return new, removed


def _nodes_of(ptx: str) -> Iterator[int | None]:
    """For each line of numbered PTX that is no directive about lines, the node that it comes from."""
    node = None
    for line in ptx.splitlines():
        if match := _LOC.match(line):
            node = int(match[1])
        elif not _NO_CODE.match(line):
            yield node


def _ptx(ptx: str, numbers: Sequence[int | None], nodes: _Nodes, counted: Mapping[int, Counted]) -> Iterator[Line]:
    """The lines of PTX, without directives about lines; each has its number in the whole text, and its cost."""
    code = [(number, line) for number, line in enumerate(ptx.splitlines(), 1) if not _NO_CODE.match(line)]
    for k, (number, line) in enumerate(code):
        is_code = line.startswith("\t") and not line.lstrip().startswith(".")
        node = numbers[k] if is_code and k < len(numbers) else None
        own = counted.get(number)
        marks = _marks(own) if own else []
        cost = ", ".join([f"{own.warp_instructions:,}", *(MARKS[mark] for mark in marks)]) if own else ""
        yield nodes.line(line.expandtabs(4), node, number=number, cost=cost, marks=marks)


def _marks(own: Counted) -> list[str]:
    """Of what a line of PTX costs more than it need."""
    found = {"divergent": own.divergent, "conflict": own.conflicts, "sectors": own.sectors - own.ideal_sectors}
    return [name for name, excess in found.items() if excess > 0]


def _python(own: Iterable[Location | None], known: Places) -> Iterator[Line]:
    """The functions in which the places stand, file by file."""
    lines: dict[str, set[int]] = {}
    for place in own:
        if place is not None:
            lines.setdefault(place.file, set()).add(place.line)
    for file, found in lines.items():
        yield Line(str(levels.shown(file)), changed=True)
        try:
            text = Path(file).read_text(encoding="utf-8")
            shown = _around(text, found)
        except (OSError, SyntaxError, UnicodeDecodeError):
            continue
        source = text.splitlines()
        last = 0
        for n in sorted(n for n in shown if n <= len(source)):
            if last and n > last + 1:
                yield Line("")
            yield Line(source[n - 1], number=n, place=known.known.get((file, n), -1))
            last = n


def _around(text: str, lines: set[int]) -> set[int]:
    """The numbers of the lines to show: the functions or statements around ``lines``, without their docstrings."""
    tree = ast.parse(text)
    shown: set[int] = set()
    for line in lines:
        around = [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and _first(n) <= line <= (n.end_lineno or 0)]
        functions = [n for n in around if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        best = min(functions or around, key=lambda n: (n.end_lineno or 0) - n.lineno, default=None)
        shown |= {line} if best is None else set(range(_first(best), (best.end_lineno or 0) + 1)) - _docstring(best)
    return shown


def _first(node: ast.stmt) -> int:
    """The first line of a statement, that of its first decorator where it has one."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])


def _docstring(node: ast.stmt) -> set[int]:
    """The lines of a function's docstring."""
    body = getattr(node, "body", [])
    has = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node) is not None
    return set(range(body[0].lineno, body[0].end_lineno + 1)) if has else set()
