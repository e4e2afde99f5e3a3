"""From the options of a command line to the request for a reduction, or for a program of arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ...compiler.errors import ArgumentError, error
from ...compiler.plan.fields import Determinism
from ...runtime.programs.function import ArrayFunction
from . import operation
from .count_request import OPTIONS, CountRequest
from .program_request import ProgramRequest
from .request import Request

AnyRequest = Request | ProgramRequest


def request_of(
    op: str,
    files: tuple[str, ...] = (),
    shapes: tuple[str, ...] = (),
    dtype: str | None = None,
    axis_text: str | None = None,
    plan: str = "",
    seed: int = 0,
    param_texts: tuple[str, ...] = (),
    determinism: Determinism = "run",
    *,
    counts: bool = False,
) -> AnyRequest:
    """The request for ``op``, which is a reduction, a program, a ``.ptx`` file, or a count if ``counts`` allows it.

    A plain function is a reduction if it folds the elements of one or several arrays of one shape, and else a program.

    Raises:
        ArgumentError: WF843 for several shapes of a reduction, WF858 for a count; and the errors of ``operation``.
    """
    shape = shapes[0] if shapes and not files else None
    one = Request(op, files, shape, dtype, axis_text, plan, seed, param_texts, determinism)
    if op.endswith(".ptx"):
        return one
    if op in OPTIONS:
        return _count(one, several=len(shapes) > 1, counts=counts)
    function = _program(one, several=len(shapes) > 1)
    if function is not None:
        return ProgramRequest(function, op, files, shapes, dtype, axis_text, plan, seed, param_texts, determinism)
    if len(shapes) > 1:
        raise error("WF843", name=one.name, found=len(shapes))
    if files and shapes:
        raise error("WF814", first="--input", option="--shape", remedy="the file says its shape")
    return one


def _count(request: Request, *, several: bool, counts: bool) -> CountRequest:
    """A histogram, or the numbers of elements of each value."""
    if not counts:
        raise error("WF858", name=request.op)
    if several:
        raise error("WF859", name=request.op, option="second --shape")
    return CountRequest(**vars(request))


def _program(request: Request, *, several: bool) -> Callable[..., Any] | None:
    """The function of a program; None for a reduction. ``several`` says whether arrays have shapes of their own."""
    what = request.what
    if isinstance(what, ArrayFunction):
        return what.function
    return what if inspect.isfunction(what) and (several or not _is_reduction(request, what)) else None


def _is_reduction(request: Request, function: Callable[..., Any]) -> bool:
    """Whether a plain function folds the elements of the arrays of a request."""
    try:
        types = request.kind()[1]
    except ArgumentError as e:
        if e.code not in _NO_REDUCTION:
            raise
        return False
    with request.users_code():
        return operation.is_reduction(function, types, request.params)


_NO_REDUCTION = ("WF808", "WF809", "WF819")
"""What is wrong with a reduction whose arrays have several shapes, or of which some are optional."""
