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
from ..programs.arguments import arguments_of
from ..programs.pairs import leaves_of
from ..programs.saved import array_arg, saved_of
from .calls import Kind, Known, needed_of
from .group import Ranks
from .staged import Extents, Staged

Lying = tuple[int | None, tuple[int, ...]]
"""The axis along which an array is cut, and the extents of all ranks; None and nothing for one that every rank has."""


def recorded(call: Known, extents: Extents, ranks: Ranks, arrays: Sequence[Any], out: Sequence[Any]) -> Any:
    """The results of a call, which PyTorch records; arrays for results, ``out``, have no gradient."""
    needed = needed_of(arrays)
    given = tuple(o is not None for o in out)
    own: Recorded = call.once(
        (extents, ranks, ranks.own, needed, given), lambda: Recorded(call.kind, extents, ranks, needed, given)
    )
    found: list[Any] = []
    new = _Record.apply(own, out, found, *arrays)
    members = iter(new)
    return nested(found[0], lambda r: next(members) if r is None else r)


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
        self.new = [not any(given[i : i + 1]) for i in range(self.results)]
        self._pulls: dict[tuple[bool, ...], Pull] = {}
        self._alike: dict[int, Any] = {}

    def forward(self, ctx: Any, out: Sequence[Any], members: list[Any], arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The results that are new tensors; ``members`` gets the results with None in place of these."""
        saved = self.saved
        found = self.staged(arrays, out)
        leaves = [*leaves_of(found)]
        if saved.forward is not None:
            found = found[0]
        marks = iter([None if new else r for r, new in zip(leaves, self.new, strict=False)])
        members.append(nested(found, lambda _: next(marks)))
        tensors = [i for i in saved.arrays if isinstance(arrays[i], torch.Tensor)]
        ctx.others = {i: x for i, x in enumerate(arrays) if i not in tensors and not isinstance(x, torch.Tensor)}
        self._alike = self._alike or {
            i: x.new_empty(()).expand(x.shape) for i, x in enumerate(arrays) if i not in tensors and i not in ctx.others
        }
        ctx.own, ctx.read = self, tensors
        ctx.save_for_backward(*(arrays[i] for i in tensors), *(leaves[i] for i in self.kept))
        ctx.set_materialize_grads(False)
        new = tuple(compress(leaves, self.new))
        ctx.mark_non_differentiable(*(r for r in new if not r.is_floating_point() or r.element_size() == 1))
        return new

    def backward(self, ctx: Any, gradients: Sequence[Any]) -> list[Any]:
        """The gradient of each array; None for one that needs none."""
        if all(g is None for g in gradients):
            return [None] * len(self.needed)
        own, rest = iter(gradients), iter(ctx.saved_tensors)
        results = [next(own) if new else None for new in self.new]
        read = {i: next(rest) for i in ctx.read} | ctx.others
        xs = [read[i] if i in read else self._alike[i] for i in range(len(self.needed))]
        arrays = [*results, *xs, *rest]
        pull = self._pull(arrays)
        found = pull.staged([arrays[i] for i in pull.numbers])
        each = iter(found if isinstance(found, tuple) else (found,))
        return [next(each) if needed else None for needed in self.needed]

    def _pull(self, arrays: Sequence[Any]) -> Pull:
        """The backward of gradients, arrays and kept values like these; None stands for a gradient that vanishes."""
        key = tuple(g is not None for g in arrays[: self.results])
        if key not in self._pulls:
            self._pulls[key] = self._made(arrays)
        return self._pulls[key]

    def _made(self, arrays: Sequence[Any]) -> Pull:
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


class _Record(torch.autograd.Function):  # type: ignore[misc]
    """What PyTorch records of a call."""

    @staticmethod
    def forward(ctx: Any, own: Recorded, out: Sequence[Any], members: list[Any], *arrays: Any) -> Any:
        return own.forward(ctx, out, members, arrays)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None, None, None, *ctx.own.backward(ctx, gradients)


def nested(structure: Any, value: Callable[[Any], Any]) -> Any:
    """Tuples that nest as ``structure`` does, with a value for each of its members."""
    if not isinstance(structure, tuple):
        return value(structure)
    found = [nested(s, value) for s in structure]
    return type(structure)(*found) if hasattr(structure, "_fields") else tuple(found)
