"""Calls on shards with tensors that require gradients: their backward is a program on shards, too.

The forward may keep values for it, as in a call on one GPU (``../programs/saved.py``). Gradients lie as their arrays
do: that of a shard is a shard, and of an array that every rank has, every rank has the whole gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress, count
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.function import once_differentiable

from ..programs.arguments import arguments_of
from ..programs.pairs import leaves_of
from ..programs.saved import array_arg, saved_of
from .group import Ranks
from .staged import Extents, whole_of

if TYPE_CHECKING:
    from .programs import Call


def recorded(call: Call, extents: Extents, ranks: Ranks, out: Any) -> Any:
    """The results of a call, which PyTorch records; arrays for results have no gradient."""
    own = Recorded(call, extents, ranks, out)
    new = iter(_Record.apply(own, *call.arrays))
    return nested(own.structure, lambda r: next(new) if r is None else r)


@dataclass(eq=False)
class Piece:
    """An array of the backward on this rank.

    Attributes:
        tensor: the array.
        axis, extents: the axis along which it is cut, and the extents of all ranks; None and nothing where it is whole.
    """

    tensor: Any
    axis: int | None
    extents: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape; what has one is an array for ``arguments_of``."""
        return tuple(self.tensor.shape)


class Recorded:
    """One call that PyTorch records.

    Attributes:
        structure: how the results nest, with arrays that the caller gave for results, and None for each other.
    """

    structure: Any = None

    def __init__(self, call: Call, extents: Extents, ranks: Ranks, out: Any) -> None:
        self.call, self.extents, self.ranks = call, extents, ranks
        self.given = () if out is None else out if isinstance(out, tuple) else (out,)
        self.needed = [getattr(x, "requires_grad", False) for x in call.arrays]
        whole = [whole_of(a, axis, n) for a, axis, n in zip(call.kinds, call.axes, extents, strict=True)]
        wanted = tuple(compress(call.places, self.needed))
        self.saved = saved_of(call.function, call.arguments, whole, wanted, keeps=True, keep="folds")

    def forward(self, ctx: Any, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The results that are new tensors."""
        saved, forward = self.saved, self.saved.forward
        call = self.call if forward is None else self.call._replace(function=forward.function)
        staged = call.staged(self.extents, self.ranks)
        beside = 0 if forward is None else saved.kept.count(None)
        found = staged(arrays, (*self.given, *[None] * beside) if self.given else None)
        found, more = (found, ()) if forward is None else found
        leaves = [*leaves_of(found)]
        own = [any(r is o for o in self.given) for r in leaves]
        members = iter([r if given else None for r, given in zip(leaves, own, strict=True)])
        self.structure = nested(found, lambda _: next(members))
        behind = count(len(leaves))
        places = [next(behind) if i is None else i for i in saved.kept]
        values = [*leaves, *more]
        ctx.own, ctx.results, ctx.kept = self, staged.results, [staged.results[i] for i in places]
        ctx.new = [not given for given in own]
        ctx.others = {i: x for i, x in enumerate(arrays) if not isinstance(x, torch.Tensor)}
        ctx.alike = [None if i in ctx.others else x.new_empty(()).expand(x.shape) for i, x in enumerate(arrays)]
        ctx.save_for_backward(*(arrays[i] for i in saved.arrays if i not in ctx.others), *(values[i] for i in places))
        ctx.set_materialize_grads(False)
        new = tuple(compress(leaves, ctx.new))
        ctx.mark_non_differentiable(*(r for r in new if not r.is_floating_point() or r.element_size() == 1))
        return new

    def backward(self, ctx: Any, gradients: Sequence[Any]) -> list[Any]:
        """The gradient of each array; None for one that needs none."""
        if all(g is None for g in gradients):
            return [None] * len(self.needed)
        call, saved, rest = self.call, self.saved, iter(ctx.saved_tensors)
        read = {i: next(rest) for i in saved.arrays if i not in ctx.others} | ctx.others
        xs = [
            Piece(read.get(i, ctx.alike[i]), axis, own)
            for i, (axis, own) in enumerate(zip(call.axes, self.extents, strict=True))
        ]
        kept = [Piece(x, *cut) for x, cut in zip(rest, ctx.kept, strict=True)]
        given = iter(gradients)
        pulled = [next(given) if new else None for new in ctx.new]
        results = [None if g is None else Piece(g, *cut) for g, cut in zip(pulled, ctx.results, strict=False)]
        positional, named = call.arguments.call(lambda *xs, **how: (xs, how), xs)
        arguments, pieces = arguments_of(saved.backward.function, (*results, *positional, *kept), named)
        tensors = [p.tensor for p in pieces]
        own = call._replace(
            function=saved.backward.function, arguments=arguments, kinds=tuple(map(array_arg, tensors)),
            axes=tuple(p.axis for p in pieces), options={k: v for k, v in call.options.items() if k != "plan"},
        )  # fmt: skip
        found = own.staged([p.extents for p in pieces], self.ranks)(tensors)
        each = iter(found if isinstance(found, tuple) else (found,))
        return [next(each) if needed else None for needed in self.needed]


class _Record(torch.autograd.Function):  # type: ignore[misc]
    """What PyTorch records of a call."""

    @staticmethod
    def forward(ctx: Any, own: Recorded, *arrays: Any) -> Any:
        return own.forward(ctx, arrays)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None, *ctx.own.backward(ctx, gradients)


def nested(structure: Any, value: Callable[[Any], Any]) -> Any:
    """Tuples that nest as ``structure`` does, with a value for each of its members."""
    if not isinstance(structure, tuple):
        return value(structure)
    found = [nested(s, value) for s in structure]
    return type(structure)(*found) if hasattr(structure, "_fields") else tuple(found)
