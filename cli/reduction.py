"""Commands about a reduction or a program: run, compile, explain and check."""

from __future__ import annotations

from typing import Any

import click

from .group import WRONG
from .options import device_option, examples, of_what, request_of, seed_option

ARCH = "sm_90a"
FORMS = ("program", "plan", "stages", "llvm", "ptx", "sass", "artifact")


@click.command(
    epilog=examples(
        "warpfold run sum",
        "warpfold run var --input data.npy --axis 0 --output var.npy",
        "warpfold run argmax --shape 100x32000 --dtype bf16 --axis -1 --device emulator",
        "warpfold run examples/monoids.py:affine --input a.npy --input b.npy",
        "warpfold run softmax --shape 64x1000 --dtype bf16 --axis -1",
        "warpfold run layer_norm --shape 4096x1024 --shape 1024 --shape bias=1024 --param eps=1e-6",
        "warpfold run histogram --input x.npy --param bins=64 --param range=(-3,3)",
        "warpfold run sum --shape 1048576 --plan finish=two_kernels,vector=1 --json",
        "warpfold run mean --input huge.npy --axis 0 --chunk 256MiB --resume mean.state.npz --output mean.npy",
    )
)
@of_what
@seed_option
@click.option("--keepdims", is_flag=True, help="Keep the reduced axes in the result, with size 1.")
@click.option(
    "--output", metavar="FILE",
    help="Write the result to a .npy file; several results become named fields of one structured array, or arrays of "
    "a .npz file. NumPy's format has no name for bf16: its elements are written as unnamed 2-byte values.",
)  # fmt: skip
@device_option
@click.option(
    "--launch", "launches", multiple=True, metavar="'KERNEL<<<GRID, BLOCK>>>(ARGUMENT, ...)'",
    help="Launch a kernel of FILE.ptx, given in place of OP, on the emulator; see profile --help. --output is then "
    "NAME=FILE.",
)  # fmt: skip
@click.option(
    "--check/--no-check", default=True, show_default=True,
    help="Compare the result with NumPy's; on large arrays this takes many times as long as the run.",
)  # fmt: skip
@click.option(
    "--chunk", metavar="256MiB",
    help="Read about so many bytes of the files at once, for files larger than memory; nothing is checked. After "
    "Ctrl-C a file with the state is left.",
)  # fmt: skip
@click.option(
    "--resume",
    metavar="FILE",
    help="With --chunk: the file of the state to go on from, if it is there, and to leave when the run is stopped.",
)
@click.option("--json", is_flag=True, help="Print one JSON object.")
def run(seed: int, keepdims: bool, output: str | None, device: str, launches: tuple[str, ...], check: bool, json: bool,
        chunk: str | None, resume: str | None, **what: Any) -> None:  # fmt: skip
    """Compile and run OP, and check the result against NumPy.

    OP is a built-in reduction (sum, max, argmin, mean_var, norm, describe, ...), a built-in program of arrays (softmax,
    layer_norm, ...; an unknown name lists all), histogram or bincount, or FILE.py:NAME, a monoid, a function or a
    wf.program of your own. A function that folds the elements of arrays of one shape is a reduction, any other a
    program. Exits with 1 when the result differs from NumPy's, with 2 when the request is wrong.
    """
    from ..commands import run as command

    request = request_of(**what, seed=seed, counts=True)
    if launches or request.op.endswith(".ptx"):
        from ..commands.emulated import Work, show

        show(Work(request, launches), device=device, output=output, json=json)
        return
    if chunk or resume:
        from ..commands.chunks.run import run as in_chunks

        in_chunks(request, chunk, resume, keepdims=keepdims, output=output, device=device, json=json)
        return
    if not command.run(request, keepdims=keepdims, output=output, device=device, json=json, check=check):
        click.get_current_context().exit(WRONG)


@click.command(
    epilog=examples(
        "warpfold compile sum --shape 4096x1024 --axis 1 --emit stages",
        "warpfold compile max --dtype bf16 --emit sass --arch sm_80",
        "warpfold compile examples/monoids.py:span --emit artifact -o span.warpfold",
        "warpfold compile mean --emit plan --json",
        "warpfold compile softmax --shape 4096x1000 --emit stages --changes",
    )
)
@of_what
@click.option("--emit", "form", type=click.Choice(FORMS), default="ptx", show_default=True, help="The form to write.")
@click.option("--arch", default=ARCH, show_default=True, help="The architecture to compile for.")
@click.option("-o", "--output", "path", metavar="PATH", help="The file to write; standard output by default, or for -.")
@click.option("--json", is_flag=True, help="With --emit plan: print one JSON object.")
@click.option("--changes", is_flag=True, help="With --emit stages: show only the lines that each pass changes.")
@click.option(
    "--names", is_flag=True, help="With program, stages and llvm: give values telling names (%lane, %n_kept)."
)
@click.option(
    "--locations", is_flag=True, help="With program, stages and llvm: show the source line of each operation."
)
def compile(form: str, arch: str, path: str | None, json: bool, changes: bool, names: bool, locations: bool,
            **what: Any) -> None:  # fmt: skip
    """Compile OP and write one form of it; needs no GPU. Of a program it writes each step in order.

    \b
    program   the tensor program, MLIR before any pass
    plan      the levels, their extents and stages
    stages    the IR after every pass
    llvm      the last IR before PTX, in the llvm and nvvm dialects
    ptx       the PTX text
    sass      machine code, disassembled
    artifact  a file for wf.load, which needs no MLIR
    """  # noqa: D301 - click wants the backspace itself
    from ..commands.emit import View, emit

    path = None if path == "-" else path  # the usual name of standard output, and no file that anybody wants
    emit(request_of(**what, counts=True), form, arch, path, View(json, changes, names, locations))


@click.command(
    short_help="Explain the plan of OP, its reasons and its cost.",
    epilog=examples(
        "warpfold explain sum --shape 4096x1024 --axis 1",
        "warpfold explain sum --shape 8192x8192 --axis 0 --plan fast=reduced",
        "warpfold explain examples/monoids.py:affine --shape 1000000 --arch sm_80",
        "warpfold explain layer_norm --shape 4096x1024 --shape 1024 --shape 1024",
        "warpfold explain softmax --shape 64x1048576 --plan resident=memory",
        "warpfold explain rms_norm --shape 32768x4096 --shape 4096 --gradient",
    ),
)
@of_what
@click.option("--arch", default=ARCH, show_default=True, help="The architecture to plan for.")
@click.option("--gradient", is_flag=True, help="What the forward of a program keeps for its backward, and both.")
def explain(arch: str, gradient: bool, **what: Any) -> None:
    """Explain the plan of OP in words: who owns which elements, the stages, the reasons, and the least cost.

    Of a program also its dims, phases and steps, why it is cut or not, and where a row waits for the next phase. With
    --gradient, what its forward keeps for its backward, the bytes of that, and what both move with it and without.
    """
    from ..commands.explain import explain as command

    command(request_of(**what, counts=True), arch, gradient=gradient)


@click.command(
    short_help="Check the laws of a monoid, or a program against f64.",
    epilog=examples(
        "warpfold check examples/monoids.py:extremes",
        "warpfold check examples/monoids.py:larger --dtype f32,i64",
        "warpfold check examples/monoids.py:total --dtype i8 --json",
        "warpfold check softmax --shape 64x1000 --dtype bf16",
        "warpfold check layer_norm --shape 8x768 --shape 768 --plan resident=memory",
        "warpfold check layer_norm --shape 8x768 --shape 768 --gradient",
    ),
)
@of_what
@seed_option
@device_option
@click.option("--gradient", is_flag=True, help="Compare the gradient of a program with differences.")
@click.option("--json", is_flag=True, help="Print one JSON object.")
def check(seed: int, device: str, gradient: bool, json: bool, **what: Any) -> None:
    """Check a monoid, FILE.py:NAME, or a program of arrays.

    For a monoid, search for values that violate its laws: identity, associativity, commutativity, idempotence. The
    search tries simple and random numbers, every number of an 8-bit type, and the constants that the monoid compares
    with; of the options --dtype alone applies.

    For a program, run it on its arrays and on variants of them (far from zero, large, all equal), and compare the
    results with the program in f64, with a bound for each element. With --gradient, compare its gradient with
    differences in f64, on arrays that are hard to differentiate at (ties, zeros, infinities, large numbers).

    Exits with 1 when a claimed law is refuted, or when no tried element tests it ("no evidence"), or when a result is
    beyond its bound; with 2 when the request is wrong.
    """
    from ..commands.check import check as command

    if not command(request_of(**what, seed=seed), device=device, json=json, gradient=gradient):
        click.get_current_context().exit(WRONG)
