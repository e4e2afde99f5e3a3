"""Options that several commands share, and the value that each group of them makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from ..commands.emulated import Work
    from ..commands.requests.choose import AnyRequest

F = TypeVar("F", bound=Callable[..., Any])
seed_option = click.option(
    "--seed", default=0, type=click.IntRange(min=0), show_default=True, help="Seed of random input."
)
device_option = click.option(
    "--device", type=click.Choice(["auto", "cuda", "emulator"]), default="auto", show_default=True,
    help="Where to run; auto is cuda if a driver and a GPU are found, else the emulator.",
)  # fmt: skip


def _together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """One decorator that adds several options, in their order on the help page."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def examples(*lines: str) -> str:
    """The examples of a help page, which click must not wrap."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


of_arrays = _together(
    click.option(
        "--input", "files", multiple=True, metavar="[NAME=]FILE",
        help="A .npy file to read; repeat it for several arrays. A program also takes an array by NAME, and random for "
        "an array that a --shape describes.",
    ),
    click.option(
        "--shape", "shapes", multiple=True, metavar="[NAME=]4096x1024",
        help="Shape of random input, 1024x1024 without --input; a number is scalar. Repeat it for the arrays of a "
        "program.",
    ),
    click.option(
        "--dtype", metavar="f32",
        help="Element type, f32 by default; f32,i64 for two inputs, f32,NAME=bool for an array by name. With --input, "
        "for a FILE that names none (bf16).",
    ),
    click.option(
        "--axis", metavar="1",
        help="Axis to reduce, or several (0,2), all by default; for a program its parameter axis.",
    ),
    click.option(
        "--param", "param_texts", multiple=True, metavar="KEY=VALUE",
        help="A keyword parameter of OP, such as correction=1; repeat it for several.",
    ),
)  # fmt: skip
"""The options for the arrays, and for how they are reduced."""

determinism_option = click.option(
    "--determinism", type=click.Choice(["run", "portable", "none"]), default="run", show_default=True,
    help="What bits may depend on: with run the machine and where arrays lie, with portable neither; none allows float "
    "atomics.",
)  # fmt: skip

plan_option = click.option(
    "--plan", default="", metavar="KEY=VALUE,...",
    help="Fields of the plan to set, in the form that explain prints; the name of a rung of ladder; or few, for plans "
         "by which arrays of many sizes share few kernels.",
)  # fmt: skip

of_what = _together(click.argument("op", metavar="OP"), of_arrays, plan_option, determinism_option)
"""OP, its arrays, and its plan."""


def request_of(op: str, files: tuple[str, ...], shapes: tuple[str, ...], dtype: str | None, axis: str | None,
               param_texts: tuple[str, ...], plan: str = "", determinism: Any = "run",
               seed: int = 0, *, counts: bool = False) -> AnyRequest:  # fmt: skip
    """The options of ``of_what`` as one value; ``counts`` says whether OP may be a count."""
    from ..commands.requests.choose import request_of as chosen

    return chosen(op, files, shapes, dtype, axis, plan, seed, param_texts, determinism, counts=counts)


of_watched = _together(
    of_what,
    click.option(
        "--launch", "launches", multiple=True, metavar="'KERNEL<<<GRID, BLOCK>>>(ARGUMENT, ...)'",
        help="Launch a kernel of FILE.ptx. An argument is x:f32[1024], f32[64]=0, data.npy, x, 1024, null, or of a "
        "structure {x:f32[64], n:i32=64}; "
        "repeat the option for several launches on the same arrays.",
    ),
    seed_option,
    click.option("--max-steps", type=click.IntRange(min=1), help="Steps after which a launch counts as endless."),
)  # fmt: skip
"""What runs on the emulator under a tool: the options of ``of_what``, or FILE.ptx and its launches."""


def work_of(launches: tuple[str, ...], max_steps: int | None, **what: Any) -> Work:
    """The options of ``of_watched`` as one value."""
    from ..commands.emulated import Work

    return Work(request_of(**what, counts=True), launches, max_steps)
