"""A call of a program on shards: its stages, with one gather of states between each and the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ...compiler.errors import WarpfoldError, error
from ...compiler.program.array_program import ArrayProgram
from ...compiler.program.arrays.trace import ArrayArg
from ...compiler.program.shards.cut_dims import Number
from ...compiler.program.shards.stages import Kept, stages_of
from ...compiler.program.tracing import nest
from ..arrays.conversion import check_out
from ..programs.function import ArrayFunction
from .group import PROGRAM, Ranks
from .packing import Memory, Packing

LEAST = 2
"""What a cut axis of fewer elements counts as when a program is traced: an axis of one element is no dim."""
Extents = tuple[tuple[int, ...], ...]
"""For each array the extents of its shards on all ranks; nothing for an array that every rank has."""


class Staged:
    """A kind of call of a program on the ranks of a group: everything but its arrays.

    Attributes:
        ranks: the ranks.
        name: of the program.
        options: the options of the calls.
        stages: the stages.
        gathers: how many gathers of states a call has.
        some: the ranks whose shards have elements, or all where none has.
        results: for each result the axis along which it is cut, and the extents of all ranks; None and nothing for one
            that every rank has.
    """

    def __init__(
        self, program: ArrayProgram, axes: tuple[int | None, ...], arrays: Sequence[ArrayArg], extents: Extents,
        ranks: Ranks, options: Mapping[str, Any], *, late: bool = False,
    ) -> None:  # fmt: skip
        self.ranks, self.options, self.name = ranks, options, program.name
        whole = [whole_of(a, axis, own) for a, axis, own in zip(arrays, axes, extents, strict=True)]
        self.stages = stages_of(program, axes, late=late)
        cut = self._extents(program, extents)
        self._numbers = [self._number(n, program, whole, cut) for n in self.stages.numbers]
        counts = [prod(own) for own in zip(*cut.values(), strict=True)]
        self.some = [r for r, n in enumerate(counts) if n] or [*range(ranks.count)]
        sizes = program.sizes_of([a.shape for a in whole])
        self.results: list[tuple[int | None, tuple[int, ...]]] = [
            (own.axis, tuple(n * prod(sizes[d] for d in own.dims[1:]) for n in cut[own.dims[0]])) if own else (None, ())
            for own in self.stages.results
        ]
        self._checks = bool(program.checks)
        self._types = [o.stored for o in program.outputs]
        self._shapes = [
            tuple(n[ranks.own] if a == axis else m for a, m in enumerate(o.shape(sizes)))
            for o, (axis, n) in zip(program.outputs, self.results, strict=False)
        ]
        self._memory = Memory([_packing(own, sizes) for own in self.stages.states], ranks.count)
        self.gathers = len(self.stages.states)
        self._leaves = ranks.own in self.some  # else no rank reads its states
        programs = [*zip(self.stages.stages, self.stages.taken, strict=True)]
        own = programs if self._leaves else [*self.stages.idle, programs[-1]]
        self._run = [p and _Step(p[0], p[1], options) for p in own]
        self._like = next((i for i, a in enumerate(arrays) if not a.number), 0)
        self._all = len(self.some) == ranks.count

    def __call__(self, arrays: Sequence[Any], out: Sequence[Any] = (), *, check: bool) -> Any:
        """The results of this rank, nested as the function of the program nests them; ``out`` has arrays for them."""
        check_number(out, len(self.results))
        return nest(self.stages.structure, self.flat(arrays, out, check=check))

    def flat(self, arrays: Sequence[Any], out: Sequence[Any] = (), *, check: bool) -> list[Any]:
        """The results in a flat list; with ``check`` a rank that fails before the last gather is an error on all.

        Without, on GPUs, it takes part in all gathers first, so that later calls are not shifted.
        """
        taken, results = [*arrays, *self._numbers], [*out, *[None] * (len(self.results) - len(out))]
        like = arrays[self._like]
        failed = self._misfit(out) if check and out else None
        buffers = self._memory.of(like)
        for k, (step, written) in enumerate(zip(self._run, self.stages.written, strict=True)):
            own = buffers[k] if k < len(buffers) else None
            if own is None and check and self._checks:
                self.ranks.met = False  # elements decide whether a rank fails, so the ranks meet again
            if step is not None and failed is None:
                states = own.states if own and self._leaves else ()
                try:
                    found = step(taken, [*states, *[results[i] for i in written]])
                    for i, r in zip(written, found[len(states) :], strict=True):
                        results[i] = r
                except Exception as e:
                    failed = e
            if own is not None:
                own.bring(self.ranks, failed, told=check or not like.is_cuda)
                taken += own.rows if self._all else [s[self.some] for s in own.rows]
        if failed is not None:
            raise failed
        if not self.ranks.met and check:
            self.ranks.meet(PROGRAM, (), lambda *_: "", self.ranks.device([like]))
        return results

    def _misfit(self, out: Sequence[Any]) -> Exception | None:
        """What is wrong with arrays for results, as far as it can be told before any state is gathered."""
        try:
            for o, shape, t in zip(out, self._shapes, self._types, strict=False):
                if o is not None:
                    check_out(o, shape, t, ())
        except WarpfoldError as e:
            return e
        return None

    def _extents(self, program: ArrayProgram, extents: Extents) -> dict[int, tuple[int, ...]]:
        """For each cut dim the extents of the shards.

        Raises:
            ArgumentError: WF173 for arrays that lie along one dim and are cut at different places.
        """
        first: dict[int, int] = {}
        for array, d in enumerate(self.stages.dims):
            if d is not None and extents[array] != extents[other := first.setdefault(d, array)]:
                problem = f"array {array} has shards of {extents[array]} where array {other} has {extents[other]}"
                raise error("WF173", name=program.name, problem=problem, where=program.where)
        return {d: extents[array] for d, array in first.items()}

    def _number(
        self, number: Number, program: ArrayProgram, whole: Sequence[ArrayArg], cut: Mapping[int, tuple[int, ...]]
    ) -> Any:
        """The value of a number on this rank."""
        sizes = program.sizes_of([a.shape for a in whole])
        before = self.ranks.own if number.kind == "start" else self.ranks.count
        found = prod(sum(cut[d][:before]) if d in cut else sizes[d] for d in program.dims_of(number.space))
        return np.array(found, number.dtype.numpy_name)


def check_number(out: Sequence[Any], results: int) -> None:
    """Refuses arrays for some other number of results with WF125, as other calls do. Every rank has as many arrays."""
    if out and len(out) != results:
        raise error("WF125", expected=results, found=len(out))


def whole_of(array: ArrayArg, axis: int | None, extents: tuple[int, ...]) -> ArrayArg:
    """A shard as the whole array that it is a part of."""
    if axis is None:
        return array
    shape = (*array.shape[:axis], max(sum(extents), LEAST), *array.shape[axis + 1 :])
    return array._replace(shape=shape)


def _packing(states: Sequence[Kept], sizes: Sequence[int]) -> Packing:
    """Where the states of a stage lie."""
    return Packing.each((tuple(sizes[d] for d in s.dims), s.dtype) for s in states)


class _Step:
    """The calls of a stage: of a call that is like an earlier one the arguments are not looked at."""

    def __init__(self, program: ArrayProgram, places: Sequence[int], options: Mapping[str, Any]) -> None:
        self._made = _FixedFunction.of(program)
        self._calls, self._places, self._options = self._made._calls, places, options
        self._memo = self._calls.memo

    def __call__(self, taken: Sequence[Any], out: Sequence[Any]) -> Any:
        """The results for some of the arrays that are ``taken``, in arrays of ``out`` where these are given."""
        xs = [taken[i] for i in self._places]
        given = [o for o in out if o is not None]
        key = tuple([o is None for o in out])
        return self._memo(
            key, self._made.function, (*xs, *given), lambda: self._calls._run(xs, self._options, tuple(out))
        )


class _Fixed:
    """In place of the traces of a function the one program that there is."""

    def __init__(self, program: ArrayProgram, function: Callable[..., Any]) -> None:
        self.program, self.function = program, function

    def get(self, *_: Any, **__: Any) -> ArrayProgram:
        return self.program


class _FixedFunction(ArrayFunction[..., Any]):
    """A program of arrays that is already traced, with calls as any other."""

    @classmethod
    def of(cls, program: ArrayProgram) -> _FixedFunction:
        """The function of this program."""

        def function(*_: Any) -> Any:
            """It is traced already."""

        function.__name__ = program.name
        found = cls(function)
        found._calls.traces = found._traces = _Fixed(program, function)  # type: ignore[assignment]
        return found
