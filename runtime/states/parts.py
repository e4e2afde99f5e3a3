"""The reduction of a part of the elements: what is cut, and the state of the part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import index
from typing import Any

import numpy as np

from ...compiler.dtypes import BOOL, DType
from ...compiler.errors import error
from ...compiler.program.closures import captured
from ...compiler.program.exact import exactly
from ...compiler.program.frames import caller
from ...compiler.program.spelling import irreducible
from ...compiler.program.states import Cut, Finished, Merged, Partial
from ...compiler.program.tracing import Nan
from ...compiler.space.geometry import normalize_axes
from ..api import Axis, reduce
from ..resolve import Params, What, function_of, given, hashable, objects_of, params_of
from .numbers import numbers_beside
from .state import State

TOO_MANY = 1 << 63
"""More elements than a result may have: they are counted by signed integers of 64 bits."""


def cut_of(
    what: Any, types: Sequence[DType], params: Mapping[str, Any], *, masked: bool = False, nan: str = "propagate"
) -> Cut:
    """The reduction ``what`` of arrays of these element types, as one that may be cut."""
    if not hashable(what):
        raise irreducible(what)
    leaves_out: Nan = "ignore" if nan == "ignore" else "propagate"
    own = params_of(what, params)
    return _cut(what, tuple(types), own, masked, leaves_out, captured(what, *objects_of(own)))


@lru_cache(maxsize=1024)
def _cut(
    what: What, types: tuple[DType, ...], params: Params, masked: bool, nan: Nan, outside: tuple[object, ...]
) -> Cut:
    function = function_of(what)
    own = tuple((name, value, exactly(value)) for name, value in given(function, params, len(types)).items())
    return Cut(function, (*types, *([BOOL] if masked else [])), own, masked, nan, outside, what)


@lru_cache(maxsize=1024)
def programs_of(cut: Cut) -> tuple[Partial, Merged, Finished]:
    """The three programs of a reduction that may be cut, always the same ones, so that calls are seen to be alike."""
    return Partial(cut), Merged(cut), Finished(cut)


def how_of(determinism: str, device: str, plan: str) -> tuple[tuple[str, str], ...]:
    """The options of calls that states keep."""
    return (("determinism", determinism), ("device", device), ("plan", plan))


def partial_of(
    xs: Sequence[Any], cut: Cut, shape: tuple[int, ...], axis: Axis, where: Any, nan: str, start: Any,
    how: tuple[tuple[str, str], ...], out: tuple[Any, ...] | None = None,
) -> State:  # fmt: skip
    """The state of ``xs``, whose shape is ``shape``; its values are written to ``out`` if that is given."""
    axes = normalize_axes(axis, len(shape))
    count = int(np.prod([shape[a] for a in axes], dtype=object))
    before = elements_before(start, count)
    if not count and not cut.monoid.has_identity and all(n for a, n in enumerate(shape) if a not in axes):
        raise error("WF104", name=cut.name, axes=axes, shape=shape, where=caller())
    taken = (*xs, numbers_beside(xs[0], (before,), ())) if cut.lifted else tuple(xs)
    options: dict[str, Any] = dict(how)
    values = reduce(*taken, what=programs_of(cut)[0], axis=axes, where=where, nan=nan, out=out, **options)
    return State(tuple(values), count, before, len(shape), axes, cut, how, tuple(shape[a] for a in axes[1:]))


def elements_before(start: Any, count: int) -> int:
    """``start`` as a number of elements, which together with ``count`` is one of 63 bits."""
    try:
        found = index(start)
    except TypeError:
        found = -1
    if not 0 <= found < TOO_MANY - count:
        raise error("WF157", start=repr(start), count=count, where=caller())
    return found
