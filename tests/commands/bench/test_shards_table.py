"""docs/distributed.md has the committed times of several GPUs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

import shards_table


def test_the_page_has_the_committed_times() -> None:
    assert shards_table.PAGE.read_text(encoding="utf-8") == shards_table.page(), "run python benchmarks/shards_table.py"


def test_the_committed_tree_was_measured() -> None:
    machine = json.loads(shards_table.RESULTS.read_text(encoding="utf-8"))["machine"]
    assert machine["commit"]
    assert not machine["dirty"]
