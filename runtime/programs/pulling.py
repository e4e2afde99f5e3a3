"""The backward of a recorded call: from the gradients of its results, and what was saved, to those of its arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from operator import itemgetter
from typing import Any

from .saved import Place, Saved

Pull = Callable[[Any, Sequence[Any]], tuple[Any, ...]]
"""From PyTorch's record of a call, and the gradients of its results, to what PyTorch takes for its arguments."""


def pull_of(
    saved: Saved,
    xs: Sequence[Any],
    how: Mapping[str, Any],
    places: Sequence[Place],
    hosted: Sequence[int],
    results: Sequence[int],
    tensors: Sequence[Any],
    needed: Sequence[bool],
) -> Pull:
    """The backward of all calls of a kind. It picks the arguments of a program from one tuple, which costs the least.

    The tuple has the gradients, what was saved, what is the same in each call, and the arrays of NumPy.

    Args:
        saved: what PyTorch saves.
        xs: the arguments of the program by position without the arrays.
        how: those by keyword.
        places: where the arrays are.
        hosted: which of them are NumPy's: PyTorch's record has them in ``hosted``.
        results: for each result its number among the recorded ones, or a negative number for one without a gradient.
        tensors: the arrays of one of the calls.
        needed: which arrays need a gradient.
    """
    gradients, same = max(results) + 1, list[Any]()
    first = gradients + len(saved.arrays) + len(saved.kept)

    def constant(x: Any) -> int:
        same.append(x)
        return first + len(same) - 1

    def place(number: int) -> int:
        if number in hosted:
            return hosted.index(number) - len(hosted)
        return gradients + saved.arrays.index(number) if number in saved.arrays else constant(_alike(tensors[number]))

    own = {p: place(i) for i, p in enumerate(places)}
    order = [constant(None) if i < 0 else i for i in results]
    order += [own[p] if p in own else constant(x) for p, x in enumerate(xs)]
    kept = range(first - len(saved.kept), first)
    named = {p: i for p, i in own.items() if isinstance(p, str)}
    numbers = count()
    spread = itemgetter(-1, *(next(numbers) if n else -1 for n in needed))
    single, constants = sum(needed) == 1, tuple(same)

    def of(program: Callable[..., Any], pick: itemgetter[Any]) -> Pull:
        def pull(ctx: Any, gradients: Sequence[Any]) -> tuple[Any, ...]:
            found = program(*pick((*gradients, *ctx.saved_tensors, *constants)), **how)
            return spread((found, None) if single else (*found, None))  # type: ignore[no-any-return]

        def pull_named(ctx: Any, gradients: Sequence[Any]) -> tuple[Any, ...]:
            pool = (*gradients, *ctx.saved_tensors, *constants, *getattr(ctx, "hosted", ()))
            found = program(*pick(pool), **how, **{p: pool[i] for p, i in named.items()})
            return spread((found, None) if single else (*found, None))  # type: ignore[no-any-return]

        return pull_named if hosted or named else pull

    once = of(saved.backward, itemgetter(*order, *kept))
    if saved.again is None:
        return once
    again, is_recorded = of(saved.again, itemgetter(*order)), sys.modules["torch"].is_grad_enabled
    return lambda ctx, gradients: (again if is_recorded() else once)(ctx, gradients)


def _alike(x: Any) -> Any:
    """A tensor of the shape and type of one whose elements are not read: it has memory for one element."""
    return x.new_empty(()).expand(x.shape)
