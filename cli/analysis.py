"""Commands that look on while a reduction runs: ladder, spread, profile and sanitize."""

from __future__ import annotations

from typing import Any

import click

from .group import WRONG
from .options import examples, of_watched, of_what, request_of, seed_option, work_of


@click.command(
    short_help="Run OP under the named plans, from one thread on, side by side.",
    epilog=examples(
        "warpfold ladder",
        "warpfold ladder --op max --dtype i32 --size 1000000",
        "warpfold ladder --rung simple --rung fix-divergence --size 2048 --device emulator",
        "warpfold ladder --plot ladder.svg",
    ),
)
@click.option("--op", default="sum", show_default=True, metavar="OP", help="The reduction, as run takes it.")
@click.option("--size", type=click.IntRange(min=1), default=1 << 22, show_default=True, help="How many elements.")
@click.option("--dtype", default="f32", show_default=True, metavar="f32", help="Their type; f32,i64 for two inputs.")
@click.option("--rung", "names", multiple=True, metavar="NAME", help="A rung to climb; repeat it for several.")
@click.option(
    "--device", type=click.Choice(["auto", "cuda", "emulator"]), default="auto", show_default=True,
    help="Where to take the time; the emulator has none.",
)  # fmt: skip
@click.option("--plot", metavar="FILE", help="Draw it, too: a .svg, .png or .pdf file.")
@click.option("--json", is_flag=True, help="Print one JSON object.")
def ladder(op: str, size: int, dtype: str, names: tuple[str, ...], device: str, plot: str | None,
           json: bool) -> None:  # fmt: skip
    """Run OP under the named plans, from one thread to warpfold's own, and show what makes each faster.

    Times are a GPU's; what the profiler counts is counted on the emulator, of at most 4194304 elements beside a GPU.
    Counts give reasons, and no order: one thread alone takes few instructions an element, and is the slowest.
    Every result is checked against NumPy: exits with 1 when one is wrong, with 2 when the request is.
    """
    from ..commands.ladder import ladder as command

    if not command(op, dtype=dtype, size=size, device=device, names=names, plot=plot, json=json):
        click.get_current_context().exit(WRONG)


@click.command(
    short_help="Say how far answers lie apart: under schedules, and orders.",
    epilog=examples(
        "warpfold spread sum --shape 65536",
        "warpfold spread sum --shape 65536 --plan finish=atomic,cluster=1 --determinism none",
        "warpfold spread argmax --shape 64x1000 --axis 1 --seeds 8 --json",
    ),
)
@of_what
@seed_option
@click.option("--seeds", default=32, type=click.IntRange(min=1), show_default=True, help="Schedules to try.")
@click.option(
    "--determinism", type=click.Choice(["run", "portable", "none"]), default="run", show_default=True,
    help="What the bits of a result may depend on; none lets a float sum end in atomics.",
)  # fmt: skip
@click.option("--json", is_flag=True, help="Print one JSON object.")
def spread(seed: int, seeds: int, determinism: Any, json: bool, **what: Any) -> None:
    """Run OP under many schedules and orders of combines, on the emulator, and say how far its answers lie apart.

    Schedules are those of the plan asked for. Orders are the plans one step away from it: one field at another value,
    or a rung of the ladder; fields that --plan names stay. Least and greatest are of one element, that whose answers
    lie farthest apart. Exits with 1 when the schedule alone changes an answer whose plan promises that it does not,
    with 2 when the request is wrong.
    """
    from ..commands.spread import spread as command

    if not command(request_of(**what, seed=seed), seeds=seeds, determinism=determinism, json=json):
        click.get_current_context().exit(WRONG)


@click.command(
    short_help="Count what OP or FILE.ptx does, as Nsight Compute counts it.",
    epilog=examples(
        "warpfold profile sum --shape 4096x1024 --axis 1",
        "warpfold profile sum --shape 1048576 --plan simple --lines",
        "warpfold profile yours.ptx --launch 'yours<<<132, 256>>>(f32[1048576], out:f32[1]=0, 1048576)' --names",
    ),
)
@of_watched
@click.option("--names", is_flag=True, help="Show Nsight Compute's name of each counter.")
@click.option("--lines", is_flag=True, help="Show the lines of the PTX that cost most.")
@click.option("--json", is_flag=True, help="Print one JSON object, with all lines.")
def profile(names: bool, lines: bool, json: bool, **work: Any) -> None:
    """Count what OP or FILE.ptx does on the emulator: instructions, branches, memory traffic, bank conflicts.

    The counters are defined as Nsight Compute defines them, and stand beside what they would be at best.
    """
    from ..commands.profile import profile as command

    command(work_of(**work), names=names, lines=lines, json=json)


@click.command(
    short_help="Look for races, bad addresses and deadlocks in OP or FILE.ptx.",
    epilog=examples(
        "warpfold sanitize sum --shape 4096x1024 --axis 1",
        "warpfold sanitize argmax --shape 65536 --plan single-pass-merged",
        "warpfold sanitize yours.ptx --launch 'yours<<<132, 256>>>(f32[1048576], out:f32[1]=uninit, 1048576)' --json",
    ),
)
@of_watched
@click.option("--json", is_flag=True, help="Print one JSON object.")
def sanitize(json: bool, **work: Any) -> None:
    """Look for what OP or FILE.ptx does wrong, on the emulator: bad addresses, races, barriers, masks, deadlocks.

    Order is judged by the PTX memory model, not by luck: a race is found on whatever schedule runs. Exits with 1 when
    there are findings, with 2 when the request is wrong.
    """
    from ..commands.sanitize import sanitize as command

    if not command(work_of(**work), json=json):
        click.get_current_context().exit(WRONG)
