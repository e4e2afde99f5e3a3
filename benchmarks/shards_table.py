"""Writes the times of docs/distributed.md from the committed results of ``measure_shards.py``.

Run ``python benchmarks/shards_table.py``; a test fails while the page says anything else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from readme_table import filled, markdown, source, written

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "distributed.md"
RESULTS = ROOT / "benchmarks" / "results" / "shards-h100x2.json"
BY = "shards_table.py"


def blocks(data: Mapping[str, Any]) -> dict[str, str]:
    """The parts of the page that have numbers."""
    facts = data["machine"]
    machine = (
        f"{facts['gpus']} GPUs of one host, {facts['gpu']}, driver {facts['driver']}, PyTorch {facts['torch']}, NCCL "
        f"{facts['nccl']}, {facts['date'][:10]}, {source(facts)}."
    )
    return {"machine": filled(machine), "reductions": reductions(data), "programs": programs(data)}


def reductions(data: Mapping[str, Any]) -> str:
    """Reductions beside one GPU, and beside the kernel of a shard."""
    lines = [
        [name, *(f"{t[k]:.0f}" for k in ("one", "ranks")), f"{t['one'] / t['ranks']:.2f}", f"{t['shard']:.0f}"]
        for name, t in data["reductions"].items()
        if "one" in t
    ]
    return markdown(["", "one GPU", "two", "times", "a shard alone"], lines)


def programs(data: Mapping[str, Any]) -> str:
    """Programs beside one shard alone, and beside the peer where there is one."""
    lines = []
    for name, times in data["programs"].items():
        own = times.values()
        cells = [", ".join(f"{t[k]:.0f}" for t in own if k in t) for k in ("shard", "ranks", "peer")]
        ratios = ", ".join(f"{t['ranks'] / t['shard']:.2f}" for t in own)
        lines.append([name, cells[0], cells[1], ratios, cells[2]])
    return markdown(["", "one shard", "two ranks", "times", "PyTorch"], lines)


def page() -> str:
    """The page with the numbers of the committed results."""
    data = json.loads(RESULTS.read_text(encoding="utf-8"))
    return written(PAGE.read_text(encoding="utf-8"), BY, **blocks(data))


@click.command
def main() -> None:
    """Write the numbers of docs/distributed.md."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
