"""Options that several commands share, and what they ask for as one value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from ..commands.emulated import Work
    from ..commands.requests.request import Request

F = TypeVar("F", bound=Callable[..., Any])
seed_option = click.option(
    "--seed", default=0, type=click.IntRange(min=0), show_default=True, help="Seed of made-up input."
)


def _together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Options as one, in their order on a help page."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def examples(*lines: str) -> str:
    """Example lines for a help page, kept as they are."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


of_arrays = _together(
    click.option(
        "--input", "files", multiple=True, metavar="FILE", help="A .npy file; repeat it for several inputs."
    ),
    click.option("--shape", metavar="4096x1024", help="Shape of made-up input, 1024x1024 without --input."),
    click.option(
        "--dtype", metavar="f32",
        help="Its element type, f32 by default; f32,i64 for two inputs. Also that of a FILE that names none (bf16).",
    ),
    click.option("--axis", metavar="1", help="Axis to reduce, or several: 0,2. All by default."),
    click.option(
        "--param", "param_texts", multiple=True, metavar="KEY=VALUE",
        help="A keyword parameter of OP, such as correction=1; repeat it for several.",
    ),
)  # fmt: skip
"""The options that say which arrays, and how they are reduced."""

of_what = _together(
    click.argument("op", metavar="OP"),
    of_arrays,
    click.option(
        "--plan", default="", metavar="KEY=VALUE,...",
        help="In place of the planner's own choices, which explain prints in this form; or a name of the ladder's.",
    ),
)  # fmt: skip
"""The options that say which operation on which arrays, and under which plan."""


def request_of(op: str, files: tuple[str, ...], shape: str | None, dtype: str | None, axis: str | None, plan: str,
               param_texts: tuple[str, ...], seed: int = 0) -> Request:  # fmt: skip
    """The options of ``of_what`` as one value."""
    from ..commands.requests.request import Request

    return Request(op, files, shape, dtype, axis, plan, seed, param_texts)


of_watched = _together(
    of_what,
    click.option(
        "--launch", "launches", multiple=True, metavar="'KERNEL<<<GRID, BLOCK>>>(ARGUMENT, ...)'",
        help="For FILE.ptx: a launch, with x:f32[1024], f32[64]=0, data.npy, x, 1024 or null as an argument; "
        "repeat it for several on the same arrays.",
    ),
    seed_option,
    click.option("--max-steps", type=click.IntRange(min=1), help="Steps after which a launch has no end."),
)  # fmt: skip
"""The options of what runs on the emulator under a tool: those of ``of_what``, or FILE.ptx and its launches."""


def work_of(launches: tuple[str, ...], max_steps: int | None, **what: Any) -> Work:
    """The options of ``of_watched`` as one value."""
    from ..commands.emulated import Work

    return Work(request_of(**what), launches, max_steps)
