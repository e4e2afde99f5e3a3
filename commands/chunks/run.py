"""``warpfold run --chunk``: reduces files chunk after chunk, with bounded memory, and goes on where it was stopped."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...compiler import files
from ...compiler.dtypes import dtype
from ...compiler.errors import error
from ...compiler.program.tracing import leaf_names
from ...compiler.space.geometry import normalize_axes
from ...runtime.states.calls import finish, merge, partial
from ...runtime.states.state import State
from .. import terminal
from ..requests import inputs
from ..requests.count_request import CountRequest
from ..requests.inputs import Array
from ..requests.program_request import ProgramRequest
from ..requests.request import Request
from ..results import ResultFile, result_facts, result_lines
from ..timing import why
from .keeper import Keeper
from .pieces import Pieces

MOST_THREADS = 4
"""The most threads that reduce chunks: as many chunks are in memory."""


@dataclass
class Chunked:
    """What a run did.

    Attributes:
        state: the state of the chunks so far, where the axis that is cut is reduced.
        rows: the results of the chunks so far, where it is kept.
        chunks: how many were reduced.
        seconds: how long that took.
    """

    state: State | None = None
    rows: list[list[Array]] = field(default_factory=list)
    chunks: int = 0
    seconds: float = 0.0


def run(
    request: Request | ProgramRequest, chunk: str | None, resume: str | None, *, keepdims: bool, output: str | None,
    device: str, json: bool,
) -> None:  # fmt: skip
    """Reduces the files of ``request``, shows the results and writes them.

    Args:
        request: the reduction and its files.
        chunk: about how many bytes of the arrays are read at once, as ``256MiB``.
        resume: the file of a state to go on from, if it exists, and to leave behind when the run is stopped.
        keepdims: keep the reduced axes in the result, with size 1.
        output: the file to write, None for none.
        device: where to run.
        json: print one JSON object.

    Raises:
        ArgumentError: WF844 for a program, WF859 for a count, WF852 without ``chunk``, WF853 without files, WF854 for a
            file of a state of other files or elements, WF855 and WF850 where no state goes from chunk to
            chunk.
        FileError: WF505 for files that cannot be written.
    """
    if isinstance(request, ProgramRequest):
        raise error("WF844", name=request.name, option="--chunk", remedy="run it on slices of the array, one by one")
    if isinstance(request, CountRequest):
        raise request.without("--chunk")
    if chunk is None:
        raise error("WF852", option="--resume", needed="--chunk 256MiB")
    nbytes = inputs.bytes_of(chunk)
    if not request.files:
        raise error("WF853", option="--chunk")
    kept = (*request.files, *([resume] if resume else []))
    target = ResultFile(output, kept) if output is not None else None
    if resume is not None:
        files.expect_writable(resume)
    pieces = Pieces.of(request.arrays, nbytes)
    axes = normalize_axes(request.axis, request.arrays[0].ndim)
    done, keeper = Chunked(), Keeper(resume, request, pieces, axes)
    started = time.perf_counter()
    with request.users_code():
        _reduce(request, done, keeper, device)
        found, structure = _results(request, pieces, axes, done, device, keepdims=keepdims)
    done.seconds = time.perf_counter() - started
    labels = leaf_names(structure)
    if target is not None:
        target.save(request.name, labels, found)
    _show(request, pieces, done, labels, found, device=device, output=output, json=json)
    keeper.ended()


def _reduce(request: Request, done: Chunked, keeper: Keeper, device: str) -> None:
    """Reduces all pieces that the state of the file has not seen."""
    pieces, axes = keeper.pieces, keeper.axes
    reduced = pieces.axis in axes
    if not reduced and keeper.named:
        raise error("WF855", axis=pieces.axis, option="--resume")
    if reduced and pieces.axis != axes[0]:
        raise error("WF850", axis=pieces.axis, first=axes[0])
    done.state = keeper.begun(device) if reduced else None
    begin = keeper.rows(done.state)
    options = {"device": device, "plan": request.plan, "determinism": request.determinism}
    each = keeper.each if reduced else 0

    def state_of(at: int, piece: tuple[Array, ...]) -> State:
        return partial(*piece, what=request.what, axis=axes, start=at * each, **options, **request.params)

    try:
        with _progress(pieces.extent, begin) as advance:
            for behind, state in pieces.after(begin, state_of, _threads(request, device)):
                done.state = state if done.state is None or not reduced else merge(done.state, state)
                if not reduced:
                    done.rows.append(_flat(finish(state)))
                done.chunks += 1
                keeper.seen(done.state)
                advance(behind)
    except KeyboardInterrupt:
        keeper.stopped(done.state if reduced else None)
        raise


def _threads(request: Request, device: str) -> int:
    """How many threads reduce chunks at once: on the emulator one for each processor, but few, as each has a chunk."""
    if request.operands([x[:0] for x in request.arrays], device).backend.name != "emulator":
        return 0
    return min(len(os.sched_getaffinity(0)), MOST_THREADS)


def _results(
    request: Request, pieces: Pieces, axes: tuple[int, ...], done: Chunked, device: str, *, keepdims: bool
) -> tuple[list[Array], Any]:
    """The results, and how they nest."""
    if done.state is None:  # of no elements
        options = {"device": device, "plan": request.plan, "determinism": request.determinism}
        xs = [np.array(x) for x in request.arrays]
        done.state = partial(*xs, what=request.what, axis=axes, **options, **request.params)  # type: ignore[arg-type]
    structure = done.state.cut.traced().structure
    if not done.rows:
        return _flat(finish(done.state, keepdims=keepdims)), structure
    at = pieces.axis - sum(a < pieces.axis for a in axes)
    found = [np.concatenate(rows, axis=at) for rows in zip(*done.rows, strict=True)]
    return [np.expand_dims(r, axes) for r in found] if keepdims else found, structure


def _flat(results: Any) -> list[Array]:
    """Results in one flat sequence."""
    if not isinstance(results, tuple):
        return [np.asarray(results)]
    return [leaf for member in results for leaf in _flat(member)]


@contextmanager
def _progress(extent: int, begin: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, which the yielded function moves; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reducing", total=extent, completed=begin)
        yield lambda behind: bar.update(task, completed=behind)


def _show(
    request: Request, pieces: Pieces, done: Chunked, labels: list[str], found: list[Array], *, device: str,
    output: str | None, json: bool,
) -> None:  # fmt: skip
    """What was done, in words or as JSON."""
    types = [dtype(r.dtype) for r in found]
    nbytes = sum(x.nbytes for x in request.arrays)
    backend = request.operands([x[:0] for x in request.arrays], device).backend
    if json:
        shape, own, source = request.kind()
        facts = {
            "op": request.op, "name": request.name, "shape": list(shape), "dtypes": [t.name for t in own],
            "source": source, "axis": None if request.axis is None else list(request.axis),
            "results": result_facts(labels, types, found, ()), "chunks": done.chunks, "rows": pieces.rows,
            "backend": backend.name, "why": why(backend, device), "run_ms": done.seconds * 1e3, "output": output,
        }  # fmt: skip
        terminal.show(terminal.as_json(facts))
        return
    lines: list[tuple[str, object]] = [
        ("run", f"{request.title()} ({request.kind()[2]})"),
        ("on", why(backend, device)),
    ]
    lines += result_lines(labels, types, found, None)
    cut = f"{done.chunks} of {pieces.rows} along axis {pieces.axis}; not checked, since elements are read once"
    lines.append(("chunks", cut))
    lines.append(("time", f"{terminal.duration(done.seconds)}, {terminal.size(nbytes / max(done.seconds, 1e-9))}/s"))
    terminal.facts([*lines, *([("written", output)] if output else [])])
