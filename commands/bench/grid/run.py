"""``warpfold grid``: checks and times hundreds of layouts, of reductions and of programs, to find slow shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from fnmatch import fnmatchcase
from typing import Any, Literal

from ....compiler.dtypes import dtype
from ....compiler.errors import WarpfoldError, error
from ....runtime.tuning.measure import Ceilings, Timing, ceilings, timed
from ... import terminal
from ...output_file import Output
from .. import provenance
from ..gpu import gpu
from ..programs.ours import LacksError
from . import heatmap, records, reference, regression, summary
from .buffer import Bed, Work, kinds, reach
from .cells import Cell, ProgramCell
from .program_shapes import cells as programs
from .records import PRINTED_BYTES, Record, Report
from .shapes import DTYPES, cells

End = Literal["passed", "missed", "interrupted"]
RUNS, RUNS_AGAIN = 7, 25
"""Timed launches of a cell, and of a cell that missed its gate, which may have been by chance."""
SLOWEST_COPY = 1.25
"""The longest time of a large copy, relative to that at the ceiling."""
KEPT_EVERY = 100
"""Number of cells between writes of the file."""
MOST_BYTES = 8 << 30
"""Greatest size of the buffer in bytes; larger cells are left out."""


def grid(*, only: str, dtypes: str, out: str | None, plot: str | None, against: str | None) -> End:
    """Measures all cells, writes and draws the report, and compares it with an earlier one.

    Raises:
        BackendError: WF742 without a GPU, WF745 without PyTorch.
        ArgumentError: WF753 or WF754 for unknown cells.
        FileError: WF505, WF830 or WF831 for files that cannot be written, WF501, WF743 or WF744 for an old
            grid that cannot be read.
    """
    wanted = chosen(only, dtypes)
    output = Output(out) if out is not None else None
    picture = heatmap.Picture(plot) if plot is not None else None
    before = records.read(against) if against is not None else None
    torch, backend = _device()
    report = Report(provenance.machine(backend), warnings=provenance.busy(backend))
    if before is not None:
        regression.comparable(against or "", before, report)
    bed, source = _bed(torch, backend, wanted)
    with terminal.progress("measuring the ceilings"):
        found = ceilings(backend, bed.stream)
    report.ceilings = asdict(found)
    _measured(report, bed, source, wanted, found, output)
    if output is not None:
        report.write(output)
    if picture is not None:
        picture.write(report)
    slower = summary.show(report, before)
    if not report.complete:
        return "interrupted"
    return "missed" if report.misses() or slower else "passed"


def chosen(only: str, dtypes: str) -> list[Cell]:
    """The cells of the given types with names that match one of some patterns.

    Raises:
        ArgumentError: WF754 for a type that is not in the grid, WF753 when no name matches.
    """
    names = [name.strip() for name in dtypes.split(",")]
    for name in names:
        if name not in DTYPES:
            raise error("WF754", dtype=name, known=" ".join(DTYPES))
    everything = [c for name in dict.fromkeys(names) for make in (cells, programs) for c in make(dtype(name))]
    patterns = [pattern.strip() for pattern in only.split(",")]
    found = [c for c in everything if any(fnmatchcase(c.name, pattern) for pattern in patterns)]
    if not found:
        raise error("WF753", pattern=only, kinds=" ".join(dict.fromkeys(c.kind for c in everything)))
    return found


def listed(only: str, dtypes: str, files: Mapping[str, str | None]) -> None:
    """Lists the cells without measuring them; needs no GPU.

    Raises:
        ArgumentError: WF753 or WF754 for unknown cells, WF814 for one of ``files``, the options of a measurement.
    """
    for option, path in files.items():
        if path is not None:
            raise error("WF814", first="--list", option=option, remedy=f"a list measures nothing: leave {option} out")
    found = chosen(only, dtypes)
    lines = [
        (
            c.name,
            c.op,
            c.dtype,
            "x".join(map(str, c.shape)),
            *map(_numbers, (c.strides, c.axes)),
            terminal.size(c.nbytes),
        )
        for c in found
    ]
    terminal.table(("layout", "op", "type", "shape", "strides", "axes", "moves"), lines, spare=("strides",))
    terminal.show(f"\n{len(found)} cells of {len({c.name for c in found})} layouts")


def _numbers(values: Sequence[int]) -> str:
    return ",".join(map(str, values))


def _device() -> tuple[Any, Any]:
    """PyTorch, and the GPU.

    Raises:
        BackendError: WF742 without a GPU, WF745 without PyTorch.
    """
    backend = gpu(records.FORMAT, "warpfold grid --list shows its cells anywhere")
    return reference.library(), backend


def _bed(torch: Any, backend: Any, wanted: Sequence[Cell]) -> tuple[Bed, reference.Truth]:
    """A buffer on the GPU for all cells, or for as many as fit in memory."""
    nbytes = min(reach(wanted), MOST_BYTES, backend.memory_free()[0] // 2)
    buffer = torch.zeros(-(-nbytes // 16) * 16, dtype=torch.uint8, device="cuda")
    stream = int(torch.cuda.current_stream().cuda_stream)
    return Bed(buffer, backend, stream), reference.Truth(torch, buffer)


def _measured(
    report: Report, bed: Bed, source: reference.Truth, wanted: Sequence[Cell], found: Ceilings, output: Output | None
) -> None:
    """Measures all cells into the report; Ctrl-C ends the measurement and keeps the cells so far."""
    try:
        with _steps(len(wanted)) as step:
            for kind in kinds(wanted):
                source.fill(kind)
                for cell in (c for c in wanted if c.dtype == kind):
                    step(f"{cell.dtype} {cell.name}")
                    if not bed.holds(cell):
                        report.left_out.append(f"{cell.dtype} {cell.name}")
                        continue
                    report.cells.append(measured(cell, bed, source, found, report))
                    if output is not None and len(report.cells) % KEPT_EVERY == 0:
                        report.write(output)
        report.complete = True
    except KeyboardInterrupt:
        terminal.show(f"interrupted after {len(report.cells)} of {len(wanted)} cells\n")


@contextmanager
def _steps(total: int) -> Iterator[Any]:
    """A progress bar on a terminal; call the yielded function before each cell."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=total)

        def step(text: str) -> None:
            bar.update(task, advance=1, description=text)

        yield step


def measured(cell: Cell, bed: Bed, source: Any, found: Ceilings, report: Report) -> Record:
    """Computes, checks and times one cell; a cell that misses its gate is timed again."""
    record = _named(cell)
    try:
        with bed.work(cell) as work:
            record["plan"] = report.plan_number(work.plan)
            record |= _numbers_of(cell, work, bed, found, RUNS)
            if records.slow(record):
                record |= _numbers_of(cell, work, bed, found, RUNS_AGAIN)
        record["right"] = source.error(cell, work.result()) <= 1
    except (WarpfoldError, LacksError, RuntimeError) as e:  # of warpfold, PyTorch or the driver: others may succeed
        record["error"] = str(e).partition("\n")[0]
    return record


def _named(cell: Cell) -> Record:
    """The fields of a cell that are known before it runs."""
    record: Record = {"cell": cell.name, "dtype": cell.dtype.name, "op": cell.op, "shape": list(cell.shape)}
    record |= {"strides": list(cell.strides), "offset": cell.offset, "axes": list(cell.axes), "bytes": cell.nbytes}
    record |= {"one_cta": cell.fits_one_cta}
    if isinstance(cell, ProgramCell):
        record["program"] = True
    return record | ({"issue": cell.issue} if cell.issue else {})


def _numbers_of(cell: Cell, work: Work, bed: Bed, found: Ceilings, runs: int) -> Record:
    """The times in us, the fraction of the ceiling of a large cell, and the time of one CTA beyond an empty launch."""
    time = _timed(bed, work.launch, runs)
    record: Record = {"us": round(time.median, 3), "low": round(time.low, 3), "high": round(time.high, 3)}
    if cell.nbytes >= PRINTED_BYTES:
        floor = _copied(bed, work.copy, cell, found, runs) if work.copy else found.read_at(cell.nbytes)
        record["fraction"] = round(floor / time.median, 4)
    if cell.fits_one_cta:
        record["above"] = round(time.median - found.empty, 3)
    return record


def _copied(bed: Bed, copy: Callable[[], object], cell: Cell, found: Ceilings, runs: int) -> float:
    """Time in microseconds of a copy. Now and then a large one takes several times as long, which must not count."""
    time = _timed(bed, copy, runs).median
    large = cell.nbytes >= records.GATED_BYTES
    return min(time, SLOWEST_COPY * cell.nbytes / found.copy / 1e3) if large else time


def _timed(bed: Bed, launch: Callable[[], object], runs: int) -> Timing:
    backend: Any = bed.backend
    return timed(backend, [launch], stream=bed.stream, runs=runs, warmup=1)
