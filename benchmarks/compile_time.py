"""How long a cold compile takes: from a planned program to PTX, bindings imported, for every case of the catalogue.

``python benchmarks/compile_time.py [--limit 80]`` prints a line a case, the slowest last; exit 1 when one is over the
limit, in milliseconds.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))


def milliseconds(case: object) -> float:
    """The best of three compilations of a case, none of them from a cache."""
    from warpfold.compiler.driver import compile_program
    from warpfold.passes import steps
    from warpfold.runtime import api

    ready = api.plan_for(case.what, case.shape, case.dtype, axis=case.axis, plan=case.plan)  # type: ignore[attr-defined]
    lowering = steps(ready.target)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        compile_program(ready.program, ready.choice.facts, ready.choice.plan, ready.target, lowering)
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


@click.command()
@click.option("--limit", default=80.0, show_default=True, help="Milliseconds no case may take longer than.")
def main(limit: float) -> None:
    """Print the cold compile time of every kernel of the catalogue."""
    from catalogue import CATALOGUE

    found = sorted((milliseconds(case), case.name) for case in CATALOGUE)
    for spent, name in found:
        click.echo(f"{spent:7.1f} ms  {name}")
    click.echo(f"{len(found)} kernels, median {found[len(found) // 2][0]:.1f} ms, slowest {found[-1][0]:.1f} ms")
    sys.exit(found[-1][0] > limit)


if __name__ == "__main__":
    main()
