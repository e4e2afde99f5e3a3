"""``wf.scan``: a reduction of which every element gets the value so far, of arrays and of symbolic arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache, partial
from typing import Any

from ...compiler.errors import error
from ...compiler.program.arrays.scanning import check_modes, scanned
from ...compiler.program.exact import exactly
from ...compiler.program.frames import outermost
from ...compiler.program.spelling import array_first
from ...compiler.program.symbols import is_array
from ..resolve import What, function_of, given, hashable, label, params_of
from .function import OPTIONS, ArrayFunction, program

Modes = tuple[tuple[str, bool], ...]
"""``exclusive``, ``reverse`` and ``include_initial``."""
Options = tuple[tuple[str, Any, Hashable], ...]
"""Parameters: name, value, and what tells it apart from equal ones."""


@outermost
def scan(
    x: Any,
    monoid: Any,
    axis: int | None = None,
    *,
    exclusive: bool = False,
    reverse: bool = False,
    include_initial: bool = False,
    **how: Any,
) -> Any:
    """Reduces along an axis so that every element gets the value of the elements up to it.

    >>> import warpfold as wf
    >>> wf.scan([3, 1, 2], wf.SUM)
    array([3, 4, 6])
    >>> wf.scan([3, 1, 2], wf.SUM, exclusive=True)
    array([0, 3, 4])

    Elements are combined in their order, so that the monoid need not be commutative, and in a tree that depends on
    shape, types and plan alone: the bits are the same on every run.

    Args:
        x: an array, or a tuple of arrays, which broadcast, for a monoid that takes several.
        monoid: a monoid, the name of a built-in reduction, or a function that folds, as in ``wf.reduce``: of each
            element the result is what it makes of the elements up to that one.
        axis: the axis; needed for arrays of several axes.
        exclusive: whether an element gets the value of those before it; the first one gets that of the identity.
        reverse: whether elements are taken from the last to the first.
        include_initial: whether the identity comes before the first one, so that the result is longer by one.
        how: ``out``, ``device``, ``plan`` and ``determinism`` of a call, see ``wf.program``, and the parameters of the
            reduction.

    Returns:
        An array of the shape of ``x``, or longer by one along the axis; a tuple of them for a monoid of several values.

    Raises:
        ArgumentError, TraceError: WF120 and WF130 for what is no reduction, WF138 for options, WF256 for an axis that
            the array lacks, WF292 for none of several, WF291 and WF293 for a scan that cannot begin with the identity,
            WF294 for a reduction that counts its elements, as ``mean`` does.
    """
    array_first("scan", x)
    xs = x if isinstance(x, tuple) else (x,)
    params = {name: value for name, value in how.items() if name not in OPTIONS}
    options = {name: value for name, value in how.items() if name in OPTIONS}
    modes = {"exclusive": exclusive, "reverse": reverse, "include_initial": include_initial}
    check_modes(**modes)
    key = monoid, axis, tuple(modes.items()), tuple((n, v, exactly(v)) for n, v in params.items())
    if any(map(is_array, xs)):
        if options:
            raise error("WF188", name=label(monoid), options=", ".join(OPTIONS))
        return _of_arrays(*key, *xs)
    found: Any = (_program if hashable(key) else _made)(*key)
    return found(*xs, **options)


def _made(what: What, axis: int | None, modes: Modes, params: Options) -> ArrayFunction[..., Any]:
    """A scan as a program of arrays."""
    function = partial(_of_arrays, what, axis, modes, params)
    function.__name__ = function.__qualname__ = label(what)  # type: ignore[attr-defined]
    return program(function)


_program: Callable[..., ArrayFunction[..., Any]] = lru_cache(maxsize=256)(_made)
"""The same program for the same scan, so that its traces are kept."""


def _of_arrays(what: What, axis: int | None, modes: Modes, params: Options, /, *xs: Any) -> Any:
    own: Mapping[str, Any] = {name: value for name, value, _ in params}
    function, name = function_of(what), label(what)
    found = given(function, params_of(what, own), len(xs))
    return scanned(name, function, xs, axis, **dict(modes), params=found)


def is_made(function: Any) -> bool:
    """Whether a function of arrays is what ``scan`` makes, one scan and nothing else."""
    return isinstance(function, partial) and function.func is _of_arrays
