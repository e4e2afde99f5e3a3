"""The cells of programs: their layouts and bytes, their gate, and that they are checked and timed beside a copy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from warpfold.commands.bench.grid import heatmap, records, reference
from warpfold.commands.bench.grid import run as grid
from warpfold.commands.bench.grid.buffer import Bed, reach
from warpfold.commands.bench.grid.cells import ProgramCell, dense
from warpfold.commands.bench.grid.program_shapes import DTYPES, KINDS, cells
from warpfold.commands.bench.grid.records import Record, Report
from warpfold.commands.bench.grid.run import MOST_BYTES
from warpfold.commands.bench.peers import torch_programs
from warpfold.commands.bench.programs import answers, ours
from warpfold.compiler.dtypes import dtype
from warpfold.runtime.backends.emulator_backend import EmulatorBackend
from warpfold.runtime.tuning.measure import Ceilings, Timing

EVERY = [c for name in DTYPES for c in cells(dtype(name))]
CEILINGS = Ceilings(4000.0, 3900.0, 2.85, ((4096, 3.0), (1 << 28, 67.0), (1 << 30, 268.0)))


def program(**changes: Any) -> Record:
    made = {
        "cell": "softmax.7", "dtype": "f32", "op": "softmax", "shape": [9, 7], "strides": [7, 1], "offset": 0,
        "axes": [1], "bytes": 134217728, "one_cta": False, "program": True, "plan": 0, "us": 37.0, "low": 36.9,
        "high": 37.2, "fraction": 0.9, "right": True,
    }  # fmt: skip
    return made | changes


# --- layouts -------------------------------------------------------------------------------------------------------
def test_there_are_at_least_150_gated_cells_with_names_of_their_own() -> None:
    gated = [c for c in EVERY if c.nbytes >= records.GATED_BYTES]
    assert len(gated) >= 150
    assert len({(c.name, c.dtype) for c in EVERY}) == len(EVERY)
    assert {c.kind for c in EVERY} == {kind.__name__ for kind in KINDS}
    assert all(c.name.startswith(f"{c.kind}.") for c in EVERY)
    assert cells(dtype("i8")) == []


def test_cells_move_64_to_256_megabytes_or_fit_one_cta() -> None:
    assert [c.name for c in EVERY if not c.fits_one_cta and not 64e6 <= c.nbytes <= 256e6] == []
    assert {c.kind for c in EVERY if c.fits_one_cta} == {"small_programs"}


def test_views_lie_in_the_buffer() -> None:
    assert all(c.span[0] >= 0 and c.span[1] * c.dtype.itemsize <= MOST_BYTES for c in EVERY)
    assert all(len(c.shape) == len(c.strides) and set(c.axes) <= set(range(len(c.shape))) for c in EVERY)


def test_rows_of_many_lengths_views_and_axes_occur() -> None:
    rows = [c for c in EVERY if c.op == "softmax" and c.axes == (1,) and c.strides == dense(c.shape)]
    assert {1, 2, 3, 77, 8191, 1 << 17} <= {c.shape[1] for c in rows}
    assert max(c.shape[1] for c in rows) >= 1 << 24
    assert {len(c.shape) for c in EVERY} == {2, 3, 4}
    assert {c.axes for c in EVERY} >= {(0,), (1,), (2, 3), (1, 2, 3), (0, 2, 3)}
    assert any(c.offset % 4 for c in EVERY)
    assert any(0 in c.strides for c in EVERY)


@pytest.mark.parametrize(
    ("cell", "nbytes"),
    [
        (ProgramCell("x", "x.y", "softmax", dtype("f32"), (8, 64), (64, 1), 0, (1,)), 2 * 2048),
        (ProgramCell("x", "x.y", "layernorm", dtype("bf16"), (8, 64), (64, 1), 0, (1,)), 2 * 1024 + 2 * 128),
        (ProgramCell("x", "x.y", "softmax", dtype("f32"), (8, 64), (0, 1), 0, (1,)), 256 + 2048),
        (ProgramCell("x", "x.y", "relu_backward", dtype("f32"), (8, 64), (64, 1), 0, ()), 2 * 2048 + 64),
    ],
)
def test_bytes_are_those_of_the_view_and_of_the_result(cell: ProgramCell, nbytes: int) -> None:
    assert cell.nbytes == nbytes


# --- gates ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("cell", "gate"),
    [
        (program(fraction=0.80), ""),
        (program(fraction=0.7999), "ceiling"),
        (program(fraction=0.5, bytes=63_999_999), ""),
        (program(fraction=0.84, program=False), "ceiling"),
        (program(one_cta=True, above=1.6, bytes=100), "launch"),
    ],
)
def test_the_gate_is_80_percent_of_a_copy(cell: Record, gate: str) -> None:
    assert records.missed(cell) == gate


def test_programs_have_blocks_and_a_scale_of_their_own() -> None:
    plain = program(cell="short.7", program=False)
    report = Report({"gpu": "NVIDIA H200"}, {"read": 4000.0, "empty": 2.85}, [""], [plain, program()], complete=True)
    alone = Report({"gpu": "NVIDIA H200"}, {"read": 4000.0, "empty": 2.85}, [""], [plain], complete=True)
    words = [t.get_text() for t in heatmap.draw(report).texts]
    assert heatmap.PROGRAMS.label in words
    assert heatmap.PROGRAMS.label not in [t.get_text() for t in heatmap.draw(alone).texts]


# --- measuring -----------------------------------------------------------------------------------------------------
@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Any:
    """PyTorch's functions in place of warpfold's, on the CPU; a copy takes 8 us and anything else 10."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    def function(case: Any) -> Any:
        call = torch_programs.function(torch, case)

        def made(x: Any, *more: Any) -> Any:
            found = call(x.float(), *(m.float() for m in more)).to(x.dtype)
            return (found, answers.words_of(x > 0)) if "bits" in case.operation.results else found

        return made

    monkeypatch.setattr(ours, "function", function)

    def timed(_: Any, calls: Any, **__: Any) -> Timing:
        (call,) = calls
        call()
        us = 8.0 if getattr(call.func, "__name__", "") == "copy_" else 10.0
        return Timing(us, us, us, 7)

    monkeypatch.setattr(grid, "timed", timed)
    return torch


def bed(torch: Any, wanted: list[ProgramCell]) -> tuple[Bed, reference.Truth]:
    buffer = torch.zeros(-(-reach(wanted) // 16) * 16, dtype=torch.uint8)
    source = reference.Truth(torch, buffer)
    source.fill(wanted[0].dtype)
    return Bed(buffer, EmulatorBackend(), 0), source


@pytest.mark.parametrize("name", DTYPES)
def test_every_layout_is_checked(library: Any, name: str) -> None:
    """Small clones of all cells: those of PyTorch pass, and a result that is off is wrong."""
    wanted = cells(dtype(name), 1 << 14)
    made, source = bed(library, wanted)
    report = Report({"gpu": "x"})
    for cell in wanted:
        found = grid.measured(cell, made, source, CEILINGS, report)
        assert found.get("right"), (cell, found)
        assert found["program"]
        with made.work(cell) as work:
            first, *others = ours.results(work.result())
            assert source.error(cell, (first + 0.1, *others)) > 1, cell


def test_a_large_cell_is_compared_with_a_copy(library: Any) -> None:
    cell = ProgramCell("softmax", "softmax.y", "softmax", dtype("f32"), (512, 1024), (1024, 1), 0, (1,))
    made, source = bed(library, [cell])
    found = grid.measured(cell, made, source, CEILINGS, Report({"gpu": "x"}))
    assert (found["us"], found["fraction"], found["bytes"]) == (10.0, 0.8, 1 << 22)


def test_a_large_copy_that_takes_too_long_does_not_count(library: Any) -> None:
    ceilings = replace(CEILINGS, copy=16e3)
    cell = ProgramCell("softmax", "softmax.y", "softmax", dtype("f32"), (8192, 1024), (1024, 1), 0, (1,))
    found = grid.measured(cell, *bed(library, [cell]), ceilings, Report({"gpu": "x"}))
    assert found["fraction"] == round(1.25 * (1 << 26) / 16e6 / 10, 4)


def test_a_function_that_warpfold_lacks_is_an_error_of_its_cells(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks(_: Any) -> Any:
        raise ours.LacksError("warpfold has no softmax")

    monkeypatch.setattr(ours, "function", lacks)
    cell = ProgramCell("softmax", "softmax.y", "softmax", dtype("f32"), (8, 16), (16, 1), 0, (1,))
    found = grid.measured(cell, *bed(library, [cell]), CEILINGS, Report({"gpu": "x"}))
    assert found["error"] == "warpfold has no softmax"


def test_cells_are_chosen_by_name_beside_those_of_reductions() -> None:
    names = {c.name for c in grid.chosen("s*", "f32,i8")}
    assert {"softmax.77", "short.7"} <= names
    assert all(isinstance(c, ProgramCell) for c in grid.chosen("softmax*", "bf16"))
    assert {c.kind for c in grid.chosen("rms_norm.*, short.7", "f32")} == {"rms_norm", "short"}


def test_warpfold_is_right_for_layouts_of_every_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the emulator, in small clones."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    monkeypatch.setattr(grid, "timed", lambda *_, **__: Timing(9.0, 9.0, 9.0, 7))
    wanted = [c for kind in KINDS for c in [c for c in cells(dtype("f32"), 1 << 12) if c.kind == kind.__name__][::5]]
    made, source = bed(torch, wanted)
    for cell in wanted:
        found = grid.measured(cell, made, source, CEILINGS, Report({"gpu": "x"}))
        assert found.get("right"), (cell, found)
