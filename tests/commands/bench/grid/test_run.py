"""``warpfold grid``: its gates, its file, its comparison with an earlier one, its picture, and what it refuses."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grid_numpy
import numpy as np
import pytest
from click.testing import CliRunner, Result

from warpfold.cli import cli
from warpfold.commands import ladder_plot
from warpfold.commands.bench import provenance
from warpfold.commands.bench.grid import heatmap, records, reference, regression, summary
from warpfold.commands.bench.grid import run as grid
from warpfold.commands.bench.grid.cells import Cell
from warpfold.commands.bench.grid.records import Record, Report
from warpfold.commands.output_file import Output
from warpfold.compiler.dtypes import dtype
from warpfold.compiler.errors import error
from warpfold.runtime.backends import cuda_backend
from warpfold.runtime.tuning.measure import Ceilings, Timing

CEILINGS = Ceilings(4000.0, 3900.0, 2.85, ((4096, 3.0), (1 << 28, 67.0), (1 << 30, 268.0)))
PLAN = "fast=reduced,walk=interleaved,vector=4,unroll=4"
OTHER = "fast=reduced,walk=interleaved,vector=1,unroll=4"


def call(*words: object, code: int = 0) -> Result:
    """Runs the command; an internal error propagates."""
    result = CliRunner().invoke(cli, ["grid", *map(str, words)], prog_name="warpfold", catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def record(name: str = "short.7", dtype: str = "f32", **changes: Any) -> Record:
    """A large cell at 90 % of the ceiling."""
    made = {
        "cell": name, "dtype": dtype, "op": "sum", "shape": [1 << 22, 7], "strides": [7, 1], "offset": 0, "axes": [1],
        "bytes": 134217728, "one_cta": False, "plan": 0, "us": 37.0, "low": 36.9, "high": 37.2, "fraction": 0.9,
        "right": True,
    }  # fmt: skip
    return made | changes


def small(name: str = "tiny.64", **changes: Any) -> Record:
    """A cell that fits one CTA, 0.5 us slower than an empty launch."""
    made = record(name, shape=[64], strides=[1], axes=[0], bytes=260, one_cta=True, us=3.35, above=0.5)
    del made["fraction"]
    return made | changes


def report(*cells: Record, gpu: str = "NVIDIA H200") -> Report:
    ceilings = {"read": 4000.0, "copy": 3900.0, "empty": 2.85, "reads": []}
    return Report({"gpu": gpu}, ceilings, [PLAN, OTHER], list(cells), complete=True)


# --- gates ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("cell", "gate"),
    [
        (record(), ""),
        (record(fraction=0.85), ""),
        (record(fraction=0.8499), "ceiling"),
        (record(fraction=0.5, bytes=63_999_999), ""),  # too small to be gated
        (record(fraction=0.5, bytes=64_000_000), "ceiling"),
        (record(right=False, fraction=0.5), "wrong"),
        (record(error="WF601: no", right=False), "error"),
        (small(), ""),
        (small(above=1.5), ""),
        (small(above=1.501), "launch"),
        (small(above=9.0, one_cta=False), ""),
    ],
)
def test_gates(cell: Record, gate: str) -> None:
    assert records.missed(cell) == gate


def test_misses_are_sorted_wrong_ones_first_then_the_worst() -> None:
    cells = [
        small("tiny.1", above=1.6), record("short.1", fraction=0.8), small("tiny.2", above=2.5), record("short.2"),
        record("short.3", fraction=0.3), record("short.4", right=False), record("short.5", error="WF601: no"),
    ]  # fmt: skip
    found = [r["cell"] for r in report(*cells).misses()]
    assert found == ["short.5", "short.4", "short.3", "short.1", "tiny.2", "tiny.1"]
    assert records.summary(cells) == "7 cells, 6 of them gated: 6 miss"


def test_the_line_of_a_miss(capsys: pytest.CaptureFixture[str]) -> None:
    failed = record("short.5", error="WF601: no")
    del failed["us"], failed["plan"]
    cells = [record("short.3", fraction=0.3123), small(above=2.5, us=5.35, plan=1), failed, record()]
    assert summary.show(report(*cells, record("odd.9", right=False)), None) is False
    assert capsys.readouterr().out.splitlines() == [
        "5 cells, 4 of them gated: 4 miss, on NVIDIA H200",
        "",
        "the worst of each kind, and how many miss; memory fetches 64 bytes at once, and all of them count",
        "",
        "kind   f32",
        "short  31 %, 2",
        "tiny   +2.50 us, 1",
        "odd    90 %, 1",
        "",
        "cell     type  gate     found                        time      plan",
        "short.5  f32   error    WF601: no                    -         none",
        "odd.9    f32   wrong    the answer is not float64's  37.00 us  vector=4",
        "short.3  f32   ceiling  31.2 %                       37.00 us  vector=4",
        "tiny.64  f32   launch   +2.50 us                     5.35 us   vector=1",
    ]


def test_the_worst_by_kind_and_type() -> None:
    cells = [record(), record("odd.9", "i8", fraction=0.5), record("odd.11", fraction=0.95), record("far.3", bytes=9)]
    assert summary._by_kind(cells) == (
        ["kind", "f32", "i8"],
        [["short", "90 %", "-"], ["odd", "95 %", "50 %, 1"], ["far", "-", "-"]],
    )


def test_a_plan_that_all_cells_share_is_shown_whole() -> None:
    alone = report(record(fraction=0.1))
    alone.plans = [PLAN]
    assert summary._line(alone, alone.cells[0])[-1] == PLAN


def test_at_most_40_misses_are_printed_with_a_count(capsys: pytest.CaptureFixture[str]) -> None:
    cells = [record(f"short.{n}", fraction=0.5 + n / 1000) for n in range(1, 51)]
    summary.show(report(*cells), None)
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("short.") for line in lines) == 40
    assert lines[-1] == "and 10 more"


# --- the file ---------------------------------------------------------------------------------------------------------
def test_the_file_has_a_cell_a_line_and_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "grid.json"
    written = report(record(), small())
    written.write(Output(str(path)))
    assert records.read(str(path)) == written
    lines = path.read_text().splitlines()
    assert [json.loads(line.rstrip(","))["cell"] for line in lines if line.startswith('{"cell"')] == [
        "short.7", "tiny.64"
    ]  # fmt: skip
    found = json.loads(path.read_text())
    assert (found["format"], found["version"]) == ("warpfold grid", 1)


def test_2859_cells_take_less_than_a_megabyte(tmp_path: Path) -> None:
    path = tmp_path / "grid.json"
    cells = grid.chosen("*", "f32,bf16,i8,f64,bool")
    report(*(grid._named(c) | {k: v for k, v in record().items() if k not in grid._named(c)} for c in cells)).write(
        Output(str(path))
    )
    assert len(cells) > 2000
    assert path.stat().st_size < 1_000_000


def test_cells_are_those_of_the_committed_grid() -> None:
    """A grid of today is compared with it, cell by cell, so that a layout keeps its name, and its bytes."""
    found = records.read("benchmarks/results/grid-h100.json").cells
    made = {(c.dtype.name, c.name): c for c in grid.chosen("*", "f32,bf16,i8,f64,bool")}
    for cell in found:
        named = grid._named(made[cell["dtype"], cell["cell"]])
        assert named == {key: cell[key] for key in named}


def kept(**changes: Any) -> str:
    """The text of a file with two cells, and with ``changes``."""
    head = {"format": "warpfold grid", "version": 1, "warnings": [], "left_out": [], "complete": True, "plans": [PLAN]}
    return json.dumps(head | {"machine": {}, "ceilings": {}, "cells": [record(), small()]} | changes)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("[]", "it does not say 'warpfold grid'"),
        (kept(format="warpfold bench"), "it does not say 'warpfold grid'"),
        (kept(cells=None), "TypeError 'NoneType' object is not iterable"),
        (kept(cells=[record(), {"cell": "a.1", "dtype": "f32"}]), "a cell lacks op, shape, strides, offset, axes, "),
        (kept(cells=[{k: v for k, v in record().items() if k != "us"}]), "ValueError a cell lacks us"),
        (kept(cells=[{k: v for k, v in record().items() if k != "fraction"}]), "KeyError 'fraction'"),
        (kept(plans=[]), "IndexError list index out of range"),
        ('{"format": "warpfold grid", "version": 1, "machine": {}}', "KeyError 'ceilings'"),
    ],
)
def test_a_file_that_is_no_grid_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "old.json"
    path.write_text(text)
    result = call("--against", path, code=2)
    assert result.stderr.startswith(f"WF744: {path} holds no results of warpfold grid, or damaged ones: ")
    assert reason in result.stderr
    assert result.stderr.endswith(f"  help: measure again: warpfold grid --out {path}\n")


def test_a_grid_of_another_version(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text(kept(version=2))
    result = call("--against", path, code=2)
    assert result.stderr.startswith(f"WF743: {path} holds results of warpfold grid, version 2: expected 1\n")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    result = call("--against", tmp_path / "none.json", code=2)
    assert result.stderr.startswith(f"WF501: cannot read {tmp_path}/none.json: No such file or directory\n")


# --- comparison -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (100.0, 105.0, ""),
        (100.0, 105.1, "slower"),
        (100.0, 94.0, "faster"),
        (100.0, 96.0, ""),
        (3.0, 3.29, ""),  # more than 5 %, yet less than the clock is good for
        (3.0, 3.31, "slower"),
        (3.31, 3.0, "faster"),
    ],
)
def test_more_than_5_percent_and_0_3_us_is_a_change(before: float, after: float, change: str) -> None:
    found = regression.compare(report(record(us=before)), report(record(us=after)))
    assert (found.compared, len(found.slower), len(found.faster)) == (1, change == "slower", change == "faster")


def test_cells_are_compared_with_their_own_kind_only() -> None:
    old = report(record("a.1"), record("a.2"), record("a.3", dtype="i8"), record("a.4", shape=[9, 7]))
    new = report(record("a.1"), record("a.3", us=99.0), record("a.4", us=99.0), record("a.5", us=99.0))
    found = regression.compare(old, new)
    assert (found.compared, found.slower, found.faster, found.lost) == (1, [], [], [])


def test_slower_cells_are_named_with_both_times_and_plans(capsys: pytest.CaptureFixture[str]) -> None:
    old = report(record("a.1"), record("a.2"), record("a.3"), record("a.4"))
    failed = record("a.4", error="WF609: no")
    del failed["us"]
    new = report(record("a.1", us=50.0, plan=1), record("a.2", us=99.9), record("a.3", us=30.0, plan=1), failed)
    assert regression.show(regression.compare(old, new), 40) is True
    assert capsys.readouterr().out.splitlines() == [
        "",
        "compared with the earlier grid: 4 cells, 3 slower, 1 faster",
        "",
        "slower  type  before    now        ratio  plan",
        "a.4     f32   -         WF609: no  -      none",
        f"a.2     f32   37.00 us  99.90 us   2.70x  {PLAN}; before: the same",
        f"a.1     f32   37.00 us  50.00 us   1.35x  {OTHER}; before: vector=4",
        "",
        "faster  type  before    now       ratio  plan",
        f"a.3     f32   37.00 us  30.00 us  0.81x  {OTHER}; before: vector=4",
    ]


def test_the_number_of_printed_slower_cells_is_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    old = report(*(record(f"a.{n}") for n in range(5)))
    new = report(*(record(f"a.{n}", us=60.0 + n) for n in range(5)))
    assert regression.show(regression.compare(old, new), 2)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[-3:]] == ["a.4", "a.3", "and"]
    assert lines[-1] == "and 3 more"


def test_a_comparison_without_slower_cells_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert regression.show(regression.compare(report(record()), report(record())), 40) is False
    assert capsys.readouterr().out == "\ncompared with the earlier grid: 1 cells, 0 slower, 0 faster\n"


# --- the command, on the emulator with a made-up clock ----------------------------------------------------------------
@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What the command sees of a GPU; ``us`` is what its clock says, ``before`` is called before each launch."""
    found = SimpleNamespace(us=lambda _: 3.0, before=lambda: None, runs=[])

    def bed(_: object, __: object, wanted: list[Cell]) -> tuple[Any, Any]:
        found.bed = grid_numpy.bed(wanted)
        found.bed[0].backend.device_name = "NVIDIA H200"
        return found.bed

    def timed(_: object, calls: list[Callable[[], None]], *, stream: int, runs: int, warmup: int) -> Timing:
        assert (stream, warmup) == (0, 1)
        found.before()
        calls[0]()
        found.runs.append(runs)
        us = found.us(runs)
        return Timing(us, us - 0.1, us + 0.1, runs)

    monkeypatch.setattr(grid, "_device", lambda: (None, None))
    monkeypatch.setattr(grid, "_bed", bed)
    monkeypatch.setattr(grid, "timed", timed)
    monkeypatch.setattr(grid, "ceilings", lambda *_: CEILINGS)
    monkeypatch.setattr(provenance, "machine", lambda _: {"gpu": "NVIDIA H200", "commit": "1234567"})
    monkeypatch.setattr(provenance, "busy", lambda _: [])
    return found


TINY = ("--only", "tiny.1[02]*", "--dtypes", "f32,i8")


def test_measured_cells_are_checked_written_and_drawn(device: SimpleNamespace, tmp_path: Path) -> None:
    out, plot = tmp_path / "grid.json", tmp_path / "heat.png"
    result = call(*TINY, "--out", out, "--plot", plot)
    found = json.loads(out.read_text())
    assert (
        result.stdout == f"{len(found['cells'])} cells, {len(found['cells'])} of them gated: 0 miss, on NVIDIA H200\n"
    )
    assert found["complete"] is True
    assert found["machine"] == {"gpu": "NVIDIA H200", "commit": "1234567"}
    assert found["ceilings"]["reads"][0] == [4096, 3.0]
    first = found["cells"][0]
    assert first | {"plan": 0} == {
        "cell": "tiny.100", "dtype": "f32", "op": "sum", "shape": [100], "strides": [1], "offset": 0, "axes": [0],
        "bytes": 452, "one_cta": True, "plan": 0, "us": 3.0, "low": 2.9, "high": 3.1, "above": 0.15, "right": True,
    }  # fmt: skip
    assert "vector=" in found["plans"][first["plan"]]
    assert {r["dtype"] for r in found["cells"]} == {"f32", "i8"}
    assert plot.stat().st_size > 1000
    assert set(device.runs) == {grid.RUNS}


def test_a_large_cell_is_compared_with_a_plain_read_of_its_bytes(device: SimpleNamespace) -> None:
    cell = Cell("x", "x.y", "sum", dtype("f32"), (1 << 19,), (1,), 0, (0,))
    device.bed = bed, source = grid_numpy.bed([cell])
    source.fill(cell.dtype)
    device.us = lambda _: 10.0
    found = grid.measured(cell, bed, source, CEILINGS, report())
    assert found["fraction"] == round(CEILINGS.read_at((1 << 21) + 4) / 10, 4)
    assert "above" not in found


def test_a_miss_is_measured_again_before_it_counts(device: SimpleNamespace) -> None:
    device.us = lambda runs: 9.0 if runs == grid.RUNS else 3.1
    call("--only", "tiny.1000", "--dtypes", "f32")
    assert device.runs == [grid.RUNS, grid.RUNS_AGAIN]


def test_slow_cells_end_in_exit_code_1(device: SimpleNamespace) -> None:
    device.us = lambda _: 9.0
    result = call("--only", "tiny.1000", "--dtypes", "f32", code=1)
    assert "tiny.1000  f32   launch  +6.15 us  9.00 us  fast=" in result.stdout


@pytest.mark.usefixtures("device")
def test_wrong_answers_end_in_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid_numpy.Truth, "error", lambda *_: float("nan"))
    result = call("--only", "tiny.1000", "--dtypes", "f32", code=1)
    assert "wrong" in result.stdout


def test_a_failing_cell_does_not_affect_others(device: SimpleNamespace, tmp_path: Path) -> None:
    def fail() -> None:
        device.before = lambda: None
        raise RuntimeError("out of memory\nand more")

    device.before = fail
    out = tmp_path / "grid.json"
    call("--only", "tiny.10*", "--dtypes", "f32", "--out", out, code=1)
    found = json.loads(out.read_text())["cells"]
    assert [r.get("error") for r in found][:2] == ["out of memory", None]


@pytest.mark.usefixtures("device")
def test_cells_too_large_for_memory_are_skipped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpfold.commands.bench.grid.buffer.Bed.holds", lambda _, cell: cell.elements < 2000)
    result = call("--only", "tiny.[12]0*", "--dtypes", "i8")
    assert "left out, for want of memory: 5 cells\n" in result.stdout


@pytest.mark.usefixtures("device")
def test_a_busy_gpu_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "busy", lambda _: ["somebody else computes"])
    assert "warning: somebody else computes\n" in call("--only", "tiny.100", "--dtypes", "f32").stdout


def test_an_interruption_keeps_the_measured_cells(device: SimpleNamespace, tmp_path: Path) -> None:
    def interrupts() -> Iterator[None]:
        yield
        yield
        raise KeyboardInterrupt

    turns = interrupts()
    device.before = lambda: next(turns)
    out = tmp_path / "grid.json"
    result = call(*TINY, "--out", out, code=130)
    found = json.loads(out.read_text())
    assert found["complete"] is False
    assert len(found["cells"]) == 2
    assert result.stdout.startswith("interrupted after 2 of ")


def test_the_file_is_written_on_the_way(
    device: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid, "KEPT_EVERY", 2)
    out, seen = tmp_path / "grid.json", []
    device.before = lambda: seen.append(len(json.loads(out.read_text())["cells"]) if out.exists() else 0)
    call("--only", "tiny.12*", "--dtypes", "f32", "--out", out)
    assert seen[:5] == [0, 0, 2, 2, 4]


def test_against_an_earlier_grid(device: SimpleNamespace, tmp_path: Path) -> None:
    out = tmp_path / "grid.json"
    call(*TINY, "--out", out)
    assert ", 0 slower, 0 faster\n" in call(*TINY, "--against", out).stdout
    device.us = lambda _: 3.5
    result = call(*TINY, "--against", out, code=1)
    assert re.search(r"^tiny\.100 +f32 +3\.00 us +3\.50 us +1\.17x +fast=", result.stdout, re.MULTILINE)


@pytest.mark.usefixtures("device")
def test_against_a_grid_of_another_gpu(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    report(gpu="NVIDIA A100").write(Output(str(path)))
    result = call("--only", "tiny.1", "--against", path, code=2)
    assert result.stderr == (
        f"WF752: {path} was measured on NVIDIA A100: expected NVIDIA H200, the device of this run\n"
        "  help: compare with a grid of the same device\n"
    )


@pytest.mark.parametrize(("free", "nbytes"), [(1 << 40, 416), (400, 208)])
def test_the_buffer_holds_all_cells_or_takes_half_of_the_free_memory(free: int, nbytes: int) -> None:
    cell = Cell("x", "x.y", "sum", dtype("f32"), (101,), (1,), 0, (0,))
    stream = SimpleNamespace(current_stream=lambda: SimpleNamespace(cuda_stream=7))
    torch = SimpleNamespace(zeros=lambda n, **_: np.zeros(n, np.uint8), uint8=None, cuda=stream)
    bed, _ = grid._bed(torch, SimpleNamespace(memory_free=lambda: (free, 1 << 40)), [cell])  # type: ignore[arg-type]
    assert (bed.bytes.shape, bed.stream, bed.holds(cell)) == ((nbytes,), 7, nbytes == 416)


# --- refusals ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("option", ["--out", "--plot", "--against"])
def test_a_list_writes_and_compares_nothing(option: str, tmp_path: Path) -> None:
    result = call("--only", "tiny.1", "--list", option, tmp_path / "grid.json", code=2)
    assert result.stdout == ""
    assert result.stderr == (
        f"WF814: --list and {option} cannot be given together\n  help: a list measures nothing: leave {option} out\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: int) -> Any:
        raise error("WF605", number=0, found="none")

    monkeypatch.setattr(cuda_backend, "backend", none)
    assert call(code=2).stderr == (
        "WF742: warpfold grid times a GPU, and there is none: there is no CUDA device 0: none found\n"
        "  help: run it on a machine with a CUDA device; warpfold grid --list shows its cells anywhere\n"
    )


def test_without_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "gpu", lambda *_: None)
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    assert call(code=2).stderr == (
        "WF745: the answers of the grid are checked on the GPU by PyTorch, which was not found: "
        "import of torch halted; None in sys.modules\n"
        "  help: install a PyTorch with CUDA: python -m pip install torch\n"
    )


def test_with_a_pytorch_that_sees_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    blind = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))
    monkeypatch.setitem(__import__("sys").modules, "torch", blind)
    with pytest.raises(Exception, match=r"WF745: the answers .* by PyTorch, which sees no GPU"):
        reference.library()


def test_a_pattern_that_matches_nothing() -> None:
    result = call("--only", "shrot.*", "--list", code=2)
    assert result.stderr.startswith("WF753: no layout of the grid matches 'shrot.*': its kinds are short many odd ")
    assert result.stderr.endswith(
        "  help: write a kind and a pattern, such as --only 'short.*'; --list shows all names\n"
    )


def test_an_element_type_outside_the_grid() -> None:
    assert call("--dtypes", "f32,u8", "--list", code=2).stderr == (
        "WF754: the grid has no cells of type 'u8': expected some of f32 bf16 i8 f64 bool\n"
        "  help: write --dtypes f32,bf16\n"
    )


@pytest.mark.parametrize(
    ("option", "path", "code"), [("--out", "/none/grid.json", "WF505"), ("--plot", "x.gif", "WF830")]
)
def test_files_that_cannot_be_written_are_refused_before_anything_runs(option: str, path: str, code: str) -> None:
    assert call(option, path, code=2).stderr.startswith(f"{code}: ")


def test_the_list_needs_no_gpu() -> None:
    lines = call(*shlex.split("--list --only 'short.[12]' --dtypes f32,bool")).stdout.splitlines()
    assert lines == [
        "layout   op   type  shape       strides  axes  moves",
        "short.1  sum  f32   16777216x1  1,1      1     128 MiB",
        "short.2  sum  f32   11184810x2  2,1      1     128 MiB",
        "short.1  any  bool  67108864x1  1,1      1     128 MiB",
        "short.2  any  bool  44739242x2  2,1      1     128 MiB",
        "",
        "4 cells of 2 layouts",
    ]


# --- the picture ------------------------------------------------------------------------------------------------------
def test_the_picture_has_a_block_a_kind_a_row_a_type_and_a_column_a_layout() -> None:
    cells = [record("short.1"), record("short.2"), record("outer.9"), record("short.2", "i8"), record("short.3", "i8")]
    short, outer = heatmap.blocks([*cells, record("short.1", "i8"), small()])
    assert (short.title, short.names, list(short.rows)) == ("short", ["2", "3", "1"], ["f32", "i8"])
    assert [r and r["cell"] for r in short.rows["f32"]] == ["short.2", None, "short.1"]
    assert (outer.title, outer.names) == ("outer", ["9"])


def test_cells_that_fit_one_cta_are_in_order_of_size() -> None:
    cells = [small("tiny.64"), small("full.2^-14", shape=[32]), record(), small("tiny.2x3.rows", shape=[2, 3])]
    assert heatmap.tiny(cells).names == ["tiny.2x3.rows", "full.2^-14", "tiny.64"]


def test_a_title_says_the_worst() -> None:
    (block,) = heatmap.blocks([record("a.1", fraction=0.9), record("a.2", fraction=0.512), record("a.3", fraction=0.7)])
    assert heatmap._worst(block) == "51 %, 2 miss"
    assert heatmap._worst(heatmap.tiny([small(above=2.04), small("tiny.2", above=0.2)])) == "+2.04 us, 1 miss"
    few = heatmap.blocks([record("a.1"), record("a.2", bytes=2_000_000, fraction=0.1)])  # which is not gated
    assert heatmap._worst(few[0]) == "90 %"


def test_the_colour_turns_at_the_gate_and_wrong_is_black() -> None:
    from matplotlib import colormaps
    from matplotlib.colors import TwoSlopeNorm

    norm, colours = TwoSlopeNorm(0.85, 0.5, 1.0), colormaps["RdYlBu"]

    def colour(cell: Record | None) -> tuple[float, ...]:
        return tuple(heatmap._colour(cell, heatmap.LARGE, norm, colours))

    red, _, blue, _ = colour(record(fraction=0.6))
    assert red > 2 * blue
    red, _, blue, _ = colour(record(fraction=0.97))
    assert blue > 2 * red
    assert colour(record(fraction=0.1)) == colour(record(fraction=0.5))
    assert colour(record(right=False)) == colour(record(error="x")) == (0, 0, 0, 1)
    assert colour(None) == colour(small()) != (0, 0, 0, 1)
    assert colour(record(fraction=0.6, bytes=63_000_000)) == (*colour(record(fraction=0.6))[:3], heatmap.FAINT)


def test_equal_grids_give_equal_pictures(tmp_path: Path) -> None:
    made = report(record("short.1"), record("short.2", fraction=0.4), small(), record("odd.9", "i8"))
    paths = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for path in paths:
        heatmap.Picture(str(path)).write(made)
    text = paths[0].read_text()
    assert text == paths[1].read_text()
    assert issubclass(heatmap.Picture, ladder_plot.Picture)
    assert "<!-- Every layout against the ceiling, on NVIDIA H200 -->" in text


def test_cells_of_programs_have_room_of_their_own_in_the_picture() -> None:
    def below(*cells: Record) -> float:
        figure = heatmap.draw(report(*cells))
        return min(ax.get_position().y0 for ax in figure.axes) * figure.get_figheight()

    program = record("softmax.7", program=True)
    assert below(record(), program) == pytest.approx(below(record()))
    assert below(record(), program, small()) == pytest.approx(below(record(), small()))
    assert below(program, small()) > 0


def test_an_empty_grid_is_drawn(tmp_path: Path) -> None:
    heatmap.Picture(str(tmp_path / "a.png")).write(report())
