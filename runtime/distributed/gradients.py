"""Calls on shards with tensors that require gradients: their backward is a program on shards, too.

The forward may keep values for it, as in a call on one GPU (``../programs/saved.py``). Gradients lie as their arrays
do: that of a shard is a shard, and of an array that every rank has, every rank has the whole gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, NamedTuple

import torch
from torch.autograd.function import once_differentiable

from ...compiler.program.arrays.trace import ArrayArg
from ...compiler.program.tracing import nest
from ..programs.arguments import arguments_of
from ..programs.saved import array_arg, saved_of
from .calls import Kind, Known, needed_of
from .group import GRADIENT, Ranks, Words
from .staged import Extents, Staged, check_number

Lying = tuple[int | None, tuple[int, ...]]
"""The axis along which an array is cut, and the extents of all ranks; None and nothing for one that every rank has."""


def recorded(
    call: Known, extents: Extents, ranks: Ranks, arrays: Sequence[Any], out: Sequence[Any], *, check: bool
) -> Any:
    """The results of a call, which PyTorch records; arrays for results, ``out``, have no gradient.

    With ``check`` the ranks meet before a backward that gathers, too.
    """
    needed = needed_of(arrays)
    given = tuple(o is not None for o in out)
    own: Recorded = call.once(
        (extents, ranks, needed, given), lambda: Recorded(call.kind, extents, ranks, needed, given)
    )
    check_number(out, own.results)
    found: list[Any] = []
    new = own.record(out, found, check, *arrays)
    for i, r in zip(own.new, new, strict=True):
        found[i] = r
    return own.nested(found)


@dataclass(eq=False)
class Piece:
    """An array of the backward.

    Attributes:
        number: its number among the gradients of results, the arrays of the call, and what was kept.
        array: its element type and shape.
        lying: how it is cut.
    """

    number: int
    array: ArrayArg
    lying: Lying

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape; what has one is an array for ``arguments_of``."""
        return self.array.shape


class Pull(NamedTuple):
    """The backward for gradients of some results.

    Attributes:
        staged: the program.
        numbers: which arrays it takes, see ``Piece``.
    """

    staged: Staged
    numbers: tuple[int, ...]


class Recorded:
    """A kind of call that PyTorch records.

    Attributes:
        kind: the kind of call.
        needed: which arrays need a gradient.
        saved: what PyTorch saves.
        staged: the forward.
        given: which results the caller gives arrays for.
    """

    def __init__(
        self, kind: Kind, extents: Extents, ranks: Ranks, needed: tuple[bool, ...], given: tuple[bool, ...]
    ) -> None:
        self.kind, self.needed, self.given, self._extents, self._ranks = kind, needed, given, extents, ranks
        wanted = tuple(compress(kind.places, needed))
        self.saved = saved_of(kind.function, kind.arguments, kind.whole(extents), wanted, keeps=True, keep="folds")
        forward = self.saved.forward
        own = kind if forward is None else kind._replace(function=forward.function)
        self.staged = own.staged(extents, ranks, late=any(given))
        beside = 0 if forward is None else self.saved.kept.count(None)
        self.results = len(self.staged.results) - beside
        behind = iter(range(self.results, len(self.staged.results)))
        self.kept = [next(behind) if i is None else i for i in self.saved.kept]
        self.new = [i for i in range(self.results) if not any(given[i : i + 1])]
        structure: Any = self.staged.stages.structure
        self._structure = structure if forward is None else structure[2][0]
        self._numbers = [i for i, a in enumerate(kind.arrays) if a.number]
        self._read = [i for i in self.saved.arrays if i not in self._numbers]
        self._constant: list[int] | None = None
        self._alike: list[Any] = []
        self._pulls: dict[tuple[bool, ...], Pull] = {}
        self.record = _recorder(self)

    def nested(self, results: Sequence[Any]) -> Any:
        """Results as the caller gets them."""
        return nest(self._structure, results)

    def forward(
        self, ctx: Any, out: Sequence[Any], found: list[Any], arrays: Sequence[Any], *, check: bool
    ) -> tuple[Any, ...]:
        """The results that are new tensors; ``found`` gets all of them."""
        results = self.staged.flat(arrays, out, check=check)
        ctx.check = check
        found += results[: self.results]
        new = tuple([results[i] for i in self.new])
        if self._constant is None:
            self._constant = [i for i, r in enumerate(new) if not r.is_floating_point() or r.element_size() == 1]
            own = [*self._read, *self._numbers]
            self._alike = [None if i in own else x.new_empty(()).expand(x.shape) for i, x in enumerate(arrays)]
        ctx.others = [arrays[i] for i in self._numbers]
        ctx.save_for_backward(*[arrays[i] for i in self._read], *[results[i] for i in self.kept])
        ctx.set_materialize_grads(False)
        if self._constant:
            ctx.mark_non_differentiable(*[new[i] for i in self._constant])
        return new

    def backward(self, ctx: Any, gradients: Sequence[Any]) -> list[Any]:
        """The gradient of each array; None for one that needs none."""
        key = tuple([g is not None for g in gradients])
        if True not in key:
            return [None] * len(self.needed)
        results, xs, saved = [None] * self.results, [*self._alike], ctx.saved_tensors
        _put(results, self.new, gradients)
        _put(xs, self._read, saved)  # behind them is what was kept
        _put(xs, self._numbers, ctx.others)
        arrays = [*results, *xs, *saved[len(self._read) :]]
        pull = self._pulls.get(key) or self._pulls.setdefault(key, self._made(arrays))
        taken = [arrays[i] for i in pull.numbers]
        if ctx.check and pull.staged.gathers:
            self._ranks.meet(GRADIENT, [*map(int, key)], _difference, self._ranks.device(taken))
        each = iter(pull.staged.flat(taken, check=ctx.check))
        return [next(each) if needed else None for needed in self.needed]

    def _made(self, arrays: Sequence[Any]) -> Pull:
        """The backward of gradients, arrays and kept values like these; None stands for a gradient that vanishes."""
        kind, backward = self.kind, self.saved.backward
        lying = [
            *self.staged.results[: self.results], *zip(kind.axes, self._extents, strict=True),
            *(self.staged.results[i] for i in self.kept),
        ]  # fmt: skip
        pieces = [
            None if x is None else Piece(i, array_arg(x), how)
            for i, (x, how) in enumerate(zip(arrays, lying, strict=True))
        ]
        results, rest = pieces[: self.results], pieces[self.results :]
        xs, kept = rest[: len(kind.axes)], rest[len(kind.axes) :]
        positional, named = kind.arguments.call(lambda *xs, **how: (xs, how), xs)
        arguments, taken = arguments_of(backward.function, (*results, *positional, *kept), named)
        options = {name: value for name, value in kind.options.items() if name != "plan"}
        own = Kind(
            backward.function, arguments, tuple(p.array for p in taken), tuple(p.lying[0] for p in taken), options
        )
        staged = own.staged(tuple(p.lying[1] for p in taken), self._ranks)
        return Pull(staged, tuple(p.number for p in taken))


def _difference(first: Words, other: Words) -> str:
    """How the gradients that two ranks have differ."""
    return "" if first == other else "has gradients of other results: expected those of the same"


def _put(own: list[Any], places: Sequence[int], values: Sequence[Any]) -> None:
    for i, value in zip(places, values, strict=False):
        own[i] = value


def _recorder(own: Recorded) -> Callable[..., tuple[Any, ...]]:
    """What makes PyTorch record a call.

    It takes arrays for results, a list that gets the results, whether the ranks check, and the arrays.
    """

    def forward(ctx: Any, out: Sequence[Any], found: list[Any], check: bool, *arrays: Any) -> Any:
        return own.forward(ctx, out, found, arrays, check=check)

    def once(ctx: Any, *gradients: Any) -> Any:
        return None, None, None, *own.backward(ctx, gradients)

    refused = once_differentiable(once)

    def backward(ctx: Any, *gradients: Any) -> Any:
        return (refused if torch.is_grad_enabled() else once)(ctx, *gradients)

    functions = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    made: Any = type(own.staged.name, (torch.autograd.Function,), functions)
    return made.apply  # type: ignore[no-any-return]
