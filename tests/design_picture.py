"""The picture of docs/design.md: what a reduction becomes on its way, and which folder makes it.

``python tests/design_picture.py`` writes docs/design.svg. The passes, their ops and what they do come from ``PASSES``,
the levels from ``commands/levels.py``, and what a folder is for from its docstring; ``tests/test_design.py`` compares.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

from warpfold.commands.levels import levels
from warpfold.compiler.plan.launch import Launch
from warpfold.compiler.plan.plan import Plan
from warpfold.passes import PASSES

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "design.svg"
WIDTH, LEFT, BOX, TEXT, LINE, PASS = 880, 18, 150, 184, 16, 22
INK, PALE, LINK = "#212529", "#495057", "#868e96"
BANDS = {"plain": "#f1f3f5", "mlir": "#e7f5ff", "machine": "#ebfbee"}
LEVELS = {"register": "#ffd8a8", "lane": "#ffec99", "warp": "#c0eb75", "cta": "#96f2d7", "cluster": "#99e9f2",
          "grid": "#bac8ff"}  # fmt: skip


class Step(NamedTuple):
    """A step of the way.

    Attributes:
        folder: what makes it.
        value: what comes out; empty for a folder that is asked on the way.
    """

    folder: str
    value: str = ""


WAY: dict[str, tuple[str, tuple[Step, ...]]] = {
    "plain": (
        "plain Python: no MLIR, no CUDA, no array is touched",
        (
            Step("compiler.program", "graph"),
            Step("compiler.laws"),
            Step("compiler.space", "geometry"),
            Step("compiler.plan"),
            Step("compiler.planner", "plan"),
        ),
    ),
    "mlir": (
        "MLIR: only where the cache has no kernel for this program, plan and target",
        (Step("compiler.ir", "tensor program"), Step("passes", "PTX"), Step("compiler.driver", "artifact")),
    ),
    "machine": (
        "arrays and machines",
        (
            Step("runtime", "launches"),
            Step("runtime.backends", "results"),
            Step("runtime.emulator"),
            Step("commands"),
            Step("cli"),
        ),
    ),
}


def purpose(folder: str) -> str:
    """The first sentence of a folder's docstring."""
    text = importlib.import_module(f"warpfold.{folder}").__doc__ or ""
    return " ".join(text.split("\n\n")[0].replace("``", "").split())


def level_of_passes() -> dict[str, str]:
    """The level of the machine that each stage's pass serves."""
    run = Launch(1, 2, 1)
    plans = (
        Plan(warps=2, finish="last_block"),
        Plan(walk="period"),
        Plan(cta="serial"),
        Plan(cluster=2, finish="last_block"),
        Plan(resident="chain", vector=2, warps=2, held=1),
    )
    return {step: level.name for plan in plans for level in levels(plan, run) for _, step in level.stages}


def _text(x: float, y: float, text: str, size: int = 12, style: str = "") -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" {style}>{escape(text)}</text>'


def _value(y: float, text: str) -> str:
    box = f'<rect x="{LEFT}" y="{y}" width="{BOX}" height="26" rx="6" fill="#ffffff" stroke="{INK}"/>'
    return box + _text(LEFT + BOX / 2, y + 17, text, 12, 'text-anchor="middle" font-weight="bold"')


def _arrow(y: float, end: float) -> str:
    x = LEFT + BOX / 2
    head = f"M{x - 4} {end - 6}L{x} {end}L{x + 4} {end - 6}"
    return f'<path d="M{x} {y}V{end}{head}" fill="none" stroke="{LINK}" stroke-width="1.5"/>'


def _passes(y: float) -> Iterator[str]:
    """A row for each pass: the level that it serves, its name, what it does."""
    level = level_of_passes()
    for i, one in enumerate(PASSES):
        top, name = y + i * PASS, level.get(one.name, "")
        if name:
            yield f'<rect x="{TEXT}" y="{top}" width="58" height="17" rx="4" fill="{LEVELS[name]}"/>'
            yield _text(TEXT + 29, top + 12, name, 11, 'text-anchor="middle"')
        yield _text(TEXT + 66, top + 13, one.name, 12, 'font-family="monospace"')
        yield _text(TEXT + 258, top + 13, one.summary, 11)


def _step(step: Step, y: float) -> tuple[str, float]:
    """A step, and the height that it takes."""
    lines = wrap(purpose(step.folder), 106)
    parts = [_text(TEXT, y + 12, step.folder.replace(".", "/") + "/", 13, 'font-family="monospace"')]
    parts += [_text(TEXT, y + 12 + LINE * n, line, 12, f'fill="{PALE}"') for n, line in enumerate(lines, start=1)]
    height = LINE * (1 + len(lines)) + 8.0
    if step.folder == "passes":
        parts += _passes(y + height)
        height += len(PASSES) * PASS + 6
    if not step.value:
        return "".join(parts), height
    end = y + max(height, 28.0)
    return "".join([*parts, _value(end, step.value)]), end + 26 - y


def picture() -> str:
    """The whole picture."""
    body: list[str] = []
    y, before = 8.0, 34.0
    body.append(_value(y, "function and arrays"))
    y += 36
    for kind, (title, steps) in WAY.items():
        begin, inside = y, []
        inside.append(_text(WIDTH - 16, y + 16, title, 12, f'text-anchor="end" fill="{INK}" font-style="italic"'))
        y += 22
        for step in steps:
            part, height = _step(step, y)
            inside.append(part)
            y += height
            if step.value:
                inside.append(_arrow(before, y - 26))
                before = y
            y += 4
        size = f'width="{WIDTH - 12}" height="{y + 6 - begin}"'
        body.append(f'<rect x="6" y="{begin}" {size} rx="8" fill="{BANDS[kind]}"/>')
        body += inside
        y += 14
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y:.0f}"'
    style = f'font-family="Helvetica, Arial, sans-serif" fill="{INK}"'
    paper = '<rect width="100%" height="100%" fill="#ffffff"/>'
    title = "<title>the way of a reduction through warpfold</title>"
    return "\n".join([f"{head} {style}>", title, paper, *body, "</svg>\n"])


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
