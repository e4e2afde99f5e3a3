"""Calls with tensors that require gradients: their results have the gradients that ``vjp`` derives.

PyTorch saves what the backward reads (``saved.py``), and finds out whether it was changed in between. The backward is a
call of a program, so that it is recorded itself where a gradient of the gradient is wanted.

The first call of each kind makes a ``Call``, which later ones repeat (``../calls/recall.py``): they enter PyTorch's
``autograd.Function`` at once, and their forward and backward are recipes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import compress, count
from operator import itemgetter
from typing import Any

import numpy as np

from ...compiler.errors import WarpfoldError, error
from ...compiler.program.arrays.trace import ArrayArg
from ..arrays.pytorch import are_tracked
from ..calls.recall import Memo, record_tracked
from ..calls.recipe import MISS, compiled
from ..options import DEFAULTS, of_gradients
from ..resolve import hashable
from .arguments import arguments_of
from .pairs import leaves_of
from .pulling import Pull, pull_of
from .reductions import of_arrays, options_of, reduction
from .saved import Saved, array_arg, gradient_program, saved_of

Run = Callable[[Sequence[Any], Mapping[str, Any], Any], Any]
"""Makes a call, of the arguments by position, those by keyword, and the arrays for results."""
_REMEDY = "call without out=, or inside torch.no_grad()"
_OF_COMPLEX = "pass x.detach(), or its parts: torch.view_as_real(x)"


def recorded(
    function: Callable[..., Any],
    run: Run,
    xs: Sequence[Any],
    how: Mapping[str, Any],
    out: Any,
    options: Mapping[str, Any],
    keeps: bool = False,
) -> Any:
    """The results of a call, with gradients.

    Args:
        function: a function of symbolic arrays that computes what the call does.
        run: makes the call.
        xs: the arguments by position.
        how: those by keyword.
        out: the arrays for results; their results have no gradient.
        options: the arguments of every call that this one has.
        keeps: whether the call may return more than its results, for the backward.

    Raises:
        ArgumentError: WF165 for a result that is to be written into an array, where it would have no gradient; only
            arguments that require none, such as running statistics, are written. Also for a complex tensor.
    """
    if any(are_tracked([x]) and x.is_complex() for x in (*xs, *how.values())):
        raise error("WF165", reason="is complex and requires gradients", remedy=_OF_COMPLEX)
    arrays = sys.modules["torch"].Tensor, np.ndarray
    slots: dict[int | str, Any] = dict(enumerate(xs))
    slots.update(how.items())
    places = tuple(place for place, x in slots.items() if isinstance(x, arrays))
    tensors = [slots[place] for place in places]
    own = tuple(None if i in places else x for i, x in enumerate(xs)), {k: v for k, v in how.items() if k not in places}
    numbers = tuple(i for i, x in enumerate(tensors) if isinstance(x, np.ndarray))
    call = Call(function, run, of_gradients(options), keeps, *own, places, numbers, _numbers(out, tensors))
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
    return recorded(function, run, xs, own, out, {name: how[name] for name in DEFAULTS.keys() & how.keys()})


class Call:
    """A kind of call that PyTorch records: everything but its tensors.

    Attributes:
        function, run, keeps: see ``recorded``.
        options: the arguments of every call that the backward has, too.
        xs, how: the arguments without the tensors.
        recipe: repeats the forward on arrays of the same kinds, as the latest call of them; None without one.
        places: where these are: positions and keywords. Arrays of NumPy, such as seeds, count as tensors.
        hosted: which tensors are arrays of NumPy.
        out: the arrays for results, as numbers of tensors.
        saved: what PyTorch saves. This and what follows is known after the first call.
        structure: how the results nest, each as its number among the recorded ones, or -1 - i for tensor i.
        constant: which recorded results have no gradient: integers, and 8-bit floats.
        pull: the backward.
    """

    recipe: Callable[..., Any] | None = None
    saved: Saved | None = None
    structure: Any
    constant: tuple[int, ...]
    pull: Pull

    def __init__(
        self,
        function: Callable[..., Any],
        run: Run,
        options: dict[str, Any],
        keeps: bool,
        xs: tuple[Any, ...],
        how: dict[str, Any],
        places: tuple[int | str, ...],
        hosted: tuple[int, ...],
        out: Any,
    ) -> None:
        self.function, self.run, self.options, self.keeps, self.xs, self.how = function, run, options, keeps, xs, how
        self.places, self.hosted, self.out = places, hosted, out
        self._written = tuple(i for i in leaves_of(out) if i is not None)
        self._in_order = places == tuple(range(len(xs)))
        self._name = getattr(function, "__name__", "program")
        self._record = _recorder(self._name)

    @property
    def memo(self) -> Memo | None:
        """What remembers the forward, if another program makes it than the one that was called."""
        return self.saved.forward._calls.memo if self.saved and self.saved.forward else None

    @property
    def entered(self) -> Callable[..., Any]:
        """The function that repeats the call: PyTorch's record alone, where it returns the result."""
        if self.structure != 0 or self._written:
            return self
        own = self._is_plain and not self.hosted and self.recipe is not None
        return self._recorder_of_its_own() if own else partial(self._record, self)

    def _recorder_of_its_own(self) -> Callable[..., Any]:
        """What records the call without looking at this object: its forward and backward are generated."""
        names = tuple(f"x{i}" for i in range(len(self.places)))
        values = {"again": self.recipe, "run": partial(self._run, self.saved), "MISS": MISS}
        text = (
            f"def recipe(ctx, {', '.join(names)}):\n"
            f"    found = again({', '.join(names)})\n"
            f"    if found is MISS: found = run(({', '.join(names)},))\n"
            "    ctx.set_materialize_grads(False)\n"
            f"    ctx.save_for_backward({', '.join(self._pick(names))})\n"
            "    return found\n"
        )
        return _applied(self._name, compiled(text, tuple(values))(**values), self.pull)

    def __call__(self, *tensors: Any) -> Any:
        """The results, recorded. Arrays for results, which are among the tensors, may follow these."""
        found = self._record(self, *tensors[: len(self.places)])
        return found if self.structure == 0 else _nested(self.structure, lambda i: found[i] if i >= 0 else tensors[~i])

    def forward(self, ctx: Any, tensors: tuple[Any, ...]) -> Any:
        """The results that are new arrays: one, or those of all levels in a tuple."""
        saved = self.saved or self._plan(tensors, ctx.needs_input_grad[1:])
        given = (*tensors, *(tensors[i] for i in self._written)) if self._written else tensors
        found = MISS if self.recipe is None else self.recipe(*given)
        if found is MISS:
            found = self._run(saved, tensors)
        beside: Sequence[Any] = ()
        if saved is not None and saved.forward is not None:
            found, beside = found
        if self.saved is None:
            saved = self._learn(saved, found, tensors, ctx.needs_input_grad[1:])
        assert saved is not None
        ctx.call = self
        ctx.set_materialize_grads(False)
        if self.hosted:
            ctx.hosted = [tensors[i] for i in self.hosted]
        own = self._pick(tensors)
        if self._is_plain:
            ctx.save_for_backward(*own)
            return found
        leaves, rest = [*leaves_of(found)], iter(beside)
        ctx.save_for_backward(*own, *(next(rest) if i is None else leaves[i] for i in saved.kept))
        results = tuple(r for r, i in zip(leaves, leaves_of(self.structure), strict=True) if i >= 0)
        ctx.mark_non_differentiable(*(results[i] for i in self.constant))
        return found if self.structure == 0 else results

    def _arguments(self, tensors: Sequence[Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        """The arguments by position and by keyword, with these tensors."""
        if self._in_order:
            return tensors, self.how
        given = dict(zip(self.places, tensors, strict=True))
        how = self.how | {place: x for place, x in given.items() if isinstance(place, str)}
        return [given.get(i, x) for i, x in enumerate(self.xs)], how

    def _run(self, saved: Saved | None, tensors: Sequence[Any]) -> Any:
        """The call in full, or that of the program which also returns what is kept."""
        xs, how = self._arguments(tensors)
        out = None if self.out is None else _nested(self.out, lambda i: None if i is None else tensors[i])
        if saved is None or saved.forward is None:
            return self.run(xs, how, out)
        out = None if out is None else (*leaves_of(out), *[None] * saved.kept.count(None))
        return saved.forward(*xs, out=out, **how, **self.options)

    def _plan(self, tensors: Sequence[Any], needed: Sequence[bool]) -> Saved | None:
        """What is saved of these tensors; None for a call whose backward says why it has no gradient."""
        own = [*map(array_arg, tensors)]
        numbers = {id(x): i for i, x in enumerate(own) if i not in self.hosted}
        try:
            arguments, found = arguments_of(self.function, *self._arguments(own))
            arrays = [x if isinstance(x, ArrayArg) else array_arg(x) for x in found]
            saved = saved_of(self.function, arguments, arrays, tuple(compress(self.places, needed)), self.keeps)
        except WarpfoldError:
            return None
        read = (id(arrays[i]) for i in saved.arrays)
        return saved._replace(arrays=tuple(numbers[x] for x in read if x in numbers))

    def _learn(self, saved: Saved | None, found: Any, tensors: Sequence[Any], needed: Sequence[bool]) -> Saved:
        """Keeps what is saved, how results nest, and what the backward is."""
        numbers, written = count(), {id(tensors[i]): -1 - i for i in self._written}
        self.structure = _nested(found, lambda r: written[id(r)] if id(r) in written else next(numbers))
        leaves = [*leaves_of(self.structure)]
        own = [r for r in leaves_of(found) if id(r) not in written]
        self.constant = tuple(i for i, r in enumerate(own) if not r.is_floating_point() or r.element_size() == 1)
        if saved is None:
            program = gradient_program(self.function, len(self.xs), len(leaves), tuple(compress(self.places, needed)))
            saved = Saved(tuple(i for i in range(len(tensors)) if i not in self.hosted), (), None, program, None)
        self._pick = _picker(saved.arrays, len(tensors))
        self._is_plain = self.structure == 0 and not (saved.kept or self.constant)
        self.pull = pull_of(saved, self.xs, self.how | self.options, self.places, self.hosted, leaves, tensors, needed)
        self.saved = saved
        return saved


@lru_cache(maxsize=1024)
def _recorder(name: str) -> Callable[..., Any]:
    """The function of a ``Call`` and its tensors that makes PyTorch record it under the name of a function."""

    def forward(ctx: Any, call: Call, *tensors: Any) -> Any:
        return call.forward(ctx, tensors)

    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        return None, *ctx.call.pull(ctx, *gradients)

    return _applied(name, forward, backward)


def _applied(name: str, forward: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
    """The function that makes PyTorch record a call, with these two functions, under the name of a function.

    ``Function.apply`` looks for transforms of ``torch.func``, for which there are ops, and then calls this. PyTorch's
    record calls ``apply`` of its class, which looks up ``backward`` again in each call.
    """
    function = sys.modules["torch"].autograd.Function
    made = type(name, (function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})
    made._backward_cls.apply = backward  # type: ignore[attr-defined]
    return super(function, made).apply  # type: ignore[no-any-return]


def _picker(numbers: tuple[int, ...], count: int) -> Callable[[tuple[Any, ...]], Sequence[Any]]:
    """The function that picks some members of a tuple of so many."""
    if len(numbers) == 1 and count > 1:
        return lambda xs: (xs[numbers[0]],)
    return itemgetter(*numbers) if 1 < len(numbers) < count else itemgetter(slice(len(numbers)))


def _nested(structure: Any, value: Callable[[Any], Any]) -> Any:
    """Tuples that nest as ``structure`` does, with a value for each of its members."""
    if not isinstance(structure, tuple):
        return value(structure)
    found = [_nested(s, value) for s in structure]
    return type(structure)(*found) if hasattr(structure, "_fields") else tuple(found)
