"""Gradients of programs of arrays, and of any function that may be one: each is a program, too."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any, get_args

from ...compiler.errors import error
from ...compiler.program.frames import caller, outermost
from ...compiler.program.gradients import detached
from ...compiler.program.gradients.vjp import with_value
from ...compiler.program.signatures import parameters
from ...compiler.program.symbols import Sym
from .function import OPTIONS, ArrayFunction, check_function, program
from .pairs import Gradient, Keeping


@outermost
def vjp(
    function: Callable[..., Any],
    *,
    results: int = 1,
    wrt: str | Sequence[str] | None = None,
    keep: Keeping = "fastest",
) -> Gradient:
    """The gradient of a function of arrays, as a program: the product of a vector with its Jacobian.

    >>> import warpfold as wf
    >>> backward = wf.vjp(wf.softmax)
    >>> backward([1.0, 0.0], [0.0, 0.0])
    array([ 0.25, -0.25])

    It takes the gradient of each result first, where a number stands for an array of it and None for zeros, and then
    what ``function`` takes. It returns the gradient of each array of floats in the order of the parameters, in a tuple
    if there are several. The results of ``function`` are made again from its arguments, as far as the gradients need
    them.

    A training step has a forward before, which may keep what is made again here: ``y, kept = backward.forward(x)`` and
    then ``backward.backward(dy, kept)``. What is kept beside arguments is chosen by bytes.

    Where there is no derivative: ``abs`` has 0 at 0; the gradient of an extreme goes in equal parts to all elements
    that are it; functions with steps have 0; a comparison has none.

    Args:
        function: a program, a built-in program or reduction, or a function of arrays as ``wf.program`` takes one.
        results: how many arrays it returns.
        wrt: the parameter whose gradient is wanted, or several; None for those of all arrays of floats.
        keep: what ``forward`` keeps: ``"fastest"`` also results and values between, where reading them costs fewer
            bytes or saves a fold; ``"folds"`` also what saves folds of rows that do not wait on chip; ``"least"``
            arguments alone.

    Raises:
        ArgumentError: WF199 for an object that is no function, WF138 for a number of results that is none, for another
            ``keep``, and for a ``wrt`` that names nothing.
        TraceError: when the gradient is called: WF901 for a fold or an operation without a gradient, WF902 for a
            monoid's own rule, WF903 for another number of results, WF904 for arguments, and WF905 to WF907 for
            gradients, of other kinds.
    """
    check_function("wf.vjp", function)
    if type(results) is not int or results < 1:
        raise error("WF138", option="results", value=results, expected="a number from 1", default="1", where=caller())
    if keep not in get_args(Keeping):
        raise error(
            "WF138", option="keep", value=keep, expected="fastest, folds or least", default="fastest", where=caller()
        )
    return _program(function, results, _names(wrt), keep)


@outermost
def value_and_grad(function: Callable[..., Any], *, wrt: str | Sequence[str] | None = None) -> ArrayFunction[..., Any]:
    """A function of arrays together with its gradient, as one program.

    >>> import warpfold as wf
    >>> wf.value_and_grad(lambda x: wf.sum(x * x))([1.0, 3.0])
    (10.0, array([2., 6.]))

    It takes what ``function`` takes, and returns its result, and then what the function of ``vjp`` returns for the
    gradient 1: the gradient of the result, or of its sum if it is an array. What both need is computed once, so that
    the loss of a row and its gradient take one read and one write.

    Args:
        function: a function of one result, as for ``vjp``.
        wrt: the parameter whose gradient is wanted, or several; None for those of all arrays of floats.

    Raises:
        ArgumentError: WF199 for an object that is no function, WF138 for a ``wrt`` that names nothing.
        TraceError: as ``vjp``, when the program is called.
    """
    check_function("wf.value_and_grad", function)
    return _both(function, _names(wrt))


def _names(wrt: str | Sequence[str] | None) -> tuple[str, ...] | None:
    names: Any = (wrt,) if isinstance(wrt, str) else wrt
    if names is None:
        return None
    if not isinstance(names, Sequence) or not all(isinstance(n, str) for n in names):
        expected, default = "the name of an argument, or several", "all arrays of floats"
        raise error("WF138", option="wrt", value=wrt, expected=expected, default=default, where=caller())
    return tuple(names)


@lru_cache(maxsize=256)
def _program(function: Callable[..., Any], results: int, wrt: tuple[str, ...] | None, keep: Keeping) -> Gradient:
    """The gradient of a function; the same one for the same function, so that its traces are kept."""
    return Gradient(_plain(function), results, wrt, keep)


@lru_cache(maxsize=256)
def _both(function: Callable[..., Any], wrt: tuple[str, ...] | None) -> ArrayFunction[..., Any]:
    """The same with the value."""
    return program(with_value(_plain(function), wrt))


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of symbolic arrays behind a program, without the arguments of every call."""
    return _without_options(function.function if isinstance(function, ArrayFunction) else function)


def _without_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` without the arguments of every call, which a reduction has and its gradient gets anew."""
    own = [p for p in parameters(function) if p.name not in OPTIONS]
    if len(own) == len(parameters(function)):
        return function

    @wraps(function)
    def call(*xs: Any, **how: Any) -> Any:
        return function(*xs, **how)

    call.defined = function  # type: ignore[attr-defined]
    call.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    return call


def stop_gradient(x: Any) -> Any:
    """``x``, as a constant where a gradient is taken; a real array as it is.

    >>> import warpfold as wf
    >>> wf.vjp(lambda x: x * wf.stop_gradient(x))([1.0], [3.0])
    array([3.])
    """
    return detached.stop_gradient(x) if isinstance(x, Sym) else x
