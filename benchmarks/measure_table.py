"""Times one table of the planner anew on a GPU: the choice of each row, and the choices of its neighbours.

    python benchmarks/measure_table.py --list
    python benchmarks/measure_table.py threads.THREADS_OF_WORDS --only 'short.*' --dtypes f32

The layouts are those of the grid. A table decides for a layout if the planner asks it, and if the choice of the row
before or after gives another plan. For each such layout the script prints the time of every choice, and at the end the
rows that these times ask for: each bound moves to where the choice of the next row becomes faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import pairwise
from pkgutil import walk_packages
from typing import Any, NamedTuple
from unittest.mock import patch

import click

from warpfold.commands.bench.gpu import gpu
from warpfold.commands.bench.grid.buffer import Bed, reach
from warpfold.commands.bench.grid.cells import Cell, ProgramCell, dense
from warpfold.commands.bench.grid.reference import Truth, library
from warpfold.commands.bench.grid.run import MOST_BYTES, chosen
from warpfold.commands.bench.grid.shapes import DTYPES
from warpfold.compiler import planner
from warpfold.compiler.errors import WarpfoldError
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.table import Table
from warpfold.compiler.planner.task import Choice, Task
from warpfold.compiler.target import Target
from warpfold.runtime.calls.operands import Operands
from warpfold.runtime.programs.machine import Machine
from warpfold.runtime.programs.plans import prepare_program
from warpfold.runtime.programs.reductions import program_of
from warpfold.runtime.programs.run import allocate, prepare
from warpfold.runtime.tuning.trials import Trials
from warpfold.runtime.view import ArraySpec, real_specs

RUNS = 25
"""Timed launches of each choice."""
LEAST = 0.01
"""The part of the time, in the mean over the layouts beside a bound, by which a bound must gain to move."""
Timer = Callable[[Cell, Sequence[Choice]], list[float]]
"""Microseconds of each choice for a cell."""


class Decision(NamedTuple):
    """One layout for which a table decides.

    Attributes:
        cell: the layout.
        size: what the planner asked the table for.
        plans: the plan under each choice of the table's row and of its neighbours, the planner's own first.
    """

    cell: Cell
    size: float
    plans: dict[Any, Choice]


def tables() -> dict[str, Table[Any]]:
    """All tables of the planner, as ``module.NAME``; the module without its folders."""
    modules = [import_module(m.name) for m in walk_packages(planner.__path__, f"{planner.__name__}.") if not m.ispkg]
    found = {f"{m.__name__.rpartition('.')[2]}.{name}": each for m in modules for name, each in vars(m).items()}
    return {name: each for name, each in found.items() if isinstance(each, Table)}


@contextmanager
def asked(table: Table[Any], answer: Callable[[float], Any]) -> Iterator[list[float]]:
    """The sizes that the planner asks ``table`` for meanwhile; it gets what ``answer`` says."""
    sizes: list[float] = []
    own = Table.at

    def at(self: Table[Any], size: float) -> Any:
        if self is not table:
            return own(self, size)
        sizes.append(size)
        return answer(size)

    with patch.object(Table, "at", at):
        yield sizes


def task_of(cell: Cell, target: Target, sms: int) -> Task:
    """The planner's question for a cell of a buffer that begins at a boundary of accesses."""
    array = ArraySpec(cell.shape, cell.strides, cell.offset * cell.dtype.itemsize % 16, cell.dtype)
    program = program_of(cell.op, cell.axes, {}, [array])
    kept = tuple(n for a, n in enumerate(cell.shape) if a not in cell.axes)
    results = real_specs(ArraySpec(kept, dense(kept), 0, t) for _, t in program.results)
    return prepare_program(program, real_specs([array]), results, Machine(target, sms)).steps[0].prepared.task


def decision(table: Table[Any], cell: Cell, task: Task) -> Decision | None:
    """What ``table`` decides for a cell; None where it decides nothing."""
    choices = [*(choice for _, choice in table.rows), None]
    bounds = [*(bound for bound, _ in table.rows), math.inf]
    with asked(table, table._replace().at) as sizes:
        own = choose(task)
    if not sizes:
        return None
    row = next(k for k, bound in enumerate(bounds) if sizes[-1] <= bound)
    plans = {choices[row]: own}
    for other in choices[max(0, row - 1) : row + 2]:
        with asked(table, lambda _, other=other: other):  # type: ignore[misc]
            found = choose(task)
        if found.plan not in [c.plan for c in plans.values()]:
            plans.setdefault(other, found)
    return Decision(cell, sizes[-1], plans) if len(plans) > 1 else None


def refitted(table: Table[Any], timed: Sequence[tuple[float, dict[Any, float]]]) -> tuple[tuple[float, Any], ...]:
    """The rows with each bound where the choice of the next row becomes faster, by (size, time of each choice)."""
    rows = [*table.rows, (math.inf, None)]
    bounds = [0.0]
    for (bound, here), (after, there) in pairwise(rows):
        beside = [(n, t) for n, t in timed if bounds[-1] < n <= after and here in t and there in t]

        def cost(end: float, beside: Any = beside, here: Any = here, there: Any = there) -> float:
            return sum(math.log(t[here] if n <= end else t[there]) for n, t in beside)

        ends = [n for n, _ in beside if n < after] + [n - 1 for n, _ in beside if n - 1 > bounds[-1]]
        best = min(ends, key=cost, default=bound)
        bounds.append(best if cost(bound) - cost(best) > LEAST * len(beside) else bound)
    return tuple((end, choice) for end, (_, choice) in zip(bounds[1:], table.rows, strict=True))


def report(table: Table[Any], decisions: Sequence[Decision], time: Timer) -> Iterator[str]:
    """A line for each layout, and the rows as their times would have them."""
    timed = []
    for cell, size, plans in sorted(decisions, key=lambda d: d.size):
        times = dict(zip(plans, time(cell, list(plans.values())), strict=True))
        timed.append((size, times))
        words = ", ".join(f"{'beyond' if choice is None else choice}: {us:.1f} us" for choice, us in times.items())
        yield f"{cell.dtype} {cell.name}, {size:g} {table.bound}: {words}"
    yield f"rows now:      {table.rows}"
    yield f"as timed here: {refitted(table, timed)}"


class OnGpu:
    """Times choices for cells of one buffer on the GPU.

    Args:
        backend, torch: the GPU, by the driver and by PyTorch.
        cells: what the buffer must hold, all of one element type.
    """

    def __init__(self, backend: Any, torch: Any, cells: Sequence[Cell]) -> None:
        nbytes = min(reach(cells), MOST_BYTES, backend.memory_free()[0] // 2)
        buffer = torch.zeros(-(-nbytes // 16) * 16, dtype=torch.uint8, device="cuda")
        Truth(torch, buffer).fill(cells[0].dtype)
        self.bed = Bed(buffer, backend, int(torch.cuda.current_stream().cuda_stream))

    def __call__(self, cell: Cell, choices: Sequence[Choice]) -> list[float]:
        bed = self.bed
        arrays = Operands(bed.buffer, (bed.view(cell),), bed.backend, bed.stream)
        program = program_of(cell.op, cell.axes, {}, arrays.inputs)
        allocate(arrays, program)
        trials = Trials(prepare(arrays, program, "", "run"), arrays)
        with trials.open(choices[0]):
            return [trials.time(choice, RUNS).median for choice in choices]


def decided(table: Table[Any], cells: Sequence[Cell], target: Target, sms: int) -> list[Decision]:
    """What a table decides for some cells."""
    found = (decision(table, cell, task_of(cell, target, sms)) for cell in cells)
    return [each for each in found if each is not None]


@click.command()
@click.argument("name", metavar="TABLE", required=False)
@click.option("--list", "listing", is_flag=True, help="List the tables.")
@click.option("--only", default="*", help="Names of layouts, as `warpfold grid --only` takes them.")
@click.option("--dtypes", default=",".join(DTYPES), show_default=True, help="Element types.")
def main(name: str | None, listing: bool, only: str, dtypes: str) -> None:
    """Time the rows of TABLE on a GPU."""
    known = tables()
    if listing:
        for each, table in known.items():
            click.echo(f"{each}: {table.choice} by {table.bound}; set {table.measured}")
        return
    if name not in known:
        raise click.UsageError(f"{name} is no table of the planner; --list names them" if name else "name a TABLE")
    try:
        cells = [c for c in chosen(only, dtypes) if not isinstance(c, ProgramCell)]
        backend = gpu("measure_table", "--list names the tables anywhere")
        torch = library()
    except WarpfoldError as e:
        raise click.ClickException(str(e)) from e
    for dtype in dict.fromkeys(c.dtype for c in cells):
        found = decided(known[name], [c for c in cells if c.dtype == dtype], backend.target, backend.sms)
        if found:
            for line in report(known[name], found, OnGpu(backend, torch, [d.cell for d in found])):
                click.echo(line)


if __name__ == "__main__":
    main()
