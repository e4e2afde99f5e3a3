"""Calls with tensors that require gradients: their results have the gradients that ``vjp`` derives.

PyTorch keeps the arguments of the call, and finds out whether one was changed in between. The backward is a call of a
program, so that it is recorded itself where a gradient of the gradient is wanted.

The first call of each kind makes a ``Call``, which later ones repeat (``../calls/recall.py``): they enter PyTorch's
``autograd.Function`` at once, and their forward and backward are recipes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import compress, count
from typing import Any

import numpy as np

from ...compiler.errors import error
from ...compiler.program.gradients.vjp import positional_names
from ..arrays.pytorch import are_tracked
from ..calls.recall import record_tracked
from ..calls.recipe import MISS
from ..options import DEFAULTS
from ..resolve import hashable
from .function import ArrayFunction
from .gradients import vjp
from .pairs import leaves_of
from .reductions import of_arrays, options_of, reduction

Run = Callable[[Sequence[Any], Mapping[str, Any], Any], Any]
"""Makes a call, of the arguments by position, those by keyword, and the arrays for results."""
Gradients = Callable[[Sequence[Any], Sequence[Any]], tuple[Any, ...]]
"""From the gradients of results, and the tensors of a call, to what PyTorch takes for the arguments of its record."""
_REMEDY = "call without out=, or inside torch.no_grad()"


def recorded(
    function: Callable[..., Any],
    run: Run,
    xs: Sequence[Any],
    how: Mapping[str, Any],
    out: Any,
    determinism: str = DEFAULTS["determinism"],
) -> Any:
    """The results of a call, with gradients.

    Args:
        function: a function of symbolic arrays that computes what the call does.
        run: makes the call.
        xs: the arguments by position.
        how: those by keyword.
        out: the arrays for results; their results have no gradient.
        determinism: as in the call.

    Raises:
        ArgumentError: WF165 for a result that is to be written into an array, where it would have no gradient; only
            arguments that require none, such as running statistics, are written.
    """
    arrays = sys.modules["torch"].Tensor, np.ndarray
    slots: dict[int | str, Any] = dict(enumerate(xs))
    slots.update(how.items())
    places = tuple(place for place, x in slots.items() if isinstance(x, arrays))
    tensors = [slots[place] for place in places]
    own = tuple(None if i in places else x for i, x in enumerate(xs)), {k: v for k, v in how.items() if k not in places}
    numbers = tuple(i for i, x in enumerate(tensors) if isinstance(x, np.ndarray))
    call = Call(function, run, determinism, *own, places, numbers, _numbers(out, tensors))
    found = call(*tensors)
    record_tracked(call)
    return found


def _numbers(out: Any, tensors: Sequence[Any]) -> Any:
    """``out`` with the number of a tensor of the call in place of each array."""
    given = out if isinstance(out, tuple) else (out,)
    found = tuple(None if o is None else next((i for i, x in enumerate(tensors) if x is o), -1) for o in given)
    if are_tracked(given) or -1 in found:
        raise error("WF165", reason="requires gradients, and out= is given", remedy=_REMEDY)
    return found if isinstance(out, tuple) else found[0]


def reduced_with_gradients(
    reduce: Callable[..., Any], xs: Sequence[Any], what: Any, axis: Any, out: Any, where: Any, how: Mapping[str, Any]
) -> Any:
    """A reduction of tensors, with gradients; arguments as those of ``reduce``, which makes the call."""

    def run(xs: Sequence[Any], own: Mapping[str, Any], out: Any) -> Any:
        return reduce(xs, what, axis, out, own.get("where"), how)

    key = what, tuple(axis) if isinstance(axis, list) else axis, options_of(how)
    function = (reduction if hashable(key) else of_arrays)(*key)
    own = {} if where is None else {"where": where}
    return recorded(function, run, xs, own, out, how.get("determinism", DEFAULTS["determinism"]))


class Call:
    """A kind of call that PyTorch records: everything but its tensors.

    Attributes:
        function, run, determinism: see ``recorded``.
        xs, how: the arguments without the tensors.
        recipe: repeats the forward on arrays of the same kinds, as the latest call of them; None without one.
        places: where these are: positions and keywords. Arrays of NumPy, such as seeds, count as tensors.
        hosted: which tensors are arrays of NumPy.
        out: the arrays for results, as numbers of tensors.
        structure: how the results nest, each as its number among the recorded ones, or -1 - i for tensor i; known after
            the first call.
        constant: which recorded results have no gradient: integers, and 8-bit floats.
    """

    recipe: Callable[..., Any] | None = None
    structure: Any
    constant: tuple[int, ...] | None = None

    def __init__(
        self,
        function: Callable[..., Any],
        run: Run,
        determinism: str,
        xs: tuple[Any, ...],
        how: dict[str, Any],
        places: tuple[int | str, ...],
        hosted: tuple[int, ...],
        out: Any,
    ) -> None:
        self.function, self.run, self.determinism, self.xs, self.how = function, run, determinism, xs, how
        self.places, self.hosted, self.out = places, hosted, out
        self._written = tuple(i for i in leaves_of(out) if i is not None)
        self._in_order = places == tuple(range(len(xs)))
        self._gradients: dict[tuple[bool, ...], Gradients] = {}

    def __call__(self, *tensors: Any) -> Any:
        """The results, recorded. Arrays for results, which are among the tensors, may follow these."""
        found = _record()(self, *tensors[: len(self.places)])
        return found if self.structure == 0 else _nested(self.structure, lambda i: found[i] if i >= 0 else tensors[~i])

    def arguments(self, tensors: Sequence[Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        """The arguments by position and by keyword, with these tensors."""
        if self._in_order:
            return tensors, self.how
        given = dict(zip(self.places, tensors, strict=True))
        how = self.how | {place: x for place, x in given.items() if isinstance(place, str)}
        return [given.get(i, x) for i, x in enumerate(self.xs)], how

    def forward(self, tensors: Sequence[Any]) -> Any:
        """The results that are new arrays: one, or those of all levels in a tuple."""
        given = tensors if self.out is None else (*tensors, *(tensors[i] for i in self._written))
        found = MISS if self.recipe is None else self.recipe(*given)
        if found is MISS:
            out = None if self.out is None else _nested(self.out, lambda i: None if i is None else tensors[i])
            found = self.run(*self.arguments(tensors), out)
        if self.constant is None:
            self._learn(found, tensors)
        if self.structure == 0:
            return found
        return tuple(r for r, i in zip(leaves_of(found), leaves_of(self.structure), strict=True) if i >= 0)

    def _learn(self, found: Any, tensors: Sequence[Any]) -> None:
        """Keeps how results nest."""
        numbers, written = count(), {id(tensors[i]): -1 - i for i in self._written}
        self.structure = _nested(found, lambda r: written[id(r)] if id(r) in written else next(numbers))
        own = [r for r in leaves_of(found) if id(r) not in written]
        self.constant = tuple(i for i, r in enumerate(own) if not r.is_floating_point() or r.element_size() == 1)

    def keep(self, ctx: Any, tensors: Sequence[Any], found: Any) -> None:
        """Keeps what the backward needs, with PyTorch's record of the call."""
        ctx.call = self
        if self.hosted:
            ctx.hosted = tuple(tensors[i] for i in self.hosted)
            tensors = [None if i in self.hosted else x for i, x in enumerate(tensors)]
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        if self.constant:
            results = (found,) if self.structure == 0 else found
            ctx.mark_non_differentiable(*(results[i] for i in self.constant))

    def backward(self, ctx: Any, gradients: Sequence[Any]) -> tuple[Any, ...]:
        """The gradients of the call, which has none, and of the tensors, as far as they are needed."""
        tensors, needed = ctx.saved_tensors, ctx.needs_input_grad
        if self.hosted:
            hosted = iter(ctx.hosted)
            tensors = [next(hosted) if i in self.hosted else x for i, x in enumerate(tensors)]
        found = self._gradients.get(needed)
        if found is None:
            found = self._gradients[needed] = self._backward(needed)
        return found(gradients, tensors)

    def _backward(self, needed: tuple[bool, ...]) -> Gradients:
        """The function that ``backward`` is for these needs."""
        places = tuple(compress(self.places, needed[1:]))
        leaves = (*leaves_of(self.structure),)
        program = gradient_program(self.function, len(self.xs), len(leaves), places)
        how = {} if self.determinism == DEFAULTS["determinism"] else {"determinism": self.determinism}
        if len(places) == len(self.places) and self._in_order and min(leaves) >= 0:
            plain, single = self.how | how, len(places) == 1

            def whole(gradients: Sequence[Any], tensors: Sequence[Any]) -> tuple[Any, ...]:
                found = program(*gradients, *tensors, **plain)
                return (None, found) if single else (None, *found)

            return whole

        def partly(gradients: Sequence[Any], tensors: Sequence[Any]) -> tuple[Any, ...]:
            xs, own = self.arguments(tensors)
            found = program(*(gradients[i] if i >= 0 else None for i in leaves), *xs, **own, **how)
            rest = iter(found if isinstance(found, tuple) else (found,))
            return tuple(next(rest) if n else None for n in needed)

        return partly


@lru_cache(maxsize=1024)
def gradient_program(
    function: Callable[..., Any], count: int, results: int, places: tuple[int | str, ...]
) -> ArrayFunction[..., Any]:
    """The gradient of a function of so many arguments by position, for those at some places."""
    names = positional_names(function, count)
    return vjp(function, results=results, wrt=[p if isinstance(p, str) else names[p] for p in places])


@cache
def _record() -> Callable[..., Any]:
    """The function of a ``Call`` and its tensors that makes PyTorch record it.

    ``Function.apply`` looks for transforms of ``torch.func``, for which there are ops, and then calls this.
    """
    function = sys.modules["torch"].autograd.Function

    class Recorded(function):  # type: ignore[misc,valid-type]
        @staticmethod
        def forward(ctx: Any, call: Call, *tensors: Any) -> Any:
            found = call.forward(tensors)
            call.keep(ctx, tensors, found)
            return found

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
            for gradient in gradients:
                if gradient is not None:
                    return ctx.call.backward(ctx, gradients)  # type: ignore[no-any-return]
            return (None,) * len(ctx.needs_input_grad)

    return super(function, Recorded).apply  # type: ignore[no-any-return]


def _nested(structure: Any, value: Callable[[Any], Any]) -> Any:
    """Tuples that nest as ``structure`` does, with a value for each of its members."""
    if not isinstance(structure, tuple):
        return value(structure)
    found = [_nested(s, value) for s in structure]
    return type(structure)(*found) if hasattr(structure, "_fields") else tuple(found)
