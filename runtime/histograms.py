"""Histograms and counts of integers, ``wf.histogram`` and ``wf.bincount``: exact, and the same on every run."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..compiler.dtypes import BOOL, DType
from ..compiler.errors import error
from ..compiler.planner.tally import capacity
from ..compiler.program.array_program import ArrayProgram
from ..compiler.program.frames import outermost
from ..compiler.program.library import counting
from . import histogram_calls
from .api import reduce
from .arrays.conversion import from_numpy, view
from .arrays.dask_arrays import in_dask, together, total
from .arrays.fast_readers import NUMBERS, READERS
from .arrays.pytorch import are_tracked
from .arrays.torch_compile import opaque
from .bins import Bins, bins_of
from .calls.operands import Operands
from .calls.recipe import MISS
from .histogram_calls import MEMO
from .options import MOST
from .programs import run
from .programs.reductions import program_of
from .view import View

COUNT, SUM = 4, 8
"""Bytes of a counter of a CTA that counts elements, and of one that adds weights."""


@opaque
@outermost
def bincount(x: Any, weights: Any = None, *, minlength: int = 0, device: str = "auto") -> Any:
    """How many elements have each value from 0 on, or the sums of their weights; waits for the device.

    Args:
        x: an array of integers that are not negative, or of bools, of any shape.
        weights: an array of integers or bools of the shape of ``x``; None for ones.
        minlength: the least number of results; there are as many as the greatest element asks for.
        device: as in ``reduce``.

    Returns:
        An array of rank 1 and of i64, in the library and on the device of ``x``; of Dask, of unknown length.

    Raises:
        DTypeError: WF116 for elements that are no integers, WF117 for weights of another kind.
        ArgumentError: WF118 for a negative element, WF119 for one that asks for more results than there can be,
            WF138 for another ``minlength``, WF147 for weights of another shape.
    """
    if in_dask((x, weights)):
        return _counts_of_blocks(x, weights, minlength, device)
    return _counted_again(of_bincount(x, weights, minlength, device), device)


def _counts_of_blocks(x: Any, weights: Any, minlength: int, device: str) -> Any:
    """The counts of an array of Dask, which are the sums of those of its blocks; how many there are is seen then."""
    if weights is not None and weights.shape != x.shape:
        raise error("WF147", found=weights.shape, expected=x.shape)
    nothing = [np.empty(0, own.dtype) for own in (x, weights) if own is not None]
    bincount(*nothing, minlength=minlength, device=device)  # what no elements can be counted of is refused at once

    def count(*blocks: Any) -> Any:
        return bincount(*map(np.asarray, blocks), minlength=minlength, device=device)

    return together(count, total, (x,) if weights is None else (x, weights), np.int64)


def of_bincount(x: Any, weights: Any, minlength: int, device: str) -> Count:
    """What a call of ``bincount`` counts."""
    dtype, shape = _integers(x)
    if type(minlength) is not int or minlength < 0:
        raise error("WF138", option="minlength", value=minlength, expected="an integer from 0 on", default=0)
    if weights is not None:
        _check_weights(weights, view(x))
    length = minlength
    if 0 not in shape:
        length = max(length, _greatest(x, dtype, device) + 1)
    if length > MOST:
        raise error("WF119", results=length, most=MOST)
    what = counting.bincount if weights is None else counting.weighted_bincount
    return Count.of(what, (x,) if weights is None else (x, weights), (), length, {})


def _greatest(x: Any, t: DType, device: str) -> int:
    """The greatest element; refuses a negative one. One number is copied from the device, since each copy waits."""
    found = int(reduce(x, what=counting.greatest, device=device))
    if t.kind == "int" and found == t.highest:
        low = int(reduce(x, what="min", device=device))
        if low < 0:
            raise error("WF118", value=low)
    return found


@opaque
@outermost
def histogram(
    x: Any, bins: Any = 10, range: Any = None, *, weights: Any = None, device: str = "auto"
) -> tuple[Any, Any]:
    """How many elements lie in each bin, or the sums of their weights, and the edges of the bins.

    The edges are those of NumPy. A bin has its lower edge and not its upper one, but for the last, which has both.
    Elements beside all bins, and NaN, are not counted.

    A CUDA graph can capture a call with ``range``, or with edges in a NumPy array, after one with the same bins on the
    same stream, which copies the edges to the device.

    Args:
        x: an array of real numbers, of any shape.
        bins: how many bins of the same width there are, or their edges, which rise.
        range: the least and the greatest edge of bins of the same width; without it they are the least and the
            greatest element, which waits for the device.
        weights: an array of integers or bools of the shape of ``x``; None for ones.
        device: as in ``reduce``.

    Returns:
        The counts, in i64, and the edges, in the library and on the device of ``x``.

    Raises:
        DTypeError: WF117 for weights that are no integers, WF225 for complex elements.
        ArgumentError: WF147 for weights of another shape, WF155 for other bins, WF156 for another range, WF119 for more
            bins than there can be.
    """
    found = histogram_calls.repeated(x, bins, range, weights, device)
    if found is not MISS:
        return found  # type: ignore[no-any-return]
    if in_dask((x, weights)):
        return _of_blocks(x, bins, range, weights, device)
    count, own = of_histogram(x, bins, range, weights, device)
    found = _counted_again(count, device)
    histogram_calls.keep(x, (bins, range, weights, device), count.key(device), own)
    return found, histogram_calls.copy(own.edges)


def _of_blocks(x: Any, bins: Any, range: Any, weights: Any, device: str) -> tuple[Any, Any]:
    """A histogram of an array of Dask, which adds those of its blocks."""
    if range is None and np.ndim(bins) == 0:
        problem = "the bins lie between the least and the greatest element, which are not there yet"
        raise error("WF190", problem=problem, remedy="give range=(least, greatest), or the edges of the bins")
    if weights is not None and weights.shape != x.shape:
        raise error("WF147", found=weights.shape, expected=x.shape)
    edges = histogram(np.empty(0, x.dtype), bins, range, device=device)[1]

    def count(block: Any, own: Any = None) -> Any:
        return histogram(block, bins, range, weights=own, device=device)[0]

    return together(count, total, (x,) if weights is None else (x, weights), np.int64, len(edges) - 1), edges


def of_histogram(x: Any, bins: Any, range: Any, weights: Any, device: str) -> tuple[Count, Bins]:
    """What a call of ``histogram`` counts, and its bins."""
    x = x.detach() if are_tracked((x,)) else x
    v = view(x)
    if v.dtype.kind == "complex":
        raise error("WF225", dtype=v.dtype, lack="order")
    _check_weights(weights, v)
    found = bins_of(x, v, bins, range, device)
    what = counting.histogram if weights is None else counting.weighted_histogram
    arrays = (x,) if weights is None else (x, weights)
    return Count.of(what, arrays, (found.lower, found.upper), found.count, found.how), found


class Count(NamedTuple):
    """A count, as a reduction of arrays that are stretched along its results.

    Attributes:
        what: the tensor program, of ``counting.py``.
        arrays: the elements, and their weights if there are any.
        edges: the edges of bins, if there are any, in two arrays.
        results: how many results there are.
        params: the parameters of the program.
    """

    what: Any
    arrays: tuple[Any, ...]
    edges: tuple[Any, ...]
    results: int
    params: dict[str, Any]

    @property
    def _repeated(self) -> list[int]:
        """The dims of more than one element along which no array moves."""
        own = [view(x) for x in self.arrays]
        return [i for i, n in enumerate(own[0].shape) if n > 1 and not any(v.strides[i] for v in own)]

    @property
    def _params(self) -> dict[str, Any]:
        """The parameters, with how often each element is there."""
        shape = view(self.arrays[0]).shape
        times = prod(shape[i] for i in self._repeated)
        if times == 1:
            return self.params
        signed = (times + 2**63) % 2**64 - 2**63  # counts wrap as sums of integers do
        return self.params | {"times": signed, "counters": capacity(self.results, SUM)}

    @classmethod
    def of(
        cls, what: Any, arrays: tuple[Any, ...], edges: tuple[Any, ...], results: int, params: dict[str, Any]
    ) -> Count:
        """The count of the elements of ``arrays``."""
        params = {**params, "counters": capacity(results, COUNT if len(arrays) == 1 else SUM)}
        return cls(what, arrays, edges, results, params)

    def key(self, device: str) -> Hashable:
        """What the launches follow from, besides the arrays: of edges it is where they are."""
        places = [(v.address, v.dtype) for v in map(view, self.edges)]
        return (self.what.__name__, self.results, device, *self.params.items(), *places)

    def program(self, operands: Operands) -> ArrayProgram:
        """The reduction of its operands, over all axes of the elements."""
        rank = len(operands.inputs[0].shape)
        return program_of(self.what, tuple(range(1, rank)), self._params, operands.inputs)

    def operands(self, device: str) -> Operands:
        """The arrays: elements are stretched along the results, and edges along the elements.

        Elements that are there several times are read once.
        """
        found, repeated = run.operands_of(self.arrays[:1], device), self._repeated
        shape = tuple(1 if i in repeated else n for i, n in enumerate(found.inputs[0].shape)) or (1,)
        elements = [replace(v, strides=(0, *(v.strides or (1,)))) for v in map(view, self.arrays)]
        edges = [replace(v, strides=(1, *(0 for _ in shape))) for v in map(view, self.edges)]
        found.inputs = tuple(replace(v, shape=(self.results, *shape)) for v in (*elements, *edges))
        found.fixed = len(edges)
        return found


def _counted_again(count: Count, device: str) -> Any:
    """The results; calls with arrays like those of an earlier one repeat its launches."""
    return MEMO(count.key(device), count.what, count.arrays, lambda: _counted(count, device))


def _counted(count: Count, device: str) -> Any:
    """The results of a call in full."""
    first = count.arrays[0]
    if not count.results or 0 in view(first).shape:
        return from_numpy(first, np.zeros(count.results, np.int64))
    operands = count.operands(device)
    program = count.program(operands)
    run.allocate(operands, program)
    return run.run(operands, run.prepare(operands, program, "", "run"))


def _integers(x: Any) -> tuple[DType, Sequence[int]]:
    """The type and the shape of an array of integers or bools; an array of a known kind is not viewed again."""
    kind = (type(x), x.dtype) if READERS[type(x)] not in (None, NUMBERS) else None
    if (dtype := _types.get(kind)) is not None:
        return dtype, x.shape
    v = view(x)
    if v.dtype != BOOL and not v.dtype.is_integer:
        raise error("WF116", dtype=v.dtype)
    if kind:
        _types[kind] = v.dtype
    return v.dtype, v.shape


_types: dict[Hashable, DType] = {}


def _check_weights(weights: Any, like: View) -> None:
    """Refuses weights, if there are any, that are no integers or not one for each element."""
    if weights is None:
        return
    v = view(weights)
    if v.dtype != BOOL and not v.dtype.is_integer:
        raise error("WF117", dtype=v.dtype)
    if v.shape != like.shape:
        raise error("WF147", found=v.shape, expected=like.shape)
    if v.device != like.device:
        raise error("WF107", devices=f"the elements on {like.device}, the weights on {v.device}")
