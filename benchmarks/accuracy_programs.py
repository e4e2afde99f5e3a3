"""How far softmax, norms and losses of warpfold and of PyTorch are from float64, in ulps, on the same inputs.

    python benchmarks/accuracy_programs.py --out accuracy.json                 on the GPU
    python benchmarks/accuracy_programs.py --device cpu --shapes 4x100         on the emulator

The error of an element is its distance from the result in float64, in ulps of that result: the distance of its
neighbours in the type of the array. The script prints and keeps the worst and the mean over all elements, in ulps of
each and in ulps of the greatest result of the row. Where terms cancel, a result near zero has a great error in its own
ulps by any method, and a few of them make up the mean; so the means in ulps of the row are compared.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import click

from warpfold.commands import terminal
from warpfold.commands.bench import provenance
from warpfold.commands.bench.peers import reason, torch_programs
from warpfold.commands.bench.programs import ours
from warpfold.commands.bench.programs.answers import answer
from warpfold.commands.bench.programs.case import ProgramCase, parse
from warpfold.commands.bench.programs.inputs import inputs
from warpfold.commands.checking.running_error import tiny, unit
from warpfold.commands.output_file import Output
from warpfold.compiler.dtypes import DType
from warpfold.compiler.errors import WarpfoldError

FORMAT, VERSION = "warpfold accuracy", 1
PROGRAMS = ("softmax", "log_softmax", "layernorm", "rmsnorm", "cross_entropy")
DTYPES = ("f32", "bf16", "f16")
SHAPES = ("16384x1000", "1024x32768")
LEAST, MOST, OFFSET = -8, 4, 1000.0
"""The binary exponents of the factors of wide elements, and what is added to normal ones for a large offset."""
LEVEL = 1.05
"""Our mean error over PyTorch's above which ours is greater by more than chance: all elements of a row share the
rounding of its sums, so there are as many samples as rows."""

DISTRIBUTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "normal": lambda x, _: x,
    "wide": lambda x, u: x * (u * (MOST - LEAST) + LEAST).exp2(),
    "constant": lambda x, _: x[:, :1].expand_as(x).contiguous(),
    "offset": lambda x, _: x + OFFSET,
}
"""What becomes of normal elements, given as many uniform ones: magnitudes from 2^-8 to 2^4; one value in each row;
normal elements about 1000."""


MEASURES = ("worst", "mean", "worst_of_row", "mean_of_row")


@dataclass(frozen=True)
class Errors:
    """The errors of one result, in ulps.

    Attributes:
        worst, mean: over all elements, in ulps of each.
        worst_of_row, mean_of_row: in ulps of the greatest result of its row.
        word: why there are no errors.
    """

    worst: float | None = None
    mean: float | None = None
    worst_of_row: float | None = None
    mean_of_row: float | None = None
    word: str = ""


@dataclass(frozen=True)
class Row:
    """One program on one input.

    Attributes:
        case: the name of the case, as of ``warpfold bench``.
        inputs: a key of ``DISTRIBUTIONS``.
        ours, torch: the errors of warpfold and of PyTorch.
    """

    case: str
    inputs: str
    ours: Errors
    torch: Errors

    @property
    def behind(self) -> bool:
        """Whether warpfold's mean error in ulps of rows is greater than PyTorch's by more than chance."""
        ours, theirs = self.ours.mean_of_row, self.torch.mean_of_row
        return ours is not None and theirs is not None and ours > LEVEL * theirs


def errors(found: Any, exact: Any, t: DType) -> Errors:
    """The errors of a result in ulps of a type, given the exact one in float64; a result a row is a row of its own."""
    rows = exact if exact.ndim > 1 else exact[:, None]
    off = (found.double().reshape(rows.shape) - rows).abs_()
    own = off / ulp(rows, t)
    of_row = off / ulp(rows.abs().amax(-1, keepdim=True), t)
    return Errors(*(float(v) for errors in (own, of_row) for v in (errors.max(), errors.mean())))


def ulp(x: Any, t: DType) -> Any:
    """The distance of neighbours of a type at the magnitudes ``x``."""
    exponent = x.abs().clamp_min(tiny(t)).log2().floor()
    return exponent.exp2() * 2 * unit(t)


def measured(torch: Any, case: ProgramCase, device: str) -> Iterator[Row]:
    """The errors of one program on every kind of input."""
    x, *more = inputs(torch, case, 0, device)
    u = torch.rand(x.shape, generator=torch.Generator(device).manual_seed(1), device=device)
    for name, change in DISTRIBUTIONS.items():
        arrays = (change(x.float(), u).to(x.dtype), *more)
        exact = answer(case, arrays)[0].values
        functions = (lambda: ours.function(case), lambda: torch_programs.function(torch, case))
        yield Row(case.name, name, *(_errors(function, arrays, exact, case.dtype) for function in functions))


def _errors(make: Callable[[], Callable[..., Any]], arrays: tuple[Any, ...], exact: Any, t: DType) -> Errors:
    try:
        return errors(ours.results(make()(*arrays))[0], exact, t)
    except ours.LacksError as e:
        return Errors(word=str(e))
    except (WarpfoldError, RuntimeError) as e:
        return Errors(word=f"{type(e).__name__}: {reason(e)}")


def table(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Titles and cells; a star marks a mean error that is greater than PyTorch's."""
    titles = ["case", "inputs", "worst", "torch", "mean", "torch", "worst of row", "torch", "mean of row", "torch", ""]
    return titles, [
        [r.case, r.inputs, *(_number(getattr(one, name)) for name in MEASURES
                             for one in (r.ours, r.torch)), "*" if r.behind else r.ours.word]
        for r in rows
    ]  # fmt: skip


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


@click.command()
@click.option("--out", metavar="FILE", help="Write the errors as JSON.")
@click.option("--device", type=click.Choice(["cuda", "cpu"]), default="cuda", show_default=True)
@click.option("--shapes", default=",".join(SHAPES), show_default=True, help="Shapes of the arrays: rows x elements.")
def main(out: str | None, device: str, shapes: str) -> None:
    """Print the errors of softmax, norms and losses in ulps, of warpfold and of PyTorch."""
    import torch

    output = Output(out) if out else None
    names = [f"{what}.{t}.{shape}" for what in PROGRAMS for t in DTYPES for shape in shapes.split(",")]
    cases = [case for name in names if (case := parse(name))]
    if len(cases) < len(names):
        raise click.UsageError(f"{shapes!r} holds no shapes such as {SHAPES[0]}")
    rows = [row for case in cases for row in measured(torch, case, device)]
    terminal.table(*table(rows))
    behind = [r for r in rows if r.behind]
    terminal.show(f"\nmean error of rows greater than PyTorch's in {len(behind)} of {len(rows)} rows, marked by *")
    if output:
        machine = {
            "device": torch.cuda.get_device_name() if device == "cuda" else "the emulator, and PyTorch on the CPU",
            "torch": torch.__version__, "python": sys.version.split()[0],
        }  # fmt: skip
        machine |= dict(zip(("commit", "dirty"), provenance.revision(provenance.ROOT), strict=True))
        kept = {"format": FORMAT, "version": VERSION, "machine": machine, "rows": [asdict(r) for r in rows]}
        text = terminal.as_json(kept)
        output.write(lambda f: f.write(text.encode() + b"\n"))


if __name__ == "__main__":
    main()
