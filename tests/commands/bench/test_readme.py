"""The README says what the committed results say, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from bench_fakes import entry, results, row

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "benchmarks"))
import readme_table  # noqa: E402


def test_the_readme_is_as_the_command_writes_it() -> None:
    """``python benchmarks/readme_table.py`` mends it; without committed results there must be no numbers."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    if readme_table.RESULTS.exists():
        found = readme_table.load(readme_table.RESULTS)
        assert text == readme_table.written(text, found)
        assert readme_table.PICTURE.exists()
        assert found.machine["gpu"] in readme_table.PICTURE.read_text(encoding="utf-8")
        assert text == readme_table.with_grid(text, readme_table.records.read(str(readme_table.GRID)))
        assert readme_table.HEAT.exists()
    else:
        between = text.partition(readme_table.BEGIN)[2].partition(readme_table.END)
        assert between[1] == readme_table.END
        assert not between[0].strip()
        assert not readme_table.PICTURE.exists()


def test_what_it_writes() -> None:
    made = results(
        row("full.sum.f32.4096", 16388, entry(3.5), torch=entry(7)),
        row("row.sum.f32.9x9", 360, entry(3.5), plain=False, torch=entry(3.0)),
    )
    made.warnings = ["a busy GPU"]
    text = readme_table.written(f"before\n{readme_table.BEGIN}\nformer\n{readme_table.END}\nafter\n", made)
    assert text.startswith("before\n")
    assert text.endswith(f"{readme_table.END}\nafter\n")
    assert "former" not in text
    assert "row.sum.f32.9x9 |" not in text  # the table is of the plain cases
    flat = " ".join(text.split())
    for part in (
        "One Fake GPU, driver 580.1, CUDA 13.0, 2026-01-02 03:04 UTC, commit 0123456789ab, Python 3.12",
        "Peers: torch 1.0", "read 4,000 GB/s", "The run warned: a busy GPU.", "warpfold is 2.00 times as fast",
        "(1.31 over all 2 that were measured)", "by more than 2%: row.sum.f32.9x9 (torch)",
        "| case | MB | warpfold | torch | times | of read | of its size |",
        "| full.sum.f32.4096 | 0.0164 | 3.5 | 7.0 | 2.00 | 0.1% | 89.8% |",
    ):  # fmt: skip
        assert part in flat
    assert max(len(line) for line in text.splitlines() if not line.startswith("|")) <= 120
    assert readme_table.written(text, made) == text


def test_the_commit_that_it_names() -> None:
    named = {"commit": "0123456789abcdef", "dirty": True}
    assert readme_table.source(named) == "commit 0123456789ab with changes"
    assert readme_table.source(named | {"commit": ""}) == "no commit named"


def test_a_readme_without_marks() -> None:
    with pytest.raises(SystemExit, match="lacks the marks"):
        readme_table.written("nothing", results())
