"""The speed of the emulator: a sum of f32 under the default plan and every rung of the ladder, plain and watched.

``python benchmarks/emulator.py [--json]`` prints a row a case: the processor's time for a call whose kernels are
compiled, the best of three, and how many times as long it takes under each instrument.
"""

from __future__ import annotations

import json as json_
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import click
import numpy as np

import warpfold as wf
from warpfold.compiler.plan.ladder import RUNGS
from warpfold.runtime.backends.emulator_backend import emulator
from warpfold.runtime.emulator import Tool
from warpfold.runtime.emulator.profiler import Profiler
from warpfold.runtime.emulator.sanitizer import Sanitizer

TOOLS: dict[str, Callable[[], Tool]] = {"profiler": Profiler, "sanitizer": Sanitizer}


@dataclass(frozen=True)
class Row:
    """One case: ``seconds`` for the plain call, ``nanoseconds`` an element, how many ``times`` that under a tool."""

    plan: str
    elements: int
    seconds: float
    nanoseconds: float
    times: dict[str, float]


def row(plan: str, elements: int) -> Row:
    """The row of one plan."""
    x = np.random.default_rng(0).standard_normal(elements, dtype=np.float32)
    plain = seconds(plan, x, lambda: None)
    times = {name: seconds(plan, x, made) / plain for name, made in TOOLS.items()}
    return Row(plan, elements, plain, plain / elements * 1e9, times)


def seconds(plan: str, x: np.ndarray, made: Callable[[], Tool | None]) -> float:
    """The best of three calls, the first of which compiles, each under a tool of its own."""
    backend = emulator()
    times = []
    for _ in range(3):
        backend.tool = made()
        start = time.process_time()
        wf.sum(x, plan=plan, determinism="none")
        times.append(time.process_time() - start)
    backend.tool = None
    return min(times)


@click.command()
@click.option("--json", is_flag=True, help="Machine-readable.")
def main(json: bool) -> None:
    """Print the emulator's times."""
    cases = [("default", 1 << 22), *((rung.name, 1 << 20) for rung in RUNGS)]
    if json:
        click.echo(json_.dumps([asdict(row(*case)) for case in cases], indent=2))
        return
    click.echo(f"{'plan':22} {'elements':>9} {'seconds':>8} {'ns/element':>10}" + "".join(f"{t:>10}" for t in TOOLS))
    for case in cases:
        one = row(*case)
        times = "".join(f"{t:9.2f}x" for t in one.times.values())
        click.echo(f"{one.plan:22} {one.elements:9} {one.seconds:8.2f} {one.nanoseconds:10.0f}{times}")


if __name__ == "__main__":
    main()
