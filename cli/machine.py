"""Commands about this machine: tune, bench, grid and doctor."""

from __future__ import annotations

from typing import Any

import click

from .group import INTERRUPTED, WRONG
from .options import determinism_option, examples, of_arrays, plan_option, request_of, seed_option


@click.command(
    short_help="Search for a plan that this GPU runs faster, and keep it.",
    epilog=examples(
        "warpfold tune sum --shape 32768x4096 --axis 1 --dtype bf16",
        "warpfold tune argmax --input data.npy --axis 0 --seconds 120 --json",
        "warpfold tune softmax --shape 4096x8192 --dtype bf16",
        "warpfold tune",
        "warpfold tune --forget",
    ),
)
@click.argument("op", metavar="[OP]", default="")
@of_arrays
@seed_option
@click.option(
    "--determinism", type=click.Choice(["run", "portable", "none"]), default="run", show_default=True,
    help="The determinism= of the calls to tune; none admits plans whose results have other bits.",
)  # fmt: skip
@click.option("--seconds", default=30.0, show_default=True, help="Time after which no further plan is tried.")
@click.option("--forget", is_flag=True, help="Delete all plans that were found; takes no OP.")
@click.option("--json", is_flag=True, help="Print one JSON object.")
def tune(op: str, seed: int, determinism: Any, seconds: float, forget: bool, json: bool, **what: Any) -> None:
    """Search for a plan of OP that this GPU runs faster than the planner's own, and keep it.

    Later calls on arrays of the same shape, type and alignment use it, with the same results, bit for bit. Without OP,
    lists the plans that were found. Of a program, searches for a plan of each step, and shows it as --plan; its bits
    may differ, and it is not kept. Ctrl-C ends the search with the best plan so far. Exits with 2 when the request is
    wrong or there is no GPU.
    """
    from ..commands import tune as command

    if forget or not op:
        command.kept(op, forget=forget, json=json)
        return
    request = request_of(op, **what, determinism=determinism, seed=seed)
    if not command.tune(request, seconds=seconds, json=json):
        click.get_current_context().exit(INTERRUPTED)


@click.command(
    short_help="Time warpfold and its peers side by side on a GPU.",
    epilog=examples(
        "warpfold bench --out results.json --plot roofline.svg",
        "warpfold bench --cases full,row --peers torch,compile",
        "warpfold bench --cases 'row.sum.f32.1Mx64,col.*' --peers cub",
        "warpfold bench --cases row.sum.f32.12345x678 --peers none",
        "warpfold bench --cases fused --only 'softmax*' --seconds 300",
        "warpfold bench --cases softmax.bf16.100x5000,layernorm.f32.4096x1000",
        "warpfold bench layer_norm --shape 4096x1024 --shape 1024 --shape 1024 --dtype bf16",
    ),
)
@click.argument("program", metavar="[PROGRAM]", default="")
@of_arrays
@plan_option
@determinism_option
@seed_option
@click.option(
    "--cases",
    default="",
    metavar="full,row,...",
    help="Groups (full, row, col, mid, plain; fused, standard, shapes, masks, backward for programs), names, patterns, "
    "or names with sizes of your own; all reductions by default.",
)
@click.option("--only", default="*", metavar="GLOB,...", help="Only cases with a name that matches one of these.")
@click.option(
    "--peers",
    default="",
    metavar="torch,...",
    help="Some of torch, compile, cupy, cub, triton, quack and liger, or none; all by default.",
)
@click.option("--seconds", type=float, help="Time after which no further case begins.")
@click.option("--out", metavar="FILE", help="Write the measurements as JSON, after every case.")
@click.option("--plot", metavar="FILE", help="Draw it: a .svg, .png or .pdf file.")
def bench(program: str, cases: str, only: str, peers: str, seconds: float | None, out: str | None, plot: str | None,
          **what: Any) -> None:  # fmt: skip
    """Time reductions or programs by warpfold and its peers on a GPU, after checking each result against float64.

    With PROGRAM (softmax, FILE.py:NAME, ...) time the steps of that program alone, on arrays that the options describe,
    beside a copy of the bytes that it must move.

    Times are device times, with the L2 cache flushed before each call, beside the measured ceilings of the GPU: a plain
    read for reductions, a copy of the same bytes for programs (softmax, norms, losses); see benchmarks/README.md. The
    column of a peer that is missing or fails says why. Ctrl-C keeps what was measured.
    """
    _expect_used(program)
    if program:
        from ..commands.programs.bench import bench as of_program

        if not of_program(request_of(program, **what), out=out):
            click.get_current_context().exit(WRONG)
        return
    from ..commands.bench import bench as command

    if not command.bench(cases, only, peers, seconds, out, plot):
        click.get_current_context().exit(INTERRUPTED)


OF_CASES = ("cases", "only", "peers", "plot", "seconds")
"""The parameters of ``bench`` that are for the cases of the benchmark."""
OF_BOTH = ("program", "out")


def _expect_used(program: str) -> None:
    """Refuses options that a bench of cases, or of a program, would ignore; WF849 and WF864."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = str(parameter.name)
        given = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if given and name not in OF_BOTH and (name in OF_CASES) == bool(program):
            from ..compiler.errors import error

            raise error("WF849" if program else "WF864", option=parameter.opts[-1], op=program)


@click.command(
    short_help="Time hundreds of layouts and report those that are slow.",
    epilog=examples(
        "warpfold grid --out grid.json --plot heat.svg",
        "warpfold grid --only 'short.*' --dtypes f32,i8",
        "warpfold grid --only 'softmax*' --dtypes f32,bf16",
        "warpfold grid --against benchmarks/results/grid-h200.json",
        "warpfold grid --only 'reported.*' --list",
    ),
)
@click.option(
    "--only",
    default="*",
    show_default=True,
    metavar="GLOB,...",
    help="Only layouts with a name that matches one of these.",
)
@click.option("--dtypes", default="f32,bf16,i8,f64,bool", show_default=True, metavar="f32,i8", help="Element types.")
@click.option("--out", metavar="FILE", help="Write the measurements as JSON.")
@click.option("--plot", metavar="FILE", help="Draw it: a .svg, .png or .pdf file.")
@click.option("--against", metavar="FILE", help="An earlier --out; report each cell that became at least 5 % slower.")
@click.option("--list", "listing", is_flag=True, help="List the cells without measuring them; needs no GPU.")
def grid(only: str, dtypes: str, out: str | None, plot: str | None, against: str | None, listing: bool) -> None:
    """Check and time hundreds of layouts on a GPU, and report those that are slow.

    A cell is one layout of a reduction or a program in one element type. A cell of 64 MB or more is slow below 85 % of
    the speed of a plain read, a program below 80 % of a copy. A cell that fits one CTA is slow if it takes 1.5 us more
    than an empty launch. Exits with 1 when a cell is slow or wrong, or slower than in --against.
    """
    from ..commands.bench.grid import run as command

    if listing:
        command.listed(only, dtypes, {"--out": out, "--plot": plot, "--against": against})
        return
    end = command.grid(only=only, dtypes=dtypes, out=out, plot=plot, against=against)
    click.get_current_context().exit({"passed": 0, "missed": WRONG, "interrupted": INTERRUPTED}[end])


@click.command(short_help="Report what this machine has and lacks, with remedies.")
def doctor() -> None:
    """Report what was found on this machine, and a remedy for what is missing."""
    from ..commands.doctor import doctor as command

    command()
