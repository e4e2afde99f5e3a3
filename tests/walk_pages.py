"""The pictures and plans of docs/walks.

``python tests/walk_pages.py`` draws one SVG a case from what the emulator's threads read and write, and writes the
blocks of the pages between ``<!-- plan: NAME -->`` or ``<!-- counted: NAME -->`` and ``<!-- end -->``.
``tests/test_walk_pages.py`` compares both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from access_picture import Line, Panel, Seen, drawn, run_under, watched

import warpfold as wf
from warpfold.commands import levels
from warpfold.compiler.dtypes import dtype as as_dtype
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.task import Choice, Task
from warpfold.compiler.program.library.reductions import FUNCTIONS
from warpfold.compiler.program.tracing import program
from warpfold.compiler.space.geometry import collapse
from warpfold.compiler.target import DEFAULT
from warpfold.runtime import api
from warpfold.runtime.emulator.counters import total
from warpfold.runtime.emulator.profiler import Profiler

FOLDER = Path(__file__).parent.parent / "docs" / "walks"


class Case(NamedTuple):
    """A small reduction under a plan, and what to draw of it.

    Attributes:
        words: the title of the picture.
        run: the call.
        panels: what is drawn.
    """

    words: str
    run: Callable[[], object]
    panels: Sequence[Panel]


def ones(shape: tuple[int, ...], dtype: Any = np.float32, offset: int = 0) -> Any:
    """Ones in memory that begins ``offset`` bytes after a boundary of 256 bytes."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 512, np.uint8)
    start = -memory.ctypes.data % 256 + offset
    found = memory[start : start + size].view(dtype).reshape(shape)
    found[...] = 1
    return found


def rows(count: int, pitch: int, name: str = "row") -> list[Line]:
    """``count`` numbered lines that begin ``pitch`` elements apart."""
    return [Line(i * pitch, pitch, f"{name} {i}") for i in range(count)]


def stretch(count: int, length: int, first: int = 0) -> list[Line]:
    """Consecutive elements in lines of ``length``."""
    found = range(first, first + count, length)
    return [Line(at, min(length, first + count - at), f"{at} to {min(at + length, first + count) - 1}") for at in found]


def nearest(to: Sequence[Line], column: Callable[[Seen], float]) -> Callable[[Seen], int]:
    """The line near whose ``column`` an access to elements of 4 bytes lies."""

    def line(seen: Seen) -> int:
        middle = seen.at / 4 + seen.size / 8
        return min(range(len(to)), key=lambda i: abs(middle - to[i].first - column(seen)))

    return line


def _sum(x: Any, axis: Any, plan: str) -> Callable[[], object]:
    """A sum whose result begins at a boundary, too: where it begins may decide who writes what."""
    out = ones(x.sum(axis=axis).shape, np.int64 if x.dtype == np.int8 else x.dtype)
    return lambda: wf.sum(x, axis=axis, plan=plan, out=out, device="emulator")


def interleaved() -> Case:
    plan = "fast=reduced,walk=interleaved,vector=4,unroll=2,lanes=4,warps=1,warps_kept=1"
    panel = Panel("the array: 8 rows of 32 f32", 4, rows(8, 32))
    return Case(f"sums of rows, --plan {plan}", _sum(ones((8, 32)), 1, plan), [panel])


def shifted() -> Case:
    plan = "fast=reduced,vector=4,unroll=1,lanes=4,warps=1,warps_kept=1"
    panel = Panel("the array: 6 rows of 27 f32", 4, rows(6, 27), line=lambda s: s.thread // 4)
    return Case(f"sums of rows that begin anywhere, --plan {plan}", _sum(ones((6, 27)), 1, plan), [panel])


def blocked() -> Case:
    plan = "walk=blocked,vector=1,unroll=1,lanes=4,warps=1,warps_kept=1"
    panel = Panel("the array: 8 rows of 32 f32", 4, rows(8, 32))
    return Case(f"sums of rows, --plan {plan}", _sum(ones((8, 32)), 1, plan), [panel])


def in_steps() -> Case:
    plan = "walk=blocked,meet=steps,vector=4,unroll=1,lanes=4,warps=1,warps_kept=1"
    panel = Panel("the array: 8 rows of 32 f32", 4, rows(8, 32))
    return Case(f"sums of rows, --plan {plan}", _sum(ones((8, 32)), 1, plan), [panel])


def columns() -> Case:
    plan = "fast=kept,vector=4,unroll=2,lanes=4,warps=1,warps_kept=1"
    panel = Panel("the array: 8 rows of 32 f32", 4, rows(8, 32))
    return Case(f"sums of columns, --plan {plan}", _sum(ones((8, 32)), 0, plan), [panel])


def periods() -> Case:
    plan = "walk=period,warps_kept=1,vector=4,unroll=1,finish=cta"
    panel = Panel(
        "the array: 40 rows of 6 f32; a cell holds the column", 4, stretch(240, 40), text=lambda e: str(e % 6)
    )
    return Case(f"sums of 6 columns, --plan {plan}", _sum(ones((40, 6)), 0, plan), [panel])


def gaps() -> Case:
    plan = "walk=period,warps_kept=1,vector=4,unroll=1,finish=cta"
    panel = Panel("the memory: 32 rows of 6 f32 that begin 8 apart; a cell holds the column", 4, stretch(256, 32),
                  text=lambda e: str(e % 8), gap=lambda e: e % 8 > 5)  # fmt: skip
    return Case(f"sums of 6 columns with gaps, --plan {plan}", _sum(ones((32, 8))[:, :6], 0, plan), [panel])


def blocks() -> Case:
    plan = "walk=whole,vector=4,warps_kept=1"
    array = Panel("the array: 128 rows of 3 f32, the first 32; a cell holds the row", 4, stretch(96, 48),
                  text=lambda e: str(e // 3))  # fmt: skip
    results = Panel("the results", 4, stretch(32, 32), where="result 0", verb="written")
    return Case(f"sums of short rows, --plan {plan}", _sum(ones((128, 3)), 1, plan), [array, results])


def runs() -> Case:
    plan, each = "walk=runs,vector=4,unroll=1,lanes=8,warps=2,warps_kept=1", rows(8, 25, "run")
    array = Panel("the memory: 2 images of 4 rows of 21 f32 that begin 25 apart", 4, each, gap=lambda e: e % 25 > 20,
                  line=nearest(each, lambda s: s.thread % 8 * 4))  # fmt: skip
    return Case(f"sums of images, --plan {plan}", _sum(ones((2, 4, 25))[..., :21], (1, 2), plan), [array])


def padded() -> Case:
    plan, each = "walk=padded,vector=4,unroll=1", rows(6, 13)
    array = Panel("the array: 2 images of 3 rows of 13 f32", 4, each,
                  line=nearest(each, lambda s: (0, 4, 8, 12, -1, 3, 7, 11)[s.thread]))  # fmt: skip
    results = Panel("the results: a row for each image", 4, rows(2, 13), where="result 0", verb="written")
    return Case(f"sums of columns, --plan {plan}", _sum(ones((2, 3, 13)), 1, plan), [array, results])


def staggered() -> Case:
    plan, each = "walk=staggered,vector=4,unroll=1,warps=4", rows(8, 21)
    array = Panel("the array: 8 rows of 21 f32", 4, each, line=nearest(each, lambda s: s.thread % 32 * 4))
    results = Panel("the results", 4, stretch(21, 21), where="result 0", verb="written")
    return Case(f"sums of columns, --plan {plan}", _sum(ones((8, 21)), 0, plan), [array, results])


def tiles() -> Case:
    copy = Panel("the array: 16 rows of 5 f32, and who copies it", 4, stretch(80, 40))
    read = Panel("the copy in shared memory, and who reads it; a cell holds the row", 4, stretch(80, 40),
                 where="shared", text=lambda e: str(e // 5))  # fmt: skip
    plan = "tile_bytes=1024,lanes=1"
    return Case(f"sums of rows, --plan {plan}", _sum(ones((16, 5)), 1, plan), [copy, read])


def funnel() -> Case:
    read = Panel("the copy of 12 rows of 7 bytes, and who reads it; a cell holds the row", 1, stretch(84, 42),
                 where="shared", text=lambda e: str(e // 7))  # fmt: skip
    plan = "tile_bytes=1024,lanes=1,vector=4"
    return Case(f"sums of rows of bytes, --plan {plan}", _sum(ones((12, 7), np.int8), 1, plan), [read])


def by_row() -> Case:
    plan = "fast=kept,vector=4,unroll=1,lanes=1,warps=1,warps_kept=1"
    array = Panel(
        "the memory: 2 images of 3 rows of 29 f32 that begin 32 apart", 4, rows(6, 32), gap=lambda e: e % 32 > 28
    )
    results = Panel("the results: a row for each image", 4, rows(2, 29), where="result 0", verb="written")
    return Case(f"sums of columns, --plan {plan}", _sum(ones((2, 3, 32))[..., :29], 1, plan), [array, results])


def pairs() -> Case:
    plan = "fast=kept,lanes=1,warps=1,finish=cta,vector=4,unroll=1"
    array = Panel(
        "the array: 3 rows of 128 bytes, the first 32 of each", 1, [Line(i * 128, 32, f"row {i}") for i in range(3)]
    )
    stores = [
        Panel(
            f"the results, 8 bytes each: the {word} store",
            8,
            stretch(32, 32),
            where="result 0",
            verb="written",
            chosen=lambda s, i=i: s.at // 32 % 2 == i,
        )
        for i, word in enumerate(("first", "second"))
    ]
    return Case(f"sums of columns of bytes, --plan {plan}", _sum(ones((3, 128), np.int8), 0, plan), [array, *stores])


def factored() -> Case:
    plan = "fast=both,vector=2,unroll=1,warps=1"
    array = Panel("the array: 4 images of 3 channels of 6 pixels, f32; a cell holds the channel", 4,
                  rows(4, 18, "image"), text=lambda e: str(e // 6 % 3))  # fmt: skip
    left = Panel("the states that the first kernel writes", 4, stretch(18, 18), where="partials", verb="written")
    taken = Panel("the states that the second kernel reads", 4, stretch(18, 18), where="partials", kernel=2)
    return Case(f"sums of channels, --plan {plan}", _sum(ones((4, 3, 6)), (0, 2), plan), [array, left, taken])


def clusters() -> Case:
    plan = "cluster=2,vector=1,unroll=1,lanes=32,warps=2,warps_kept=1"
    array = Panel("the array: a row of 128 f32", 4, stretch(128, 32))
    states = Panel("shared memory of the first CTA", 4, stretch(4, 4), where="shared", verb="written")
    return Case(f"a sum, --plan {plan}", _sum(ones((128,)), 0, plan), [array, states])


def ragged() -> Case:
    offsets = np.array([0, 8, 8, 12, 40])
    spans = zip(offsets.tolist(), offsets[1:].tolist(), strict=False)
    segments = Panel("the array: segments of 8, 0, 4 and 28 f32", 4,
                     [Line(a, b - a, f"segment {i}") for i, (a, b) in enumerate(spans)])  # fmt: skip
    return Case(
        "sums of segments", lambda: wf.segment_reduce(ones((40,)), offsets, "sum", device="emulator"), [segments]
    )


CASES: dict[str, Callable[[], Case]] = {
    "interleaved": interleaved, "shifted": shifted, "blocked": blocked, "in-steps": in_steps, "columns": columns,
    "periods": periods,
    "gaps": gaps, "blocks": blocks, "runs": runs, "padded": padded, "staggered": staggered, "tiles": tiles,
    "funnel": funnel, "by-row": by_row, "pairs": pairs, "factored": factored, "clusters": clusters, "ragged": ragged,
}  # fmt: skip


def strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of an array in C order."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


class Large(NamedTuple):
    """A sum of a large array for which the planner chooses what a page is about.

    Attributes:
        shape, axis, dtype: the call.
        pitch: elements from one row to the next, where the array is cut out of one with longer rows.
    """

    shape: tuple[int, ...]
    axis: int | tuple[int, ...]
    dtype: str = "f32"
    pitch: int = 0

    def choice(self) -> Choice:
        """The planner's answer, for arrays that begin at a boundary."""
        if not self.pitch:
            prepared = api.plan_for("sum", self.shape, self.dtype, axis=self.axis)
            return prepared.choice  # type: ignore[no-any-return]
        axes = (self.axis,) if isinstance(self.axis, int) else self.axis
        kept = tuple(n for axis, n in enumerate(self.shape) if axis not in axes)
        found = collapse(self.shape, axes, [strides((*self.shape[:-1], self.pitch))], [strides(kept)])
        summed = program(FUNCTIONS["sum"], (as_dtype(self.dtype),))
        return choose(Task(summed, found, (0, 0), DEFAULT, DEFAULT.sms))

    def block(self) -> str:
        """What a page says of it."""
        choice = self.choice()
        size = "x".join(map(str, self.shape))
        axes = ",".join(map(str, self.axis)) if isinstance(self.axis, tuple) else self.axis
        head = f"$ warpfold explain sum --shape {size} --axis {axes}"
        head += f" --dtype {self.dtype}" * (self.dtype != "f32")
        if self.pitch:
            head = f"sum of {self.dtype} {size} over axis {axes}, rows {self.pitch} elements apart"
        reasons = "".join(f"      - {reason}\n" for reason in choice.reasons)
        return f"    {head}\n    why\n{reasons}    --plan {levels.plan_words(choice.plan)}\n"


LARGE: dict[str, Large] = {
    "rows": Large((4096, 1024), 1),
    "shifted": Large((65536, 1001), 1),
    "columns": Large((8192, 8192), 0),
    "periods": Large((4096000, 6), 0),
    "gaps": Large((4096000, 9), 0, pitch=11),
    "blocks": Large((16777216, 3), 1),
    "runs": Large((1024, 64, 201), (1, 2), "f16", pitch=203),
    "padded": Large((30000, 4, 1001), 1),
    "staggered": Large((8192, 8191), 0),
    "tiles": Large((1048576, 33), 1),
    "funnel": Large((4194304, 21), 1, "u8"),
    "by-row": Large((64, 1000, 1030), 1),
    "pairs": Large((8, 4194304), 0, "u8"),
    "factored": Large((256, 256, 9, 9), (0, 2, 3)),
    "clusters": Large((16, 16384), 1),
}


class Counted(NamedTuple):
    """A reduction of middle size under two plans, and what the profiler counts of each.

    Attributes:
        words: the array.
        array, axis: the call.
        plans: this page's plan, and another one to compare with.
    """

    words: str
    array: Any
    axis: int | tuple[int, ...]
    plans: tuple[str, str]

    def block(self) -> str:
        """A table of the requests to global memory, and of the sectors that loads ask for."""
        rows = ["| plan | loads of a warp | sectors loaded | stores of a warp |", "|---|---|---|---|"]
        for plan in self.plans:
            tool = Profiler()
            run_under(tool, _sum(self.array, self.axis, plan))
            loads, stores = (total(tool.profiles).traffic(f"global {verb}") for verb in ("load", "store"))
            rows.append(f"| `{plan}` | {loads.requests:,} | {loads.sectors:,} | {stores.requests:,} |")
        return f"Counted on the emulator, for {self.words}:\n\n" + "\n".join(rows) + "\n"


COUNTED: dict[str, Counted] = {
    "rows": Counted("64 rows of 1024 f32, 8,192 sectors", ones((64, 1024)), 1,
                    ("vector=4,lanes=32,warps=1", "vector=1,lanes=32,warps=1")),
    "shifted": Counted("64 rows of 1001 f32, 8,008 sectors", ones((64, 1001)), 1,
                       ("vector=4,lanes=32,warps=1", "vector=1,lanes=32,warps=1")),
    "blocked": Counted("64 rows of 1024 f32, 8,192 sectors", ones((64, 1024)), 1,
                       ("walk=blocked,meet=steps,vector=4,lanes=32,warps=1", "walk=blocked,vector=1,lanes=32,warps=1")),
    "columns": Counted("256 rows of 256 f32, 8,192 sectors", ones((256, 256)), 0,
                       ("fast=kept,vector=4,lanes=4,warps=8", "fast=reduced,lanes=32,warps=1")),
    "periods": Counted("4096 rows of 6 f32, 3,072 sectors", ones((4096, 6)), 0,
                       ("walk=period,vector=4,warps_kept=8", "walk=interleaved,fast=kept")),
    "blocks": Counted("8192 rows of 3 f32, 3,072 sectors", ones((8192, 3)), 1,
                      ("walk=whole,vector=4", "walk=interleaved,fast=reduced,lanes=1,warps=1")),
    "runs": Counted("16 images of 16 rows of 201 f16, 203 apart, 3,216 sectors",
                    ones((16, 16, 203), np.float16)[..., :201], (1, 2),
                    ("walk=runs,vector=8,lanes=4,warps=8", "walk=interleaved,fast=reduced")),
    "padded": Counted("16 images of 4 rows of 301 f32, 2,408 sectors", ones((16, 4, 301)), 1,
                      ("walk=padded,vector=4", "walk=interleaved,fast=kept,lanes=1,warps=1")),
    "staggered": Counted("64 rows of 1021 f32, 8,168 sectors", ones((64, 1021)), 0,
                         ("walk=staggered,vector=4,warps=8", "walk=interleaved,fast=kept,vector=4,lanes=1,warps=8")),
    "tiles": Counted("1024 rows of 33 f32, 4,224 sectors", ones((1024, 33)), 1,
                     ("tile_bytes=16384,lanes=1", "tile_bytes=0,fast=reduced,lanes=1,warps=1")),
}  # fmt: skip
BLOCK = re.compile(r"(<!-- (plan|counted): ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def page(text: str) -> str:
    """A page with its plans and counts written anew."""
    blocks: dict[str, dict[str, Any]] = {"plan": LARGE, "counted": COUNTED}
    return BLOCK.sub(lambda m: m[1] + blocks[m[2]][m[3]].block() + m[4], text)


def picture(name: str) -> str:
    """The picture of a case."""
    case = CASES[name]()
    return drawn(case.words, watched(case.run), case.panels)


def main() -> None:
    """Writes the pictures, and the plans and counts of the pages."""
    for name in CASES:
        (FOLDER / f"{name}.svg").write_text(picture(name), encoding="utf-8")
    for path in FOLDER.glob("*.md"):
        path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
