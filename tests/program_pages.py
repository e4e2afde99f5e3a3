"""The pictures of docs/programs.md, the table of what its programs read, and the plans that it shows.

``python tests/program_pages.py`` draws one SVG a case from what the emulator's threads read and write, and writes the
blocks that begin with ``<!-- counted -->``, ``<!-- explained -->`` or ``<!-- array api -->``, and end with ``<!-- end
-->``. ``tests/test_program_pages.py`` compares all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import array_api_table
from access_picture import Line, Panel, Seen, drawn, run_under, watched
from walk_pages import Case, ones, rows, stretch

import warpfold as wf
from warpfold.runtime.emulator.counters import total
from warpfold.runtime.emulator.profiler import Profiler

PAGE = Path(__file__).parent.parent / "docs" / "programs.md"
FOLDER = PAGE.with_suffix("")


@wf.program
def softmax(x: Any, *, axis: int = -1) -> Any:
    e = wf.exp(x - wf.max(x, axis=axis, keepdims=True))
    return e / wf.sum(e, axis=axis, keepdims=True)


@wf.program
def layer_norm(x: Any, w: Any, b: Any, *, axis: int = -1, eps: float = 1e-5) -> Any:
    m, v = wf.mean(x, axis=axis, keepdims=True), wf.var(x, axis=axis, keepdims=True)
    return (x - m) * wf.rsqrt(v + eps) * w + b


@wf.program
def softmax_of_centred(x: Any) -> Any:
    return softmax(x - wf.mean(x, axis=0), axis=1)


@wf.program
def causal_softmax(x: Any) -> Any:
    xp = x.__array_namespace__()
    return softmax(xp.where(xp.arange(x.shape[-1]) <= xp.arange(x.shape[-2])[:, None], x, -xp.inf))


def _call(program: Any, *shapes: tuple[int, ...], **how: Any) -> Callable[[], object]:
    """A call whose arrays and result begin at a boundary: where they begin may decide who writes what."""
    xs, out = [ones(shape) for shape in shapes], ones(shapes[0])
    return lambda: program(*xs, out=out, device="emulator", **how)


def _states(title: str, first: int) -> Panel:
    """The states of 4 rows that two warps leave in shared memory, from a word on."""
    lines = [Line(first, 4, "warp 0"), Line(first + 4, 4, "warp 1")]
    return Panel(title, 4, lines, "shared", "written", text=lambda word: f"row {word % 4}")


def _array(title: str, lines: Sequence[Line], **how: Any) -> Panel:
    """Rows of f32; a cell holds the column."""
    return Panel(title, 4, lines, text=lambda element: str(element % lines[0].count), **how)


def _results(lines: Sequence[Line], title: str = "the results", **how: Any) -> Panel:
    return _array(title, lines, where="result 0", verb="written", **how)


TWO_WARPS = "vector=4,lanes=8,warps=2,warps_kept=1"


def softmax_phases() -> Case:
    each = rows(4, 64)
    panels = [
        _array("phase 1, the maximum: 16 threads of two warps read each row, 4 of its 64 f32 each", each),
        _states("each warp leaves the maximum of its half of each row", 8),
        _states("phase 2, the sum of the exponentials: threads read no element again", 0),
        _results(each, "the results: each thread writes the elements that it read"),
    ]
    return Case(f"a softmax of rows, --plan {TWO_WARPS}", _call(softmax, (4, 64), plan=TWO_WARPS), panels)


def layer_norm_phases() -> Case:
    each, weights = rows(4, 64), stretch(64, 64)
    panels = [
        _array(
            "few rows: the threads of all rows read the weights ahead; so they do the bias", weights, where="input 1"
        ),
        _array("phase 1, the mean: 16 threads of two warps read each row, 4 of its 64 f32 each", each),
        _states("each warp leaves the sum of its half of each row", 16),
        _states("phase 2, the sum of the squares: threads read no element again", 0),
        _results(each, "each thread writes the elements that it read"),
    ]
    run = _call(layer_norm, (4, 64), (64,), (64,), plan=TWO_WARPS)
    return Case(f"a layer norm of rows, --plan {TWO_WARPS}", run, panels)


def registers() -> Case:
    plan, each = "vector=4,lanes=4,warps=1,warps_kept=1", rows(8, 32)
    panels = [_array("the array: 8 rows of 32 f32, read once", each), _results(each)]
    return Case(f"softmax of rows, --plan {plan}", _call(softmax, (8, 32), plan=plan), panels)


def shared() -> Case:
    plan, each = "resident=shared,vector=4,lanes=4,warps=1,warps_kept=1", rows(8, 32)
    slots = [Line(0, 32, "slot 0"), Line(32, 32, "slot 1")]

    def row_of(slot: int) -> str:
        return f"row {slot % 32 // 4}"

    panels = [
        _array("the array: 8 rows of 32 f32, read once", each),
        Panel("the copies in shared memory: a cell is an access", 16, slots, "shared", "written", text=row_of),
        Panel("phase 1 reads the copies; phase 2 and the results do so again", 16, slots, "shared", text=row_of),
        _results(each),
    ]
    return Case(f"softmax of rows, --plan {plan}", _call(softmax, (8, 32), plan=plan), panels)


def columns() -> Case:
    plan, each = "fast=kept,vector=4,lanes=4,warps=1,warps_kept=1", rows(8, 32)
    panels = [_array("the array: 8 rows of 32 f32, read once", each), _results(each)]
    return Case(f"softmax of columns, --plan {plan}", _call(softmax, (8, 32), axis=0, plan=plan), panels)


def cluster() -> Case:
    plan, each = "cluster=2,vector=4,lanes=8,warps=1,warps_kept=1", rows(4, 64)
    phases = [Line(12, 8, "phase 1"), Line(0, 8, "phase 2")]
    memory = [
        Panel(f"shared memory of CTA {rank}: what both CTAs leave there; a cell holds the row", 4, phases, "shared",
              "written", text=lambda word: str(word % 4), chosen=lambda s, rank=rank: s.thread % 8 == rank)
        for rank in range(2)
    ]  # fmt: skip
    panels = [_array("the array: 4 rows of 64 f32, read once", each), *memory, _results(each)]
    return Case(f"softmax of rows, --plan {plan}", _call(softmax, (4, 64), plan=plan), panels)


def cache() -> Case:
    plan, each = "resident=l2,vector=4,lanes=8,warps=1,warps_kept=1,held=1", rows(4, 64)
    states = [Line(0, 4, "chunk 0"), Line(4, 4, "chunk 1")]

    def row_of(state: int) -> str:
        return f"row {state % 4}"

    def leaves(s: Seen) -> bool:
        return s.cta == s.at // 16

    def combines(s: Seen) -> bool:
        return s.cta == 1 and s.thread % 8 == s.at // 16

    panels = [
        _array("the fold: a CTA reads a chunk of 32 columns", each, again=0),
        Panel("and leaves its states in memory, here the maxima", 4, states, "partials", "written", text=row_of,
              chosen=leaves),
        Panel("the last CTA reads those of all chunks", 4, states, "partials", text=row_of, chosen=combines),
        Panel("and leaves the states of the rows in place of the first ones", 4, states[:1], "partials", "written",
              text=row_of, chosen=lambda s: s.cta == 1),
        _array("with these a CTA reads a chunk again, from the cache", each, again=1),
        _results(each),
    ]  # fmt: skip
    return Case(f"softmax of rows, --plan {plan}", _call(softmax, (4, 64), plan=plan), panels)


def memory() -> Case:
    plan, each = "resident=memory,vector=4,unroll=1,lanes=4,warps=1,warps_kept=1", rows(4, 32)
    words = ("phase 1 reads the rows", "phase 2 reads them again", "the results need them once more")
    panels = [_array(text, each, again=i) for i, text in enumerate(words)]
    return Case(f"softmax of rows, --plan {plan}", _call(softmax, (4, 32), plan=plan), [*panels, _results(each)])


def two_kernels() -> Case:
    plan, each, line = "vector=4,lanes=8,warps=1,warps_kept=1,unroll=1", rows(8, 32), stretch(32, 32)
    panels = [
        _array("the first kernel reads columns", each),
        _array("and writes a mean of each to a buffer", line, where="partials", verb="written"),
        _array("the second kernel reads rows", each, kernel=2),
        _array("and the means, which all rows need", line, where="partials", kernel=2),
        _results(each, kernel=2),
    ]
    words = f"softmax of rows whose columns are centred, --plan {plan}"
    return Case(words, _call(softmax_of_centred, (8, 32), plan=plan), panels)


CASES: dict[str, Callable[[], Case]] = {
    "softmax": softmax_phases, "layer-norm": layer_norm_phases, "registers": registers, "shared": shared,
    "columns": columns, "cluster": cluster, "cache": cache, "memory": memory, "two-kernels": two_kernels,
}  # fmt: skip


COUNTED: dict[str, Callable[[], object]] = {
    "`softmax(x)`": _call(softmax, (64, 1024)),
    '`softmax(x, plan="resident=memory,warps=2")`': _call(softmax, (64, 1024), plan="resident=memory,warps=2"),
    "`causal_softmax(x)`": _call(causal_softmax, (64, 1024)),
    "`softmax(x - wf.mean(x, axis=0), axis=1)`": _call(softmax_of_centred, (64, 1024)),
}
"""Calls on arrays of 64 rows of 1024 f32."""


def table() -> str:
    """The kernels of each call, and the sectors that these ask for."""
    rows = ["| call | kernels | sectors loaded | sectors stored |", "|---|---|---|---|"]
    for words, run in COUNTED.items():
        tool = Profiler()
        run_under(tool, run)
        loads, stores = (total(tool.profiles).traffic(f"global {verb}") for verb in ("load", "store"))
        rows.append(f"| {words} | {len(tool.profiles)} | {loads.sectors:,} | {stores.sectors:,} |")
    return "\n".join(rows) + "\n"


EXPLAINED = (
    ((32768, 4096), "bf16"),
    ((4096, 131072), "bf16"),
    ((64, 1048576), "f32"),
    ((2, 8388608), "f32"),
    ((2, 33554432), "f32"),
)
"""Arrays of which a softmax is explained, as shape and element type."""


def explained() -> str:
    """What is planned for a softmax of some arrays, without fields of plans that are the same in all of them."""
    lines = []
    for kind in EXPLAINED:
        lines += [f">>> print(softmax.explain({kind}))", *softmax.explain(kind).splitlines()]
    same = r"(walk|tile_bytes|cta|exchange|coarsening)=\w+,"
    return "".join(f"    {re.sub(same, '', line)}\n" for line in lines)


def page(text: str) -> str:
    """The page with its tables, and with what is explained, written anew."""
    for name, written in (("counted", table), ("explained", explained), ("array api", array_api_table.table)):
        text = re.sub(rf"(<!-- {name} -->\n).*?(<!-- end -->)", rf"\g<1>{written()}\g<2>", text, flags=re.DOTALL)
    return text


def picture(name: str) -> str:
    """The picture of a case."""
    case = CASES[name]()
    return drawn(case.words, watched(case.run), case.panels)


def main() -> None:
    """Writes the pictures and the blocks."""
    FOLDER.mkdir(exist_ok=True)
    for name in CASES:
        (FOLDER / f"{name}.svg").write_text(picture(name), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
