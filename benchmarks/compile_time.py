"""How long a cold compile takes: from a planned program to PTX, bindings imported.

Of every case of the catalogue and every plain case of ``warpfold bench``. ``python benchmarks/compile_time.py [--limit
60]`` prints a line a case, the slowest last; exit 1 when one is over the limit, in milliseconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

RUNS = 5


def milliseconds(ready: Any) -> float:
    """The best of some compilations of what is planned, none of them from a cache."""
    from warpfold.compiler.driver.compile import compile_program
    from warpfold.passes import steps

    lowering = steps(ready.target)
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        compile_program(ready.program, ready.choice.facts, ready.choice.plan, ready.target, lowering)
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def cases() -> Iterator[tuple[str, Any]]:
    """Names, and what is planned under them."""
    from catalogue import CATALOGUE

    from warpfold.commands.bench.cases import PLAIN
    from warpfold.runtime.api import plan_for

    for case in CATALOGUE:
        yield case.name, plan_for(case.what, case.shape, case.dtype, axis=case.axis, plan=case.plan)
    for name, plain in PLAIN.items():
        yield name, plan_for(plain.what, plain.shape, plain.dtype, axis=plain.axis)


@click.command()
@click.option("--limit", default=60.0, show_default=True, help="Milliseconds no case may take longer than.")
def main(limit: float) -> None:
    """Print the cold compile time of every kernel of the catalogue and of the benchmark's plain cases."""
    found = sorted((milliseconds(ready), name) for name, ready in cases())
    for spent, name in found:
        click.echo(f"{spent:7.1f} ms  {name}")
    click.echo(f"{len(found)} kernels, median {found[len(found) // 2][0]:.1f} ms, slowest {found[-1][0]:.1f} ms")
    sys.exit(found[-1][0] > limit)


if __name__ == "__main__":
    main()
