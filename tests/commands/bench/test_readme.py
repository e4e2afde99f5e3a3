"""README and the performance page say what the committed results say, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from bench_fakes import entry, results, row

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "benchmarks"))
import readme_table  # noqa: E402

MADE = results(
    row("full.sum.f32.4096", 16388, entry(3.5), torch=entry(7)),
    row("row.sum.f32.9x9", 360, entry(3.5), plain=False, torch=entry(3.0)),
)
MADE.warnings = ["a busy GPU"]


def test_the_pages_are_as_the_command_writes_them() -> None:
    """``python benchmarks/readme_table.py`` updates them."""
    found, report = readme_table.load(readme_table.RESULTS), readme_table.records.read(str(readme_table.GRID))
    for page, text in readme_table.pages(found, report).items():
        assert page.read_text(encoding="utf-8") == text
    assert found.machine["gpu"] in readme_table.PICTURE.read_text(encoding="utf-8")
    assert readme_table.HEAT.exists()


def test_the_speedups_of_the_readme() -> None:
    """The mean over a peer covers the plain cases that the peer runs."""
    text = readme_table.speedups(MADE)
    assert "| PyTorch, eager | 1 | 2.00 | 2.00 |" in text
    assert "| the fastest of these in each case | 1 | 2.00 | 2.00 |" in text
    assert "one Fake GPU, 2026-01-02, commit 0123456789ab" in " ".join(text.split())


def test_the_cases_of_the_performance_page() -> None:
    text = readme_table.cases(MADE)
    assert "row.sum.f32.9x9 |" not in text  # the table is of the plain cases
    flat = " ".join(text.split())
    for part in (
        "One Fake GPU, driver 580.1, CUDA 13.0, 2026-01-02 03:04 UTC, commit 0123456789ab, Python 3.12",
        "Peers: torch 1.0", "read 4,000 GB/s", "The run warned: a busy GPU.", "warpfold is 2.00 times as fast",
        "(1.31 over all 2 measured cases)", "by more than 2%: row.sum.f32.9x9 (torch)",
        "| case | MB | warpfold, us | torch, us | speedup over the fastest peer |",
        "| full.sum.f32.4096 | 0.0164 | 3.5 | 7.0 | 2.00 | 0.1 | 89.8 |",
    ):  # fmt: skip
        assert part in flat
    assert max(len(line) for line in text.splitlines() if not line.startswith("|")) <= 120


def test_a_block_takes_the_place_of_the_former() -> None:
    page = "before\n<!-- cases: written by benchmarks/readme_table.py -->\nformer\n<!-- end of cases -->\nafter\n"
    text = readme_table.written(page, cases="now")
    assert text.startswith("before\n")
    assert text.endswith("now\n\n<!-- end of cases -->\nafter\n")
    assert "former" not in text
    assert readme_table.written(text, cases="now") == text


def test_the_commit_that_it_names() -> None:
    named = {"commit": "0123456789abcdef", "dirty": True}
    assert readme_table.source(named) == "commit 0123456789ab with changes"
    assert readme_table.source(named | {"commit": ""}) == "no commit named"


def test_a_page_without_marks() -> None:
    with pytest.raises(SystemExit, match="lacks the marks"):
        readme_table.written("nothing", cases="")
