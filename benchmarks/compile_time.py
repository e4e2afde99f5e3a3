"""How long a cold compile takes: CPU time from what is planned to PTX, bindings imported.

``python benchmarks/compile_time.py [--limit 60]`` compiles every case of the catalogue and every plain case of
``warpfold bench``; ``--programs [--limit 120]`` compiles the kernels of the library's programs and their gradients. A
line a kernel, the slowest last; exit 1 when one is over the limit, in milliseconds. Work beside it on the same cores
adds to the times: compare versions in turns.
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
NEAR = 0.6
"""Kernels whose first compilation takes less than this part of the limit are not compiled again."""


def milliseconds(ready: Any, limit: float) -> float:
    """The best of some compilations of what is planned, none of them from a cache."""
    from warpfold.compiler.driver.compile import compile_program
    from warpfold.passes import steps

    lowering = steps(ready.target, ready.choice.plan)
    times: list[float] = []
    while len(times) < RUNS and (not times or times[0] > NEAR * limit):
        start = time.process_time()
        compile_program(ready.program, ready.choice.facts, ready.choice.plan, ready.target, lowering)
        times.append((time.process_time() - start) * 1e3)
    return min(times)


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
@click.option("--limit", default=60.0, show_default=True, help="Milliseconds no kernel may take longer than.")
@click.option("--programs", is_flag=True, help="The kernels of programs and of their gradients.")
@click.option("--only", type=click.Path(exists=True, dir_okay=False), help="A file of names, one a line.")
def main(limit: float, programs: bool, only: str | None) -> None:
    """Print the cold compile time of many kernels."""
    from program_kernels import kernels

    names = Path(only).read_text(encoding="utf-8").splitlines() if only else None
    listed = [(name, ready) for name, ready in (kernels() if programs else cases()) if names is None or name in names]
    milliseconds(listed[0][1], limit)  # what the first compilation of a process makes once
    found = sorted((milliseconds(ready, limit), name) for name, ready in listed)
    for spent, name in found:
        click.echo(f"{spent:7.1f} ms  {name}")
    over = sum(spent > limit for spent, _ in found)
    click.echo(
        f"{len(found)} kernels, median {found[len(found) // 2][0]:.1f} ms, slowest {found[-1][0]:.1f} ms, "
        f"{over} over {limit:g} ms"
    )
    sys.exit(over > 0)


if __name__ == "__main__":
    main()
