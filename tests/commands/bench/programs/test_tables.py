"""``python benchmarks/program_tables.py``: the Markdown tables of files that were measured."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path

from bench_fakes import entry, results, row
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[4] / "benchmarks"))

import accuracy_programs as accuracy
import program_tables as tables

from warpfold.commands.bench.results import Row
from warpfold.commands.output_file import Output


def program(name: str, us: float) -> Row:
    made = replace(row(name, 536870912, entry(us), plain=False, torch=entry(420)), group="fused")
    return replace(made, copy=entry(131).timing)


def test_tables_of_times_and_of_errors(tmp_path: Path) -> None:
    bench, kept = tmp_path / "programs.json", tmp_path / "accuracy.json"
    results(program("softmax.bf16.32768x4096", 140), program("softmax.bf16.32768x4097", 150)).write(Output(str(bench)))
    ours, theirs = accuracy.Errors(1.5, 0.25, 0.5), accuracy.Errors(word="failed")
    kept.write_text(json.dumps({"rows": [asdict(accuracy.Row("softmax.f32.4x5", "wide", ours, theirs))]}))
    done = CliRunner().invoke(tables.main, [str(bench), str(kept)], catch_exceptions=False)
    text = done.stdout
    assert "| softmax.bf16.32768x4096 | 537 | 131.0 | 140.0 | 420.0 | 3.00 | 93.6 |" in text
    assert "| softmax.bf16.32768x4097 |" not in text  # the table is of the standard cases
    assert "- 2.898 times as fast as the best peer of each case, geometric mean of 2 programs in all" in text
    assert "One Fake GPU, driver 580.1" in text
    assert "| softmax.f32.4x5 | wide | 1.5 | - | 0.25 | - |" in text


def test_a_file_that_is_none() -> None:
    done = CliRunner().invoke(tables.main, ["/nowhere/r.json"])
    assert done.exit_code == 1
    assert "WF501" in done.output
