"""The command ``warpfold``: run, compile and explain reductions, and look at this machine.

Declares options and help; the work is in ``commands/``, imported when a command runs, so that help costs nothing.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from . import __version__

if TYPE_CHECKING:
    from .commands.request import Request
    from .commands.watched import Work

F = TypeVar("F", bound=Callable[..., Any])
ARCH = "sm_90a"
FORMS = ("program", "plan", "stages", "llvm", "ptx", "sass", "artifact")
WRONG, USAGE, INTERRUPTED, CLOSED = 1, 2, 130, 141
"""Exit codes; the last two are what a shell reports for SIGINT and SIGPIPE."""


class Commands(click.Group):
    """The group of commands: warpfold's errors go to standard error without a traceback, and end in exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command."""
        from .compiler.errors import WarpfoldError

        if sys.stdout is None:  # where the shell closed it: >&-
            _silence()
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _warn
                result = super().invoke(ctx)
            sys.stdout.flush()
        except WarpfoldError as e:
            click.echo(e.render(), err=True)
            ctx.exit(USAGE)
        except click.UsageError as e:
            raise _hinted(e) from None
        except KeyboardInterrupt:
            click.echo("interrupted: nothing was written", err=True)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            _silence()
            ctx.exit(CLOSED)
        except OSError as e:
            _full(e)
            ctx.exit(USAGE)
        return result


def _hinted(e: click.UsageError) -> click.UsageError:
    """Arrays are options: says so where they stand as arguments."""
    extra = re.search(r"extra arguments? \((.*)\)", e.message)
    names = extra[1].split() if extra else []
    takes = any("--input" in option.opts for option in e.ctx.command.params) if e.ctx else False
    if not takes or not names or not all(name.endswith(".npy") for name in names):
        return e
    return click.UsageError(f"{e.message}: name arrays by {' '.join(f'--input {name}' for name in names)}", e.ctx)


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    """A warning looks like an error: without the Python line that gave it."""
    click.echo(f"warning: {message}", err=True)


def _full(e: OSError) -> None:
    """Says that standard output takes no more; any other error goes on."""
    from .compiler.errors import error

    if e.errno != errno.ENOSPC:
        raise e
    _silence()
    click.echo(error("WF505", path="standard output", reason=e.strerror).render(), err=True)


def _silence() -> None:
    """Leaves standard output alone for good: Python's last flush would complain of what it could not write."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123


def examples(*lines: str) -> str:
    """Example lines for a help page, kept as they are."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "warpfold run sum --shape 4096x1024 --axis 1",
        "warpfold run examples/monoids.py:span --input data.npy --axis 0,2 --output out.npy",
        "warpfold explain argmax --shape 4096x32000 --axis 1",
        "warpfold compile sum --shape 4096x1024 --axis 1 --emit ptx",
        "warpfold check examples/monoids.py:affine",
        "warpfold ladder --plot ladder.svg",
        "warpfold profile sum --shape 2048 --plan simple",
        "warpfold sanitize sum --shape 2048 --plan simple",
        "warpfold spread sum --shape 4096",
        "warpfold tune sum --shape 32768x4096 --axis 1",
        "warpfold bench --cases row --out results.json",
        "warpfold doctor",
    ),
)
@click.version_option(__version__, prog_name="warpfold", message="%(prog)s %(version)s")
def cli() -> None:
    """Reductions written in Python, lowered stage by stage to PTX, run on a GPU or on the PTX emulator."""


seed_option = click.option(
    "--seed", default=0, type=click.IntRange(min=0), show_default=True, help="Seed of made-up input."
)


def of_arrays(command: F) -> F:
    """The options that say which arrays, and how they are reduced."""
    options = (
        click.option(
            "--input", "files", multiple=True, metavar="FILE", help="A .npy file; repeat it for several inputs."
        ),
        click.option("--shape", metavar="4096x1024", help="Shape of made-up input, 1024x1024 without --input."),
        click.option("--dtype", metavar="f32", help="Its element type, f32 by default; f32,i64 for two inputs."),
        click.option("--axis", metavar="1", help="Axis to reduce, or several: 0,2. All by default."),
        click.option(
            "--param", "param_texts", multiple=True, metavar="KEY=VALUE",
            help="A keyword parameter of OP, such as correction=1; repeat it for several.",
        ),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def of_what(command: F) -> F:
    """The options that say which operation on which arrays, and under which plan."""
    options = (
        click.argument("op", metavar="OP"),
        of_arrays,
        click.option(
            "--plan", default="", metavar="KEY=VALUE,...",
            help="In place of the planner's own choices, which explain prints in this form; or a name of the ladder's.",
        ),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def request_of(op: str, files: tuple[str, ...], shape: str | None, dtype: str | None, axis: str | None, plan: str,
               param_texts: tuple[str, ...], seed: int = 0) -> Request:  # fmt: skip
    """The options of ``of_what`` as one value."""
    from .commands.request import Request

    return Request(op, files, shape, dtype, axis, plan, seed, param_texts)


def of_watched(command: F) -> F:
    """The options of what runs on the emulator under a tool: those of ``of_what``, or FILE.ptx and its launches."""
    options = (
        of_what,
        click.option(
            "--launch", "launches", multiple=True, metavar="'KERNEL<<<GRID, BLOCK>>>(ARGUMENT, ...)'",
            help="For FILE.ptx: a launch, with x:f32[1024], f32[64]=0, data.npy, x, 1024 or null as an argument; "
            "repeat it for several on the same arrays.",
        ),
        seed_option,
        click.option("--max-steps", type=click.IntRange(min=1), help="Steps after which a launch has no end."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def work_of(launches: tuple[str, ...], max_steps: int | None, **what: Any) -> Work:
    """The options of ``of_watched`` as one value."""
    from .commands.watched import Work

    return Work(request_of(**what), launches, max_steps)


@cli.command(
    epilog=examples(
        "warpfold run sum",
        "warpfold run var --input data.npy --axis 0 --output var.npy",
        "warpfold run argmax --shape 100x32000 --dtype bf16 --axis -1 --device emulator",
        "warpfold run examples/monoids.py:affine --input a.npy --input b.npy",
        "warpfold run sum --shape 1048576 --plan finish=two_kernels,vector=1 --json",
    )
)
@of_what
@seed_option
@click.option("--keepdims", is_flag=True, help="Leave the reduced axes in the result, with size 1.")
@click.option(
    "--output", metavar="FILE",
    help="Write the result to a .npy file, whole or not at all; several as named fields of one structured array.",
)  # fmt: skip
@click.option(
    "--device", type=click.Choice(["auto", "cuda", "emulator"]), default="auto", show_default=True,
    help="auto is CUDA where a driver and a device are, else the emulator.",
)  # fmt: skip
@click.option(
    "--launch", "launches", multiple=True, metavar="'KERNEL<<<GRID, BLOCK>>>(ARGUMENT, ...)'",
    help="For FILE.ptx in place of OP: a launch on the emulator, as profile takes it; --output is NAME=FILE then.",
)  # fmt: skip
@click.option("--json", is_flag=True, help="Print one JSON object.")
def run(seed: int, keepdims: bool, output: str | None, device: str, launches: tuple[str, ...], json: bool,
        **what: Any) -> None:  # fmt: skip
    """Compile and run OP, and check the result against NumPy.

    OP is a reduction (sum, max, argmin, mean_var, norm, describe, ...; a wrong name lists all) or file.py:name, a
    monoid or a tensor program of yours. Exits with 1 when the result is not NumPy's, with 2 when the request is wrong.
    """
    from .commands import run as command

    request = request_of(**what, seed=seed)
    if launches or request.op.endswith(".ptx"):
        from .commands.watched import Work, show

        show(Work(request, launches), device=device, output=output, json=json)
        return
    if not command.run(request, keepdims=keepdims, output=output, device=device, json=json):
        click.get_current_context().exit(WRONG)


@cli.command(
    epilog=examples(
        "warpfold compile sum --shape 4096x1024 --axis 1 --emit stages",
        "warpfold compile max --dtype bf16 --emit sass --arch sm_80",
        "warpfold compile examples/monoids.py:span --emit artifact -o span.warpfold",
        "warpfold compile mean --emit plan --json",
    )
)
@of_what
@click.option("--emit", "form", type=click.Choice(FORMS), default="ptx", show_default=True, help="What to write.")
@click.option("--arch", default=ARCH, show_default=True, help="The architecture to compile for.")
@click.option("-o", "--output", "path", metavar="PATH", help="Where to; standard output without it.")
@click.option("--json", is_flag=True, help="With --emit plan: one JSON object.")
def compile(form: str, arch: str, path: str | None, json: bool, **what: Any) -> None:
    """Compile OP and write one form of it; needs no GPU.

    \b
    program   the tensor program, MLIR before any pass
    plan      the levels, their extents and stages
    stages    the IR after every pass
    llvm      the IR just before PTX: the llvm and nvvm dialects
    ptx       PTX
    sass      machine code, disassembled
    artifact  a file for wf.load, which runs it without MLIR
    """  # noqa: D301 - click wants the backspace itself
    from .commands.emit import emit

    emit(request_of(**what), form, arch, path, json=json)


@cli.command(
    short_help="Show the plan for OP in plain words, and why it is so.",
    epilog=examples(
        "warpfold explain sum --shape 4096x1024 --axis 1",
        "warpfold explain sum --shape 8192x8192 --axis 0 --plan fast=reduced",
        "warpfold explain examples/monoids.py:affine --shape 1000000 --arch sm_80",
    ),
)
@of_what
@click.option("--arch", default=ARCH, show_default=True, help="The architecture to plan for.")
def explain(arch: str, **what: Any) -> None:
    """Show the plan for OP in plain words: who owns what, which stages, why, and what it costs at the least."""
    from .commands.explain import explain as command

    command(request_of(**what), arch)


@cli.command(
    short_help="Look for values that break the laws of a monoid.",
    epilog=examples(
        "warpfold check examples/monoids.py:extremes",
        "warpfold check examples/monoids.py:larger --dtype f32,i64",
        "warpfold check examples/monoids.py:total --dtype i8 --json",
    ),
)
@click.argument("op", metavar="FILE.py:NAME")
@click.option("--dtype", default="f32", show_default=True, metavar="f32", help="Type of each array: f32,i64 for two.")
@click.option("--json", is_flag=True, help="Print one JSON object.")
def check(op: str, dtype: str, json: bool) -> None:
    """Look for values that break the laws of a monoid: neutral identity, associativity, commutativity, idempotence.

    Exits with 1 when a law that the monoid claims is refuted, with 2 when the request is wrong.
    """
    from .commands.check import check as command

    if not command(op, dtype, json=json):
        click.get_current_context().exit(WRONG)


@cli.command(
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
    Every result is checked against NumPy: exits with 1 when one is wrong, with 2 when the request is.
    """
    from .commands.ladder import ladder as command

    if not command(op, dtype=dtype, size=size, device=device, names=names, plot=plot, json=json):
        click.get_current_context().exit(WRONG)


@cli.command(
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
    from .commands import tune as command

    if forget or not op:
        command.kept(op, forget=forget, json=json)
        return
    request = request_of(op, **what, plan="", seed=seed)
    if not command.tune(request, determinism=determinism, seconds=seconds, json=json):
        click.get_current_context().exit(INTERRUPTED)


@cli.command(
    short_help="Say how far answers lie apart: under schedules, and orders.",
    epilog=examples(
        "warpfold spread sum --shape 65536",
        "warpfold spread sum --shape 65536 --plan finish=atomic --determinism none",
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
    from .commands.spread import spread as command

    if not command(request_of(**what, seed=seed), seeds=seeds, determinism=determinism, json=json):
        click.get_current_context().exit(WRONG)


@cli.command(
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
    from .commands.profile import profile as command

    command(work_of(**work), names=names, lines=lines, json=json)


@cli.command(
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
    from .commands.sanitize import sanitize as command

    if not command(work_of(**work), json=json):
        click.get_current_context().exit(WRONG)


@cli.command(
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
    from .commands.bench import bench as command

    if not command.bench(cases, peers, out, plot):
        click.get_current_context().exit(INTERRUPTED)


@cli.command(
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
    from .commands.bench import grid as command

    if listing:
        command.listed(only, dtypes, {"--out": out, "--plot": plot, "--against": against})
        return
    end = command.grid(only=only, dtypes=dtypes, out=out, plot=plot, against=against)
    click.get_current_context().exit({"passed": 0, "missed": WRONG, "interrupted": INTERRUPTED}[end])


@cli.command(short_help="Say what this machine has and lacks, and what to do about it.")
def doctor() -> None:
    """Say what was found on this machine, and what to do about what was not."""
    from .commands.doctor import doctor as command

    command()


def main() -> None:
    """The entry of the command line."""
    try:
        cli(prog_name="warpfold")
    except OSError as e:  # from help and version, which are printed before a command begins
        _full(e)
        sys.exit(USAGE)


if __name__ == "__main__":
    main()
