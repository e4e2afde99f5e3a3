"""Commands about this machine: tune, bench, grid and doctor."""

from __future__ import annotations

from typing import Any

import click

from .group import INTERRUPTED, WRONG
from .options import examples, of_arrays, request_of, seed_option


@click.command(
    short_help="Look for a plan that this GPU runs faster, and keep it.",
    epilog=examples(
        "warpfold tune sum --shape 32768x4096 --axis 1 --dtype bf16",
        "warpfold tune argmax --input data.npy --axis 0 --seconds 120 --json",
        "warpfold tune",
        "warpfold tune --forget",
    ),
)
@click.argument("op", metavar="[OP]", default="")
@of_arrays
@seed_option
@click.option(
    "--determinism", type=click.Choice(["run", "portable", "none"]), default="run", show_default=True,
    help="What the calls to be tuned say; none lets plans take part that give other bits.",
)  # fmt: skip
@click.option("--seconds", default=30.0, show_default=True, help="After so long no further plan is tried.")
@click.option("--forget", is_flag=True, help="Give up all that was found, in place of OP.")
@click.option("--json", is_flag=True, help="Print one JSON object.")
def tune(op: str, seed: int, determinism: str, seconds: float, forget: bool, json: bool, **what: Any) -> None:
    """Look for a plan of OP on arrays of one kind that this GPU runs faster than the planner's own, and keep it.

    Later calls on arrays of that kind use it, with the same answers, bit for bit. Without OP, list what was found.
    Ctrl-C ends the search and keeps what it found. Exits with 2 when the request is wrong or there is no GPU.
    """
    from ..commands import tune as command

    if forget or not op:
        command.kept(op, forget=forget, json=json)
        return
    request = request_of(op, **what, plan="", seed=seed)
    if not command.tune(request, determinism=determinism, seconds=seconds, json=json):
        click.get_current_context().exit(INTERRUPTED)


@click.command(
    short_help="Time warpfold and its peers side by side on a GPU.",
    epilog=examples(
        "warpfold bench --out results.json --plot roofline.svg",
        "warpfold bench --cases full,row --peers torch,compile",
        "warpfold bench --cases 'row.sum.f32.1Mx64,col.*' --peers cub",
        "warpfold bench --cases row.sum.f32.12345x678 --peers none",
    ),
)
@click.option(
    "--cases",
    default="",
    metavar="full,row,...",
    help="Groups (full row col mid), plain, names, patterns, or shapes of your own. All cases by default.",
)
@click.option(
    "--peers", default="", metavar="torch,...", help="Of torch compile cupy cub triton, or none; all by default."
)
@click.option("--out", metavar="FILE", help="Write what was measured, as JSON: whole or not at all, after every case.")
@click.option("--plot", metavar="FILE", help="Draw it: a .svg, .png or .pdf file.")
def bench(cases: str, peers: str, out: str | None, plot: str | None) -> None:
    """Time plain reductions by warpfold and its peers on a GPU, each answer checked against float64 first.

    Device time by events, the L2 cache flushed before each call, beside the ceilings that the same GPU reaches; see
    benchmarks/README.md. A peer that is missing or fails says so in its column. Interrupted, it keeps what it has.
    """
    from ..commands.bench import bench as command

    if not command.bench(cases, peers, out, plot):
        click.get_current_context().exit(INTERRUPTED)


@click.command(
    short_help="Measure hundreds of layouts against the ceiling; name the slow.",
    epilog=examples(
        "warpfold grid --out grid.json --plot heat.svg",
        "warpfold grid --only 'short.*' --dtypes f32,i8",
        "warpfold grid --against benchmarks/results/grid-h200.json",
        "warpfold grid --only 'reported.*' --list",
    ),
)
@click.option("--only", default="*", show_default=True, metavar="GLOB", help="Layouts whose names match.")
@click.option(
    "--dtypes", default="f32,bf16,i8,f64,bool", show_default=True, metavar="f32,i8", help="Their element types."
)
@click.option("--out", metavar="FILE", help="Write what was measured, as JSON: whole or not at all.")
@click.option("--plot", metavar="FILE", help="Draw it: a .svg, .png or .pdf file.")
@click.option("--against", metavar="FILE", help="An earlier --out: name every cell that became slower by 5 %.")
@click.option("--list", "listing", is_flag=True, help="Show the cells and measure none; needs no GPU.")
def grid(only: str, dtypes: str, out: str | None, plot: str | None, against: str | None, listing: bool) -> None:
    """Measure hundreds of layouts, each checked and set against the ceiling, and name those that are slow.

    A cell is slow that moves 64 MB or more at under 85 % of what a plain read takes, or that fits one CTA and takes
    more than 1.5 us beyond an empty launch. Exits with 1 when a cell is slow or wrong, or slower than --against.
    """
    from ..commands.bench.grid import run as command

    if listing:
        command.listed(only, dtypes, {"--out": out, "--plot": plot, "--against": against})
        return
    end = command.grid(only=only, dtypes=dtypes, out=out, plot=plot, against=against)
    click.get_current_context().exit({"passed": 0, "missed": WRONG, "interrupted": INTERRUPTED}[end])


@click.command(short_help="Say what this machine has and lacks, and what to do about it.")
def doctor() -> None:
    """Say what was found on this machine, and what to do about what was not."""
    from ..commands.doctor import doctor as command

    command()
