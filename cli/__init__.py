"""The command ``warpfold``.

This package declares options and help texts. ``commands/`` does the work; it is imported when a command runs, so help
appears at once.
"""

from __future__ import annotations

import sys

import click

from .. import __version__
from ..compiler.standard_streams import settle
from .analysis import fragments, ladder, page, profile, sanitize, spread
from .group import USAGE, Commands, full
from .machine import bench, doctor, grid, tune
from .options import examples
from .reduction import check, compile, explain, run

__all__ = ["cli", "main"]


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "warpfold run sum --shape 4096x1024 --axis 1",
        "warpfold run examples/monoids.py:span --input data.npy --axis 0,2 --output out.npy",
        "warpfold explain argmax --shape 4096x32000 --axis 1",
        "warpfold explain layer_norm --shape 4096x1024 --shape 1024",
        "warpfold compile sum --shape 4096x1024 --axis 1 --emit ptx",
        "warpfold check examples/monoids.py:affine",
        "warpfold ladder --plot ladder.svg",
        "warpfold profile sum --shape 2048 --plan simple",
        "warpfold sanitize sum --shape 2048 --plan simple",
        "warpfold page softmax --shape 16x256 -o softmax.html",
        "warpfold spread sum --shape 4096",
        "warpfold fragments ldmatrix --blocks 4 --trans",
        "warpfold tune sum --shape 32768x4096 --axis 1",
        "warpfold bench --cases row --out results.json",
        "warpfold doctor",
    ),
)
@click.version_option(__version__, prog_name="warpfold", message="%(prog)s %(version)s")
def cli() -> None:
    """Reductions and programs of them written in Python, lowered stage by stage to PTX, run on a GPU or an emulator."""


for command in (
    run,
    compile,
    explain,
    check,
    ladder,
    tune,
    spread,
    profile,
    sanitize,
    page,
    fragments,
    bench,
    grid,
    doctor,
):
    cli.add_command(command)


def main() -> None:
    """Runs the command line."""
    settle()
    try:
        cli(prog_name="warpfold")
    except OSError as e:  # from help and version, which are printed before a command begins
        full(e)
        sys.exit(USAGE)
