"""What a page is made of: columns with linked lines, owners of elements, values of the player, and what is left out."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warpfold.commands.emulated import Work, watch
from warpfold.commands.page import seen
from warpfold.commands.page.collect import collect
from warpfold.commands.page.model import Column, Launched, Page
from warpfold.commands.requests.choose import request_of
from warpfold.compiler.errors import WarpfoldError
from warpfold.runtime.prepare import artifact

EXAMPLES = Path(__file__).parents[3] / "examples"


@cache
def of(op: str, *shapes: str, plan: str = "", axis: str | None = None, compare: str | None = None) -> Page:
    return collect(request_of(op, shapes=shapes, axis_text=axis, plan=plan), compare, None)


def rows() -> Page:
    return of("sum", "16x64", axis="1")


def column(page: Page, name: str) -> Column:
    return next(c for c in page.sides[0].parts[0].columns if c.name == name)


def launched(page: Page) -> Launched:
    (found,) = page.sides[0].launches
    return found


def test_lines_of_all_columns_come_from_the_same_python_lines() -> None:
    page = rows()
    python = {line.place: line.text.strip() for line in column(page, "Python").lines if line.place >= 0}
    add = next(place for place, text in python.items() if text == "return a + b")
    for name, text in (("tensor program", "arith.addf"), ("distribute", "arith.addf"), ("PTX", "add.rn.f32")):
        found = [line for line in column(page, name).lines if text in line.text]
        assert found, name
        assert {line.place for line in found} == {add}, name
        assert len({line.node for line in found}) == 1, name


def test_the_ptx_is_what_is_launched_with_its_own_line_numbers() -> None:
    page = rows()
    request = request_of("sum", shapes=("16x64",), axis_text="1")
    ptx = artifact(request.planned("sm_90a")).ptx.splitlines()  # type: ignore[arg-type]
    for line in column(page, "PTX").lines:
        assert ptx[line.number - 1].expandtabs(4) == line.text


def test_a_column_marks_what_its_pass_made_and_idle_passes_are_named() -> None:
    page = rows()
    part = page.sides[0].parts[0]
    names = [c.name for c in part.columns]
    assert names[:3] == ["Python", "tensor program", "distribute"]
    assert names[-1] == "PTX"
    assert "lower-warp-shuffle" in names
    assert "lower-tickets" in part.unchanged
    shuffled = column(page, "lower-warp-shuffle")
    new = [line.text for line in shuffled.lines if line.changed]
    assert any("gpu.shuffle" in text for text in new)
    assert not any("gpu.thread_id" in text for text in new)
    assert shuffled.removed > 0


def test_every_element_has_the_owner_that_reads_it() -> None:
    own, out = launched(rows()).owned
    assert (own.name, own.verb, own.shape, own.width) == ("input 0", "read", (16, 64), 64)
    assert min(own.owner) >= 0
    by_row = np.array(own.owner).reshape(16, 64) // 32
    assert all(len(set(row)) == 1 for row in by_row.tolist()), "a warp owns a row"
    assert len(set(by_row[:, 0].tolist())) == 16
    assert (out.name, out.verb, out.elements) == ("result 0", "written", 16)


def test_values_of_the_player_are_those_of_the_arrays() -> None:
    page = rows()
    data: Any = json.loads(json.dumps(launched(page).play, allow_nan=False))
    watched = watch(Work(request_of("sum", shapes=("16x64",), axis_text="1")), None)
    first = next(step for step in data["steps"] if "a" in step and data["arrays"][step["a"][0][1]][0] == "input 0")
    warp, _, verb, size, lanes, addresses, taken, ideal = first["a"][0]
    assert (verb, size, taken, ideal) == (0, 16, 8, 8)
    assert lanes == 0xFFFF
    registers = [(reg, data["pool"][pool]) for reg, w, pool in first["w"] if w == warp]
    row = data["warps"][warp][0] * 4 + data["warps"][warp][1]
    held = np.array([vector[:16] for _, vector in registers], np.float64).T.reshape(-1)
    np.testing.assert_allclose(held, watched.arrays["input 0"][row], rtol=1e-5)
    assert data["pool"][addresses][0] == row * 256
    names = [data["regs"][reg] for reg, _ in registers]
    assert {kind for _, kind in names} == {"f32"}


def test_pointers_are_named_after_their_arrays() -> None:
    data: Any = launched(rows()).play
    pointers = [v for v in data["pool"] if isinstance(v, dict)]
    assert {data["arrays"][v["in"]][0] for v in pointers} >= {"input 0", "result 0"}


def test_facts_name_bytes_bound_and_tree() -> None:
    side = rows().sides[0]
    facts = dict(side.facts)
    assert facts["must move"] == "4 KiB in, 64 bytes out"
    assert facts["check"].startswith("passed: error")
    assert dict(side.parts[0].facts)["combining tree"] == "tree-v7"
    assert side.parts[0].rejected


def test_steps_of_a_program_have_their_own_launches_and_columns() -> None:
    page = of(f"{EXAMPLES}/gallery.py:layer_norm_gradient", "16x128", "16x128", "128")
    side = page.sides[0]
    assert [one.part for one in side.launches] == sorted(one.part for one in side.launches)
    assert {one.part for one in side.launches} == set(range(len(side.parts)))
    assert all(part.phases and part.accesses for part in side.parts)


def test_a_fault_is_found_where_the_profiler_counts_it() -> None:
    page = of("sum", "2048", plan="simple")
    marks = {mark for line in column(page, "PTX").lines for mark in line.marks}
    assert "divergent" in marks
    counts = page.sides[0].launches[0].counts
    assert "divergent" in [counts.rows[i][0].strip() for i in counts.poor]


def test_two_plans_are_two_sides() -> None:
    page = of("sum", "16x64", axis="1", compare="vector=1")
    assert [side.name for side in page.sides] == ["the planner's own", "vector=1"]
    nodes = [{line.node for c in side.parts[0].columns for line in c.lines} - {-1} for side in page.sides]
    assert not nodes[0] & nodes[1], "a node belongs to one side"


def test_arrays_too_large_are_planned_and_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen, "MOST", 1000)
    (side,) = collect(request_of("sum", shapes=("16x64",), axis_text="1"), None, None).sides
    assert side.trouble == (
        "WF857: the arrays have 1024 elements together: the emulator runs at most 1000 for a page\n"
        "  help: give a smaller --shape: counts, drawings and the player are then there, too"
    )
    assert not side.launches
    assert side.parts[0].columns[-1].name == "PTX"


def test_a_kernel_that_the_emulator_stops_is_still_shown() -> None:
    (side,) = collect(request_of("sum", shapes=("16x64",), axis_text="1"), None, 3).sides
    assert side.trouble.startswith("WF716: ")
    assert not side.launches
    assert side.parts[0].why


def test_what_is_sampled_is_said() -> None:
    sampled = launched(of("sum", "64x128", axis="1")).sampled
    assert sampled == [
        "The player shows 8 of 64 warps, those of CTAs 0 and 15.",
        "Of input 0 the first 4,096 of 8,192 elements are drawn.",
    ]


def test_other_errors_are_not_swallowed() -> None:
    with pytest.raises(WarpfoldError, match="WF4"):
        collect(request_of("sum", shapes=("16x64",), axis_text="1", plan="vector=3"), None, None)
