"""Calls with tensors that require gradients: their results have the gradients that ``vjp`` derives.

PyTorch keeps the arguments of the call, and finds out whether one was changed in between. The backward is a call of a
program, so that it is recorded itself where a gradient of the gradient is wanted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import compress
from typing import Any

from ...compiler.errors import error
from ...compiler.program.gradients.vjp import positional_names
from ..arrays.pytorch import are_tracked
from ..options import DEFAULTS
from ..resolve import hashable
from .function import ArrayFunction
from .gradients import vjp
from .reductions import of_arrays, options_of, reduction


def recorded(
    function: Callable[..., Any],
    run: Callable[[Sequence[Any], Mapping[str, Any]], Any],
    xs: Sequence[Any],
    how: Mapping[str, Any],
    out: Any,
    determinism: str = "run",
) -> Any:
    """The results of a call, with gradients.

    Args:
        function: a function of symbolic arrays that computes what the call does.
        run: makes the call, of the arguments by position and by keyword.
        xs: the arguments by position.
        how: those by keyword.
        out: the arrays for results; their results have no gradient.
        determinism: as in the call.

    Raises:
        ArgumentError: WF165 for a result that is to be written into an array, where it would have no gradient; only
            arguments that require none, such as running statistics, are written.
    """
    given = tuple(o for o in (out if isinstance(out, tuple) else (out,)) if o is not None)
    if are_tracked(given) or not all(any(o is x for x in (*xs, *how.values())) for o in given):
        raise error("WF165", reason="requires gradients, and out= is given", remedy=_REMEDY)
    tensor = sys.modules["torch"].Tensor
    slots: dict[int | str, Any] = dict(enumerate(xs))
    slots.update(how.items())
    places = tuple(place for place, x in slots.items() if isinstance(x, tensor))
    own = tuple(None if i in places else x for i, x in enumerate(xs)), {k: v for k, v in how.items() if k not in places}
    call = _Call(function, determinism, *own, places)
    results: list[Any] = []  # as the call makes them, which PyTorch does not keep

    def forward(tensors: Sequence[Any]) -> tuple[Any, ...]:
        results.append(run(*call.arguments(tensors)))
        call.is_made.extend(not any(r is w for w in given) for r in _leaves(results[0]))
        return tuple(r for r, made in zip(_leaves(results[0]), call.is_made, strict=True) if made)

    recorder = _recorders()[sys.modules["torch"]._C._are_functorch_transforms_active()]
    leaves = recorder.apply(call, forward, *map(slots.__getitem__, places))
    return _nested(results.pop(), iter(leaves), given)


def reduced_with_gradients(
    reduce: Callable[..., Any], xs: Sequence[Any], what: Any, axis: Any, out: Any, where: Any, how: Mapping[str, Any]
) -> Any:
    """A reduction of tensors, with gradients; arguments as those of ``reduce``, which makes the call."""

    def run(xs: Sequence[Any], own: Mapping[str, Any]) -> Any:
        return reduce(xs, what, axis, out, own.get("where"), how)

    key = what, tuple(axis) if isinstance(axis, list) else axis, options_of(how)
    function = (reduction if hashable(key) else of_arrays)(*key)
    own = {} if where is None else {"where": where}
    return recorded(function, run, xs, own, out, how.get("determinism", DEFAULTS["determinism"]))


@dataclass(frozen=True)
class _Call:
    """What the backward of a call knows of it beside its tensors.

    Attributes:
        function, determinism: see ``recorded``.
        xs, how: the arguments without the tensors.
        places: where these are: positions and keywords.
        is_made: for each result whether it is a new array.
    """

    function: Callable[..., Any]
    determinism: str
    xs: tuple[Any, ...]
    how: dict[str, Any]
    places: tuple[int | str, ...]
    is_made: list[bool] = field(default_factory=list)

    def arguments(self, tensors: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments by position and by keyword, with these tensors."""
        given = dict(zip(self.places, tensors, strict=True))
        how = self.how | {place: x for place, x in given.items() if isinstance(place, str)}
        return [given.get(i, x) for i, x in enumerate(self.xs)], how

    def backward(self, gradients: Sequence[Any], tensors: Sequence[Any], needed: Sequence[bool]) -> list[Any]:
        """The gradient of each tensor, from those of new arrays; None for those that are not needed."""
        xs, how = self.arguments(tensors)
        program = _backward(self.function, len(xs), len(self.is_made), tuple(compress(self.places, needed)))
        of_new = iter(gradients)
        found = program(
            *(next(of_new) if made else None for made in self.is_made), *xs, **how, determinism=self.determinism
        )
        rest = iter(found if isinstance(found, tuple) else (found,))
        return [next(rest) if n else None for n in needed]


@lru_cache(maxsize=1024)
def _backward(
    function: Callable[..., Any], count: int, results: int, places: tuple[int | str, ...]
) -> ArrayFunction[..., Any]:
    """The gradient of a function of so many arguments by position, for those at some places."""
    names = positional_names(function, count)
    return vjp(function, results=results, wrt=[p if isinstance(p, str) else names[p] for p in places])


_REMEDY = "call without out=, or inside torch.no_grad()"


@cache
def _recorders() -> tuple[Any, Any]:
    """The operation that PyTorch records for a call, and that for transforms of ``torch.func``, which costs more."""
    torch = sys.modules["torch"]

    class Recorded(torch.autograd.Function):  # type: ignore[misc,name-defined]
        @staticmethod
        def forward(ctx: Any, call: _Call, run: Callable[[Sequence[Any]], tuple[Any, ...]], *tensors: Any) -> Any:
            output = run(tensors)
            _keep(ctx, call, tensors, output)
            return output

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
            if all(g is None for g in gradients):
                return (None,) * len(ctx.needs_input_grad)
            return (None, None, *ctx.call.backward(gradients, ctx.saved_tensors, ctx.needs_input_grad[2:]))

    class Transformed(Recorded):
        @staticmethod
        def forward(_call: _Call, run: Any, *tensors: Any) -> Any:  # type: ignore[override]
            return run(tensors)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
            call, _, *tensors = inputs
            _keep(ctx, call, tensors, output)

    return Recorded, Transformed


def _keep(ctx: Any, call: _Call, tensors: Sequence[Any], output: Sequence[Any]) -> None:
    """Keeps what the backward needs."""
    ctx.call = call
    ctx.save_for_backward(*tensors)
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(*(r for r in output if not r.is_floating_point()))


def _leaves(results: Any) -> Iterator[Any]:
    """The arrays of nested results."""
    if isinstance(results, tuple):
        for r in results:
            yield from _leaves(r)
    else:
        yield results


def _nested(results: Any, leaves: Iterator[Any], written: Sequence[Any]) -> Any:
    """Other arrays, nested as ``results`` are; the arrays that the call was given for results stay."""
    if isinstance(results, tuple):
        found = [_nested(r, leaves, written) for r in results]
        return type(results)(*found) if hasattr(results, "_fields") else tuple(found)
    return results if any(results is w for w in written) else next(leaves)
