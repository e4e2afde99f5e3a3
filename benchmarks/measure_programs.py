"""Measures all that is told of programs, on a GPU, and writes it into a folder.

    python benchmarks/measure_programs.py --out build/programs
    python benchmarks/measure_programs.py --out build/programs --parts bench --only 'softmax*' --seconds 500

The parts are

- ``bench``: ``warpfold bench --cases fused``, with the host's costs: ``programs.json``, ``programs.svg`` where
  matplotlib is installed, and ``programs.txt``, which is also printed;
- ``accuracy``: ``accuracy_programs.py``: ``accuracy.json`` and ``accuracy.txt``;
- ``grid``: the cells of programs of ``warpfold grid``: ``grid.json`` and ``grid.txt``.

A part that fails does not stop the others. Exits with 1 if one failed, or if a cell of the grid is slow.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import click

from warpfold.commands.bench.grid.program_shapes import DTYPES, KINDS

HERE = Path(__file__).parent
PARTS = ("bench", "accuracy", "grid")


def commands(out: Path, parts: Sequence[str], only: str, peers: str, seconds: str) -> dict[str, list[str]]:
    """The arguments of Python for each part, by the stem of its files."""
    cli = ["-m", "warpfold.cli"]
    bench = [*cli, "bench", "--cases", "fused", "--only", only, "--peers", peers, "--seconds", seconds]
    bench += ["--out", str(out / "programs.json")]
    bench += ["--plot", str(out / "programs.svg")] if find_spec("matplotlib") else []
    kinds = ",".join(f"{kind.__name__}.*" for kind in KINDS)
    grid = [*cli, "grid", "--only", kinds, "--dtypes", ",".join(DTYPES), "--out", str(out / "grid.json")]
    made = {
        "bench": ("programs", bench),
        "accuracy": ("accuracy", [str(HERE / "accuracy_programs.py"), "--out", str(out / "accuracy.json")]),
        "grid": ("grid", grid),
    }
    return dict(made[part] for part in parts)


def run(out: Path, stem: str, arguments: Sequence[str]) -> int:
    """Runs a part; prints its output, and keeps it in a file."""
    print(f"\n== {stem}\n", flush=True)
    with (
        (out / f"{stem}.txt").open("w", encoding="utf-8") as file,
        subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True) as process,
    ):
        for line in process.stdout or ():
            print(line, end="", flush=True)
            file.write(line)
    return process.returncode


@click.command()
@click.option("--out", required=True, metavar="FOLDER", help="The folder of the results; made if it is missing.")
@click.option("--parts", default=",".join(PARTS), show_default=True, help="Some of the parts.")
@click.option("--only", default="*", metavar="GLOB", help="Only cases of the benchmark with a name that matches.")
@click.option("--peers", default="", help="Peers of the benchmark; all by default.")
@click.option("--seconds", default="3600", show_default=True, help="Time after which no further case begins.")
def main(out: str, parts: str, only: str, peers: str, seconds: str) -> None:
    """Measure programs: times against peers, errors against float64, and every layout."""
    wanted = [part.strip() for part in parts.split(",")]
    for part in wanted:
        if part not in PARTS:
            raise click.UsageError(f"there is no part {part!r}: expected some of {' '.join(PARTS)}")
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    ends = [run(folder, stem, command) for stem, command in commands(folder, wanted, only, peers, seconds).items()]
    sys.exit(any(ends))


if __name__ == "__main__":
    main()
