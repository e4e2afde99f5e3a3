"""docs/peers.md says what was measured, and what the project claims of its speed holds in those runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[4] / "benchmarks"))

import peers_page as peers

from warpfold.commands.bench.programs.cases import BACKWARD_GOAL
from warpfold.commands.bench.results import load, mean


def test_the_page_is_that_of_the_committed_times() -> None:
    assert peers.PAGE.read_text(encoding="utf-8") == peers.page(), "run python benchmarks/peers_page.py"


def test_the_readme_has_the_means() -> None:
    readme = peers.README.read_text(encoding="utf-8")
    assert peers.written(readme, "peers_page.py", programs=peers.speedups()) == readme, "run benchmarks/peers_page.py"


@pytest.mark.parametrize("part", peers.PARTS, ids=lambda part: part.title)
def test_every_answer_was_right(part: peers.Part) -> None:
    results = load(part.path)
    assert results.programs
    assert not [row.name for row in results.programs if row.ours.word]
    assert not results.machine["dirty"]


def test_gradients_are_ahead_of_their_peers() -> None:
    results = load(next(part.path for part in peers.PARTS if part.cases == "backward"))
    assert not results.behind
    assert mean([row.ratio for row in results.programs])[0] >= BACKWARD_GOAL
