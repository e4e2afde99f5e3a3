"""The file of the benchmark: round trip, refusals, and the numbers derived from its rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench_fakes import TOP, entry, results, row

from warpfold.commands.bench import results as files
from warpfold.commands.bench.results import Entry, load
from warpfold.commands.output_file import Output
from warpfold.compiler.errors import FileError

GIB = 1 << 30


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A file of one row."""
    path = tmp_path / "results.json"
    results(row("full.sum.f32.2^28", GIB, entry(250), torch=entry(260), cub=Entry(word="none"))).write(
        Output(str(path))
    )
    return path


def altered(path: Path, **changes: Any) -> Path:
    found = json.loads(path.read_text())
    path.write_text(json.dumps(found | changes))
    return path


def test_results_survive_a_round_trip(kept: Path) -> None:
    found = load(kept)
    again = kept.with_name("again.json")
    found.write(Output(str(again)))
    assert again.read_bytes() == kept.read_bytes()
    assert found.rows[0].ours == entry(250)
    assert found.rows[0].peers["cub"].word == "none"
    assert found.ceilings == TOP


def test_answers_that_are_not_numbers_are_written(tmp_path: Path) -> None:
    path = tmp_path / "nan.json"
    results(row("a.b", 1, Entry(error=float("nan"), word="wrong"))).write(Output(str(path)))
    assert load(path).rows[0].ours.word == "wrong"


def test_another_version(kept: Path) -> None:
    with pytest.raises(
        FileError, match=r"^WF743: .*results\.json holds results of warpfold bench, version 7: expected 1"
    ) as e:
        load(altered(kept, version=7))
    assert "warpfold bench --out" in e.value.remedy


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "Expecting"), ("[]", "does not say 'warpfold bench'"), ('{"format": "grid"}', "does not say"),
        ('{"format": "warpfold bench", "version": 1}', "KeyError 'ceilings'"),
    ],
)  # fmt: skip
def test_damaged_files(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(FileError, match=r"^WF744: .*holds no results of warpfold bench, or damaged ones: ") as caught:
        load(path)
    assert reason in str(caught.value)


def test_incomplete_rows_and_bytes_that_are_not_text(kept: Path) -> None:
    rows = json.loads(kept.read_text())["rows"]
    del rows[0]["ours"]["timing"]["low"]
    with pytest.raises(FileError, match=r"^WF744: .*low"):
        load(altered(kept, rows=rows))
    kept.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match=r"^WF744: .*no text"):
        load(kept)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"^WF501: "):
        load(tmp_path / "none.json")


# --- what follows from rows ----------------------------------------------------------------------------------------
def test_the_best_peer_is_the_best_of_the_case() -> None:
    found = row("full.a", GIB, entry(200), torch=entry(300), cub=entry(240), gone=Entry(word="missing"))
    assert (found.best, found.ratio) == (("cub", 240), 1.2)
    assert row("full.a", GIB, entry(200)).ratio is None
    assert row("full.a", GIB, Entry(word="wrong"), torch=entry(1)).ratio is None


def test_fractions_of_the_ceilings() -> None:
    of = row("full.a", GIB, entry(GIB / 3800 / 1e3)).of_ceiling(TOP)
    assert of == pytest.approx((0.95, 0.95))
    small = row("full.a", 4096, entry(5.8)).of_ceiling(TOP)
    assert small is not None
    assert small[1] == pytest.approx(0.5)
    assert small[0] < 0.001


def test_means_and_lists() -> None:
    fast = row("full.fast", GIB, entry(268.5), torch=entry(268.5 * 4))
    level = row("full.level", GIB, entry(400), torch=entry(400 * files.LEVEL), plain=False)
    slow = row("full.slow", files.LARGE - 1, entry(900), torch=entry(450))
    found = results(fast, level, slow, row("full.failed", GIB, Entry(word="failed"), torch=entry(1)))
    assert found.mean(plain=True) == (pytest.approx(2**0.5), 2)
    assert found.mean()[1] == 3
    assert found.behind == [slow]
    assert found.low == [level]
    assert results().mean() == (0.0, 0)
