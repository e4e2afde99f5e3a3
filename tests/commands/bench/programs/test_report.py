"""What the benchmark prints, keeps and draws of program cases."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bench_fakes import entry, results, row

from warpfold.commands.bench import report
from warpfold.commands.bench.programs.picture import draw
from warpfold.commands.bench.results import Entry, Results, Row, load
from warpfold.commands.bench.roofline import Roofline
from warpfold.commands.output_file import Output


def program(name: str, nbytes: int, ours: Entry, copy: float, **peers: Entry) -> Row:
    made = replace(row(name, nbytes, ours, plain=False, **peers), group="fused", plan={}, reasons=())
    return replace(made, copy=entry(copy).timing)


@pytest.fixture
def found() -> Results:
    none = Entry(word="none", reason="takes the last axis only")
    return results(
        program("softmax.bf16.32768x4096", 536870912, entry(140), 131, torch=entry(420), quack=entry(133)),
        program("softmax0.f32.8192x8192", 536870912, entry(150), 130, torch=entry(1500), quack=none),
        program("softmax.f32.64x1024", 524288, entry(3.9), 4.0, torch=entry(5.85), quack=entry(4.2)),
        program("layernorm.bf16.50x5000", 1000, Entry(word="missing", reason="warpfold has no layer_norm"), 2.0,
                torch=entry(4), quack=entry(5)),
    )  # fmt: skip


def lines(text: str) -> dict[str, str]:
    return {line.split()[0]: " ".join(line.split()) for line in text.splitlines() if line}


def test_all_is_said(found: Results, capsys: pytest.CaptureFixture[str]) -> None:
    report.show(found)
    text = capsys.readouterr().out
    said = lines(text)
    assert said["case"] == "case MB copy warpfold us torch quack best peer times % of copy"
    assert said["softmax.bf16.32768x4096"] == (
        "softmax.bf16.32768x4096 537 131.0 140.0 ±0.5% 420.0 133.0 quack 0.95 93.6"
    )
    assert said["softmax0.f32.8192x8192"] == "softmax0.f32.8192x8192 537 130.0 150.0 ±0.5% 1500 none torch 10.00 86.7"
    assert said["layernorm.bf16.50x5000"] == "layernorm.bf16.50x5000 0.001 2.0 missing 4.0 5.0 torch"
    for part in (
        "3.082 times as fast as the best peer of each case, geometric mean of 2 standard cases; a copy of as many "
        "bytes 3.423; 90.1% of the speed of a copy, mean of 2",
        "geometric mean of 2 cases of contiguous rows;", "geometric mean of 3 programs in all;",
        "slower than 0.98 of the best peer: softmax.bf16.32768x4096 0.950 (quack)",
        "large cases under their goal of a copy: softmax.bf16.32768x4096 93.6% (goal 95%), "
        "softmax0.f32.8192x8192 86.7% (goal 88%)",
        "small cases, us beyond an empty launch: softmax.f32.64x1024 +1.10",
    ):  # fmt: skip
        assert part in text
    assert "plain cases" not in text
    assert "read ceiling" not in text


def test_equal_lists_are_said_once(found: Results, capsys: pytest.CaptureFixture[str]) -> None:
    found.rows = found.rows[:1]
    report.show(found)
    text = capsys.readouterr().out
    assert text.count("geometric mean") == 1
    assert "geometric mean of 1 programs in all" in text
    assert "small cases" not in text


def test_reductions_and_programs_of_one_run_have_tables_of_their_own(
    found: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    found.rows.insert(1, row("row.sum.f32.9x9", 360, entry(3.5), torch=entry(7)))
    report.show(found)
    text = capsys.readouterr().out
    assert "2.000 times as fast as the best peer of each case, geometric mean of 1 plain cases" in text
    assert "geometric mean of 3 programs in all" in text
    assert text.count("slower than 0.98 of the best peer") == 2
    assert text.index("row.sum.f32.9x9") < text.index("softmax.bf16")
    assert found.mean() == (2.0, 1)


def test_the_file_keeps_copies(found: Results, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    found.write(Output(str(path)))
    again = load(path)
    assert [r.copy for r in again.rows] == [r.copy for r in found.rows]
    assert again.programs[0].of_copy == found.programs[0].of_copy


def test_the_picture_of_programs(found: Results, tmp_path: Path) -> None:
    (ax,) = draw(found).axes
    assert [t.get_text() for t in ax.get_yticklabels()] == [r.name for r in found.rows]
    points = [line.get_xydata()[0] for line in ax.lines if len(line.get_xydata()) == 1]
    places = {(round(float(x), 1), int(y)) for x, y in points}
    assert {(93.6, 0), (98.5, 0), (86.7, 1), (8.7, 1), (50.0, 3)} <= places  # warpfold and the best peer; a peer alone
    path = tmp_path / "programs.svg"
    Roofline(str(path)).write(found)
    assert b"<svg" in path.read_bytes()
    assert draw(results()).axes
