"""How fast the emulator is: a sum of f32 under the default plan, and under every rung of the ladder.

``python benchmarks/emulator.py [--json]`` prints a row a case: processor time of a whole call whose kernels are compiled,
the better of two.
"""

from __future__ import annotations

import json as json_
import time
from dataclasses import asdict, dataclass

import click
import numpy as np

import warpfold as wf
from warpfold.compiler.ladder import RUNGS


@dataclass(frozen=True)
class Row:
    """One case: ``seconds`` for the whole call, ``nanoseconds`` for each of its ``elements``."""

    plan: str
    elements: int
    seconds: float
    nanoseconds: float


def measured(plan: str, elements: int) -> Row:
    """The row of one plan."""
    x = np.random.default_rng(0).standard_normal(elements, dtype=np.float32)
    times = []
    for _ in range(2):
        start = time.process_time()
        wf.sum(x, plan=plan, determinism="none")
        times.append(time.process_time() - start)
    return Row(plan, elements, min(times), min(times) / elements * 1e9)


@click.command()
@click.option("--json", is_flag=True, help="Machine-readable.")
def main(json: bool) -> None:
    """Print the emulator's times."""
    cases = [("default", 1 << 22), *((rung.name, 1 << 20) for rung in RUNGS)]
    if json:
        click.echo(json_.dumps([asdict(measured(*case)) for case in cases], indent=2))
        return
    click.echo(f"{'plan':22} {'elements':>9} {'seconds':>8} {'ns/element':>10}")
    for case in cases:
        row = measured(*case)
        click.echo(f"{row.plan:22} {row.elements:9} {row.seconds:8.2f} {row.nanoseconds:10.0f}")


if __name__ == "__main__":
    main()
