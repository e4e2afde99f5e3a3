"""The numbers and pictures of docs/ladder.md.

``python tests/ladder_page.py measure COMMIT`` times every rung on a GPU and prints what belongs into
``tests/data/ladder.json``. ``python tests/ladder_page.py`` profiles every rung on the emulator, adds that to the file,
and writes the tables of the page and its pictures; ``tests/test_ladder.py`` compares them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from warpfold.compiler.ladder import RUNGS

ROOT = Path(__file__).parent.parent
DATA = ROOT / "tests" / "data" / "ladder.json"
PAGE = ROOT / "docs" / "ladder.md"
SIZES = (1 << 22, 1 << 28)


def measure(commit: str) -> dict[str, Any]:
    """Microseconds of every rung for both sizes, and on what."""
    from warpfold.commands.climb import Ground
    from warpfold.commands.request import Request

    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0"]
    name, driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().split(", ")
    times: dict[str, dict[str, float]] = {}
    for size in SIZES:
        ground = Ground(Request("sum", shape=str(size), dtype="f32"), "cuda")
        times[str(size)] = found = {}
        for rung in RUNGS:
            step = ground.climb(rung)
            assert step.passed, f"{rung.name} is wrong"
            assert step.microseconds is not None
            found[rung.name] = round(step.microseconds, 2)
            print(size, rung.name, found[rung.name], file=sys.stderr)
    return {"gpu": name, "driver": driver, "commit": commit, "op": "sum", "dtype": "f32", "microseconds": times}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[2]), indent=1))
