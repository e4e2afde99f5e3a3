"""docs/planner.md: every threshold and table of the planner, read where it is written.

``python tests/planner_page.py`` writes the page; ``tests/test_planner_page.py`` compares it, and looks for numbers that
are no thresholds.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from warpfold.compiler.planner.table import Sitting, Table

ROOT = Path(__file__).parent.parent
PLANNER = ROOT / "compiler" / "planner"
PAGE = ROOT / "docs" / "planner.md"
HEAD = """\
# The planner's thresholds

Written by `python tests/planner_page.py`; a test compares this page with the planner. [design.md](design.md) says how a
plan is chosen; here are the numbers by which it is.

A *threshold* is one number; of a list by bytes of an element, `4: 12` is the number for elements of 4 bytes. Of a
*table*, the first row that the size does not exceed decides. *Set* names the day and the commit that set the number,
and the entry of [the log](log/README.md) that reports the measurement, on NVIDIA H200s or on the GPU that the entry
names; where none is named, no measurement is recorded. `python benchmarks/measure_table.py TABLE` measures a table
anew.

A *wide* or 16-byte access is the widest there is, and rows count those even where they are read by narrower ones.
*Long* combines take 16 instructions or more, *very long* ones 20. *Numbered* elements are those of argmin and argmax.
Elements are combined *by the word* where they are bytes that are added, joined (`any`, `all`) or compared (`min`,
`max`).
"""


def log_pages() -> dict[str, str]:
    """The file of docs/log that has each section."""
    pages = sorted((ROOT / "docs" / "log").glob("*.md"))
    return {title: p.name for p in pages for title in re.findall(r"^## (.*)$", p.read_text("utf-8"), re.MULTILINE)}


LOG = log_pages()


class Entry(NamedTuple):
    """A threshold or a table.

    Attributes:
        name: of the constant.
        value: the number, or the ``Table``.
        unit: what a threshold counts; nothing for a table.
        measured: when it was set.
        means: the docstring.
    """

    name: str
    value: Any
    unit: str
    measured: Sitting
    means: str


def modules() -> list[tuple[str, str]]:
    """(path below the planner, name of the module), in the order of the page: what all share first."""
    found = sorted(p.relative_to(PLANNER) for p in PLANNER.rglob("*.py") if p.name not in ("__init__.py", "table.py"))
    found.sort(key=lambda p: (p.name not in ("task.py", "limits.py", "alignment.py"), len(p.parts), p))
    return [(str(p), ".".join(("warpfold.compiler.planner", *p.with_suffix("").parts))) for p in found]


def entries(path: str, module: str) -> Iterator[Entry]:
    """The thresholds and tables of a module, in order."""
    names = vars(import_module(module))
    body = ast.parse((PLANNER / path).read_text(encoding="utf-8")).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(node.value, ast.Call):
            continue
        kind = ast.unparse(node.value.func)
        if kind not in ("threshold", "Table"):
            continue
        name = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
        value = names[name]
        unit, measured = ("", value.measured) if kind == "Table" else (
            eval(ast.unparse(argument), names) for argument in node.value.args[1:]
        )  # fmt: skip
        yield Entry(name, value, unit, measured, _docstring(after))


def _docstring(node: ast.stmt | None) -> str:
    """The text of a string that stands alone."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return " ".join(node.value.value.split()) if is_text else ""  # type: ignore[union-attr]


def tables() -> dict[str, Table[Any]]:
    """All tables, as ``module.NAME``; the module without the folders."""
    found = ((m.rpartition(".")[2], e) for path, m in modules() for e in entries(path, m))
    return {f"{module}.{e.name}": e.value for module, e in found if isinstance(e.value, Table)}


def shown(value: Any) -> str:
    """A number, or several, in words."""
    if isinstance(value, dict):
        return "; ".join(f"{key}: {shown(each)}" for key, each in value.items())
    if isinstance(value, range):
        return f"{value.start} to {value.stop - 1}"
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return "; ".join(map(shown, value))
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))})"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)


def _set(measured: Sitting) -> str:
    """The day, the commit and a link."""
    anchor = "".join(c for c in measured.section.lower().replace(" ", "-") if c.isalnum() or c == "-")
    where = f", [{measured.section}](log/{LOG[measured.section]}#{anchor})" if measured.section else ""
    return f"{measured.day}, {measured.commit}{where}"


def section(path: str, module: str) -> list[str]:
    """What a module has."""
    found = list(entries(path, module))
    title = (import_module(module).__doc__ or "").partition("\n")[0]
    lines = ["", f"## `{path}`", "", title] if found else []
    numbers = [e for e in found if not isinstance(e.value, Table)]
    if numbers:
        lines += ["", "| threshold | value | of | meaning | set |", "|---|---|---|---|---|"]
        lines += [f"| `{e.name}` | {shown(e.value)} | {e.unit} | {e.means} | {_set(e.measured)} |" for e in numbers]
    for e in found:
        if isinstance(e.value, Table):
            bounds, choices = zip(*e.value.rows, strict=True)
            lines += ["", f"`{e.name}`: {e.means} Set {_set(e.measured)}.", ""]
            lines += [
                f"| {e.value.bound}, up to | {' | '.join(map(shown, bounds))} |",
                "|---" * (len(bounds) + 1) + "|",
            ]
            lines += [f"| {e.value.choice} | {' | '.join(map(shown, choices))} |"]
    return lines


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD.rstrip(), *(line for path, m in modules() for line in section(path, m)), ""])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
