"""What the benchmark prints and draws."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench_fakes import entry, results, row

from warpfold.commands.bench import report
from warpfold.commands.bench.results import Entry, Results
from warpfold.commands.bench.roofline import Roofline, draw

GIB = 1 << 30


@pytest.fixture
def found() -> Results:
    none, missing = Entry(word="none", reason="no such function"), Entry(word="missing", reason="no nvcc")
    made = results(
        row("full.sum.f32.4096", 16388, entry(3.4), cub=missing, torch=entry(5.5), triton=entry(4.25)),
        row("full.sum.f32.2^28", GIB, entry(280, 0.03), cub=missing, torch=entry(1450), triton=entry(260)),
        row("row.norm.f32.8x8", 300_000_000, Entry(error=3.0, word="wrong", reason="off by 3"), cub=missing,
            torch=entry(9), triton=none, plain=False),
    )  # fmt: skip
    made.host = {"us of the host": {"wf.sum(t)": 5.126, "torch.sum(t)": 5.9}, "allocations": {"wf.sum(t)": 1.0}}
    made.warnings = ["somebody else computes"]
    return made


def test_the_report_has_every_number(found: Results, capsys: pytest.CaptureFixture[str]) -> None:
    report.show(found)
    text = capsys.readouterr().out
    first, *_ = [line for line in text.splitlines() if line.startswith("full.sum.f32.4096 ")]
    assert " ".join(first.split()) == "full.sum.f32.4096 0.0164 3.4 ±0.5% missing 5.5 4.2 triton 1.25 0.1 92.4"
    large, *_ = [line for line in text.splitlines() if line.startswith("full.sum.f32.2^28 ")]
    assert " ".join(large.split()) == "full.sum.f32.2^28 1,074 280.0 ±1.5% missing 1450 260.0 triton 0.93 95.9 95.9"
    wrong, *_ = [line for line in text.splitlines() if line.startswith("row.norm")]
    assert " ".join(wrong.split()) == "row.norm.f32.8x8 300 wrong missing 9.0 none torch"
    for part in (
        "Fake GPU, driver 580.1, CUDA 13.0", "read 4000 GB/s, copy 3900 GB/s, empty kernel 2.80 us",
        "1.077 times as fast as the best peer of each case, geometric mean of 2 plain cases; a plain read",
        "2 plain cases; a plain read of as many bytes 1.14",
        "slower than 0.98 of the best peer: full.sum.f32.2^28 0.929 (triton)",
        "from 256 MB on under 95% of the read ceiling: none", "us of the host: wf.sum(t) 5.13; torch.sum(t) 5.9",
        "allocations: wf.sum(t) 1\n", "warpfold wrong in row.norm.f32.8x8: off by 3",
        "warning: somebody else computes",
    ):  # fmt: skip
        assert part in text


def test_another_gpu_than_that_of_the_committed_numbers(
    found: Results, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for others, said in (["NVIDIA H200"], True), (["Fake GPU", "NVIDIA H200"], False), ([], False):
        monkeypatch.setattr(report.provenance, "committed", lambda others=others: others)
        report.show(found)
        assert ("committed numbers are of another GPU (NVIDIA H200)" in capsys.readouterr().out) == said


def test_nothing_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    report.show(results())
    assert "ceilings" in capsys.readouterr().out


def test_failures_with_the_same_reason_are_reported_once() -> None:
    bad = Entry(word="failed", reason="RuntimeError: no")
    rows = [row(f"full.a{i}", 1, entry(1), cub=bad) for i in range(3)]
    assert report._reasons(rows) == ["cub failed in full.a0 and 2 more: RuntimeError: no"]


def test_the_picture_holds_cases_ceilings_and_words(found: Results, tmp_path: Path) -> None:
    left, right = draw(found).axes
    words = [t.get_text() for t in left.texts]
    assert any("4,000 GB/s" in w for w in words)
    assert any("2.80 us" in w for w in words)
    assert [t.get_text() for t in right.get_yticklabels()] == ["full.sum.f32.2^28"]
    places = {tuple(map(float, line.get_xydata()[0])) for line in left.lines if len(line.get_xydata()) == 1}
    assert (float(GIB), GIB / 280 / 1e3) in places  # warpfold
    assert (float(GIB), GIB / 260 / 1e3) in places  # the best peer
    path = tmp_path / "roofline.svg"
    Roofline(str(path)).write(found)
    first = path.read_bytes()
    Roofline(str(path)).write(found)
    assert path.read_bytes() == first
    assert b"<svg" in first


def test_a_picture_without_peers_or_cases() -> None:
    assert draw(results(row("full.sum.f32.4096", 16388, entry(3.4)))).axes
    assert draw(results()).axes
