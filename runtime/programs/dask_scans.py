"""Scans of Dask's arrays along an axis that is cut into chunks, by states that are carried from chunk to chunk.

The state of each chunk is found in a task of its own. A chain of small tasks joins those before each chunk, from the
left, and the scan of the chunk follows the state that it gets: bits depend on the chunks, and not on the scheduler.
In a ``reverse`` scan the last chunk is the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate, product
from operator import itemgetter
from typing import Any

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from ...compiler.dtypes import dtype
from ...compiler.program.arrays.scanning import Part, of_part
from ...compiler.program.arrays.sym_array import SymArray
from ...compiler.program.arrays.trace import ArrayArg, trace_arrays
from ...compiler.program.library.programs import scans as library
from ...compiler.program.symbols import constant
from ...compiler.program.tracing import nest
from ..arrays.dask_arrays import from_code, leaves, to_code
from .arguments import Arguments
from .function import program
from .scans import is_made

Tasks = dict[tuple[Any, ...], Any]
_LIBRARY = frozenset(getattr(library, name) for name in library.__all__)


def is_scan(function: Callable[..., Any]) -> bool:
    """Whether a function of arrays is one scan and nothing else."""
    return function in _LIBRARY or is_made(function)


def in_parts(function: Callable[..., Any], arguments: Arguments, options: Any, arrays: Sequence[Any]) -> Any:
    """The results of a scan of arrays of Dask, nested as it nests them; None where no chunks are cut along its axis."""
    arrays = da.broadcast_arrays(*arrays) if len(arrays) > 1 else list(arrays)
    names = tuple(range(arrays[0].ndim))
    arrays = list(da.core.unify_chunks(*(item for x in arrays for item in (x, names)))[1])
    first, probe = arrays[0], Part(None, 0, ends=True)
    args = [ArrayArg(dtype(x.dtype), x.shape, not x.ndim) for x in arrays]
    call = ScanInParts(function, arguments, tuple(options.items()), tuple(a.dtype.name for a in args), first.shape)
    name = str(getattr(function, "__name__", "scan"))
    with of_part(probe):
        trace_arrays(lambda *xs: arguments.call(function, xs), args, {}, name=name)
    axis = probe.axis
    if axis is None or first.numblocks[axis] < 2:
        return None
    whole = trace_arrays(lambda *xs: arguments.call(function, xs), args, {}, name=name)
    token = tokenize([x.name for x in arrays], whole.digest, arguments, dict(options), first.chunks)
    tasks = _tasks(call, arrays, axis, probe.reverse, token)
    graph = HighLevelGraph.from_collections(f"scan-{token}", tasks, arrays)
    chunks = tuple(_longer(c, probe) if a == axis else c for a, c in enumerate(first.chunks))
    found = []
    for k, output in enumerate(whole.outputs[: len(whole.outputs) - len(whole.checks)]):
        label, places = f"{whole.name}-{k}-{token}", product(*(range(len(c)) for c in chunks))
        layer = {(label, *place): (itemgetter(k), (f"scan-{token}", *place)) for place in places}
        layers = HighLevelGraph({**graph.layers, label: layer}, {**graph.dependencies, label: {f"scan-{token}"}})
        found.append(da.Array(layers, label, chunks, dtype=output.stored.numpy))
    return nest(whole.structure, found)


def _longer(chunks: tuple[int, ...], probe: Part) -> tuple[int, ...]:
    """The chunks of a result, one of which may begin with the identity."""
    more = len(chunks) - 1 if probe.reverse else 0
    return tuple(n + (probe.longer and i == more) for i, n in enumerate(chunks))


def _tasks(call: ScanInParts, arrays: Sequence[Any], axis: int, reverse: bool, token: str) -> Tasks:
    """The tasks: for each chunk its state, the state before it, and its results."""
    chunks = arrays[0].chunks
    begins = [0, *accumulate(chunks[axis])]
    made: Tasks = {}
    for place in product(*(range(len(c)) for a, c in enumerate(chunks) if a != axis)):
        before: Any = None
        order = range(len(chunks[axis]))[:: -1 if reverse else 1]
        for i in order:
            at = (*place[:axis], i, *place[axis:])
            blocks = [(x.name, *at) for x in arrays]
            made[f"scan-{token}", *at] = (call.results, begins[i], i == order[0], before, *blocks)
            if chunks[axis][i]:
                made[f"state-{token}", *at] = (call.ends, begins[i], *blocks)
                own = (f"state-{token}", *at)
                if before is None:
                    before = own
                else:
                    made[f"before-{token}", *at] = (call.joined, before, own)
                    before = (f"before-{token}", *at)
    return made


@dataclass(frozen=True)
class ScanInParts:
    """A call of a scan, of which tasks make parts.

    Attributes:
        function: the function of arrays, which is one scan.
        arguments: its arguments without the arrays.
        options: the arguments of every call.
        types: the element types of the arrays.
        shape: the shape of the whole arrays.
    """

    function: Callable[..., Any]
    arguments: Arguments
    options: tuple[tuple[str, Any], ...]
    types: tuple[str, ...]
    shape: tuple[int, ...]

    def __reduce__(self) -> Any:
        return _from_code, (to_code((self.function, self.arguments, self.options, self.types, self.shape)),)

    def ends(self, start: int, *blocks: Any) -> tuple[Any, ...]:
        """The values of the state of one chunk, which begins at this position."""
        return self._run(_ends, np.asarray(start), *map(np.asarray, blocks))

    def joined(self, left: Sequence[Any], right: Sequence[Any]) -> tuple[Any, ...]:
        """The values of the state of two neighbours."""
        return self._run(_joined, *map(np.asarray, (*left, *right)))

    def results(self, start: int, leads: bool, before: Sequence[Any] | None, *blocks: Any) -> tuple[Any, ...]:
        """The results of one chunk, in a flat sequence; ``before`` is the state of all chunks before it."""
        what = _after if before is not None else _first if leads else _inside
        return self._run(what, np.asarray(start), *map(np.asarray, (*(before or ()), *blocks)))

    def _run(self, what: Callable[..., Any], *arrays: Any) -> tuple[Any, ...]:
        return tuple(leaves(_program(what, self)(*arrays, **dict(self.options))))

    def part(self, start: Any, **how: Any) -> Part:
        """The part of the elements that begins at this position."""
        return Part(start, max(self.shape), **how)

    def of(self, part: Part, xs: Sequence[Any]) -> Any:
        """The scan of a part, in a trace."""
        with of_part(part):
            return self.arguments.call(self.function, xs)


def _from_code(data: bytes) -> ScanInParts:
    return ScanInParts(*from_code(data))


@lru_cache(maxsize=256)
def _program(what: Callable[..., Any], call: ScanInParts) -> Callable[..., Any]:
    """The program of a kind of task, always the same one, so that its calls are seen to be alike."""
    function = partial(what, call)
    function.__name__ = function.__qualname__ = str(getattr(call.function, "__name__", "scan"))  # type: ignore[attr-defined]
    return program(function)


def _ends(call: ScanInParts, start: Any, /, *xs: Any) -> Any:
    return call.of(call.part(start, ends=True), xs)


def _joined(call: ScanInParts, /, *values: Any) -> Any:
    half = len(values) // 2
    part = call.part(None, before=list(values[:half]), own=list(values[half:]))
    some: Any = values[0]
    shape = (None,) * len(call.shape)
    return call.of(part, [SymArray(constant(0, dtype(t)).expr, shape, some.dims, dtype(t)) for t in call.types])


def _first(call: ScanInParts, start: Any, /, *xs: Any) -> Any:
    return call.of(call.part(start), xs)


def _inside(call: ScanInParts, start: Any, /, *xs: Any) -> Any:
    return call.of(call.part(start, leads=False), xs)


def _after(call: ScanInParts, start: Any, /, *values: Any) -> Any:
    own = len(values) - len(call.types)
    return call.of(call.part(start, leads=False, before=list(values[:own])), values[own:])
