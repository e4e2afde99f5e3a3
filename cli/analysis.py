"""Commands that analyse what runs: ladder, spread, profile, sanitize, page and fragments."""

from __future__ import annotations

from typing import Any

import click

from .group import WRONG
from .options import examples, of_arrays, of_watched, of_what, request_of, seed_option, work_of


@click.command(
    short_help="Compare named plans, from the simplest to the planner's own.",
    epilog=examples(
        "warpfold ladder",
        "warpfold ladder --op max --dtype i32 --size 1000000",
        "warpfold ladder --rung simple --rung fix-divergence --size 2048 --device emulator",
        "warpfold ladder softmax",
        "warpfold ladder relu --shape 65536",
        "warpfold ladder layer_norm --shape 512x2048 --shape 2048 --dtype bf16 --plot norm.svg",
    ),
)
@click.argument("program", metavar="[PROGRAM]", default="")
@click.option("--op", default="sum", show_default=True, metavar="OP", help="The reduction, as run takes it.")
@click.option("--size", type=click.IntRange(min=1), default=1 << 22, show_default=True, help="Number of its elements.")
@of_arrays
@click.option(
    "--rung",
    "names",
    multiple=True,
    metavar="NAME",
    help="A rung to run, all by default; repeat the option for several.",
)
@seed_option
@click.option(
    "--device", type=click.Choice(["auto", "cuda", "emulator"]), default="auto", show_default=True,
    help="Where to run; only a GPU gives times.",
)  # fmt: skip
@click.option("--plot", metavar="FILE", help="Also draw the comparison into a .svg, .png or .pdf file.")
@click.option("--json", is_flag=True, help="Print one JSON object.")
def ladder(program: str, op: str, size: int, seed: int, names: tuple[str, ...], device: str, plot: str | None,
           json: bool, **arrays: Any) -> None:  # fmt: skip
    """Run OP or PROGRAM under each named plan, up to the planner's own, and show what makes each faster.

    The rungs of a reduction lead from one thread to a full machine; of its arrays --dtype and --size say all. Those of
    a program of arrays (softmax, FILE.py:NAME, ...) say where a row waits for the next phase: nowhere, so that two
    kernels read it, then in memory, in shared memory, in a cluster, in a CTA's registers, in a warp's. Those of a
    program without a fold that keeps a mask (relu, dropout, ...) say how lanes put the words of its bits together.

    Times come from the GPU. Counts come from the emulator, which beside a GPU runs at most 4194304 elements. Counts
    explain times but do not rank plans: a single thread executes few instructions an element, and is the slowest.
    Every result is checked. Exits with 1 when a result is wrong, with 2 when the request is wrong.
    """
    how: dict[str, Any] = {"device": device, "names": names, "plot": plot, "json": json}
    if program:
        from ..commands.programs.ladder import ladder as of_program

        passed = of_program(request_of(program, **arrays, seed=seed), **how)
    else:
        from ..commands.ladder import ladder as of_reduction

        passed = of_reduction(op, dtype=arrays["dtype"] or "f32", size=size, **how)
    if not passed:
        click.get_current_context().exit(WRONG)


@click.command(
    short_help="Measure how much a result depends on schedule and order.",
    epilog=examples(
        "warpfold spread sum --shape 65536",
        "warpfold spread sum --shape 65536 --plan finish=atomic,cluster=1 --determinism none",
        "warpfold spread argmax --shape 64x1000 --axis 1 --seeds 8 --json",
        "warpfold spread softmax --shape 8x1000 --determinism portable --seeds 4",
    ),
)
@of_what
@seed_option
@click.option("--seeds", default=32, type=click.IntRange(min=1), show_default=True, help="Number of schedules to try.")
@click.option("--json", is_flag=True, help="Print one JSON object.")
def spread(seed: int, seeds: int, json: bool, **what: Any) -> None:
    """Run OP on the emulator under many schedules and orders of combines, and show how far the results differ.

    All schedules run the requested plan. Each order is a plan one step away from it: one field has another value, or
    the plan is a rung of the ladder; fields named by --plan keep their values. Least and greatest belong to the
    element whose results differ most.

    Of a program, all schedules and plans run too, and then rows in other places: in another order, fewer of them, and
    in arrays off their alignment. With --determinism portable a row must have the same bits then.

    Exits with 1 when a result depends on what its plan promises that it does not depend on, with 2 when the request is
    wrong.
    """
    from ..commands.spread import spread as command

    if not command(request_of(**what, seed=seed), seeds=seeds, json=json):
        click.get_current_context().exit(WRONG)


@click.command(
    short_help="Count what OP or FILE.ptx executes, in Nsight Compute's counters.",
    epilog=examples(
        "warpfold profile sum --shape 4096x1024 --axis 1",
        "warpfold profile sum --shape 1048576 --plan simple --lines",
        "warpfold profile relu --param keep=bits --shape 65536 --rungs",
        "warpfold profile yours.ptx --launch 'yours<<<132, 256>>>(f32[1048576], out:f32[1]=0, 1048576)' --names",
    ),
)
@of_watched
@click.option("--names", is_flag=True, help="Show Nsight Compute's name of each counter.")
@click.option("--lines", is_flag=True, help="Show the most expensive lines of the PTX.")
@click.option("--rungs", is_flag=True, help="Show what each rung of the ladder of a program costs.")
@click.option("--json", is_flag=True, help="Print one JSON object, with all lines.")
def profile(names: bool, lines: bool, rungs: bool, json: bool, **work: Any) -> None:
    """Count what OP or FILE.ptx executes on the emulator: instructions, branches, memory traffic, bank conflicts.

    Counters have the definitions of Nsight Compute. Beside each stands its ideal value, where it is known. The sectors
    of each array follow, by its name; an array of bits is marked as such.
    """
    from ..commands.profile import profile as command

    command(work_of(**work), names=names, lines=lines, rungs=rungs, json=json)


@click.command(
    short_help="Find races, bad addresses and deadlocks in OP or FILE.ptx.",
    epilog=examples(
        "warpfold sanitize sum --shape 4096x1024 --axis 1",
        "warpfold sanitize argmax --shape 65536 --plan single-pass-merged",
        "warpfold sanitize yours.ptx --launch 'yours<<<132, 256>>>(f32[1048576], out:f32[1]=uninit, 1048576)' --json",
        "warpfold sanitize yours.ptx --launch 'yours<<<132, 256>>>(f32[1048576], out:f32[1]=0, 1048576)' --seeds 8",
    ),
)
@of_watched
@click.option(
    "--seeds", default=0, type=click.IntRange(min=0), show_default=True,
    help="Also run under so many drawn schedules, which may lead to other branches.",
)  # fmt: skip
@click.option("--json", is_flag=True, help="Print one JSON object.")
def sanitize(seeds: int, json: bool, **work: Any) -> None:
    """Find errors of OP or FILE.ptx on the emulator: bad addresses, races, wrong barriers and masks, deadlocks.

    Accesses are ordered by the PTX memory model, so a race is found under any schedule. What only another order of
    threads reaches, such as another branch, --seeds may find. Exits with 1 when there are findings, with 2 when the
    request is wrong.
    """
    from ..commands.sanitize import sanitize as command

    if not command(work_of(**work), seeds=seeds, json=json):
        click.get_current_context().exit(WRONG)


@click.command(
    short_help="Write an HTML page that shows OP from Python to the lanes.",
    epilog=examples(
        "warpfold page sum --shape 64x64 --axis 1 -o sum.html",
        "warpfold page softmax --shape 16x256 -o softmax.html",
        "warpfold page sum --shape 64x64 --axis 0 --compare fast=reduced -o columns.html",
        "warpfold page examples/monoids.py:span --shape 4096 -o span.html",
    ),
)
@of_what
@seed_option
@click.option("--max-steps", type=click.IntRange(min=1), help="Steps after which a launch counts as endless.")
@click.option("--compare", metavar="KEY=VALUE,...", help="Show this plan beside that of --plan.")
@click.option(
    "--sass/--no-sass", default=None,
    help="Also show the machine code, which ptxas and nvdisasm make; by default where these are found.",
)  # fmt: skip
@click.option("-o", "--output", required=True, metavar="FILE", help="The HTML file to write.")
def page(seed: int, max_steps: int | None, compare: str | None, sass: bool | None, output: str, **what: Any) -> None:
    """Write one HTML file that shows OP from its Python lines to the lanes of its warps. It needs no network.

    Columns show the Python source, the tensor program, the IR after each pass, the PTX and the machine code; lines that
    come from each other light up together, and what a pass changes is marked. Drawings show who owns which elements. A
    player goes through the kernel instruction by instruction: lanes, registers, sectors, bank conflicts, divergence.
    The counts of warpfold profile, and the reasons of warpfold explain, are there as well.

    The kernel runs on the emulator, on small arrays: of large ones the page shows plan and code alone.
    """
    from ..commands.page.page import page as command

    command(request_of(**what, seed=seed), output, compare=compare, max_steps=max_steps, sass=sass)


@click.command(
    short_help="Show which element each register of a matrix instruction holds.",
    epilog=examples(
        "warpfold fragments ldmatrix --blocks 4",
        "warpfold fragments ldmatrix --blocks 4 --trans --plot ldmatrix.svg",
        "warpfold fragments stmatrix --blocks 2 --json",
        "warpfold fragments mma",
    ),
)
@click.argument("instruction", type=click.Choice(["ldmatrix", "stmatrix", "mma"]))
@click.option("--blocks", type=click.Choice(["1", "2", "4"]), help="Blocks of 8x8 elements of an access; 1 by default.")
@click.option("--trans", is_flag=True, help="Turn each block: a lane gets elements of a column.")
@click.option("--plot", metavar="FILE", help="Also draw the matrices into a .svg, .png or .pdf file.")
@click.option("--json", is_flag=True, help="Print one JSON object.")
def fragments(instruction: str, blocks: str | None, trans: bool, plot: str | None, json: bool) -> None:
    """Show which elements of matrices of 16-bit elements the registers of a warp hold.

    The numbers are not written down anywhere: warpfold's passes make a kernel of one warp, whose matrix has the numbers
    of its elements as values. It runs on the emulator, and the registers are printed.

    ldmatrix reads blocks from shared memory, and stmatrix writes them there. mma multiplies a 16x16 matrix a by a 16x8
    matrix b and adds a 16x8 matrix c; the sum is laid out as c is.
    """
    if instruction == "mma" and (blocks or trans):
        raise click.UsageError("mma has no blocks that can be chosen or turned: leave out --blocks and --trans")
    from ..commands.fragments import fragments as command

    command(instruction, blocks=int(blocks or 1), transposed=trans, plot=plot, json=json)
