"""What PyTorch saves of a call for its backward, and the programs that read it.

Saved are the arguments that the backward reads, and what ``vjp`` keeps by default (``pairs.py``): results, and values
beside them, which the forward then returns, too. An argument whose elements the backward does not read, such as the
bias of a layer norm, is not saved.

A value that was kept beside the results has no gradient. So a backward that is recorded itself makes such floats again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ...compiler.program.arrays.trace import ArrayArg
from ...compiler.program.arrays.types import has_gradient
from ...compiler.program.closures import captured
from ...compiler.program.gradients.vjp import positional_names
from ..arrays import conversion
from ..view import ArraySpec, contiguous
from .arguments import Arguments, arguments_of
from .function import ArrayFunction
from .gradients import vjp
from .pairs import Gradient, Keeping
from .traces import Traces

Place = int | str
"""A position, or a keyword."""


class Saved(NamedTuple):
    """What is saved of a call, in this order, and how the backward reads it.

    Attributes:
        arrays: the numbers of the arrays of the call that are saved.
        kept: for each value that is kept the number of the result that it is, or None for one beside the results.
        forward: the program that returns those beside, in a tuple behind its results; None if there are none.
        backward: the program from gradients, arguments and kept values to gradients.
        again: that from gradients and arguments, for a backward that is recorded; None if it need not be another one.
    """

    arrays: tuple[int, ...]
    kept: tuple[int | None, ...]
    forward: ArrayFunction[..., Any] | None
    backward: ArrayFunction[..., Any]
    again: ArrayFunction[..., Any] | None


@lru_cache(maxsize=1024)
def gradient_program(
    function: Callable[..., Any], count: int, results: int, places: tuple[Place, ...], keep: Keeping = "fastest"
) -> Gradient:
    """The gradient of a function of so many arguments by position, for those at some places."""
    names = positional_names(function, count)
    return vjp(function, results=results, wrt=[p if isinstance(p, str) else names[p] for p in places], keep=keep)


def array_arg(x: Any) -> ArrayArg:
    """What tracing knows of an array of any library."""
    v = conversion.view(x)
    return ArrayArg(v.dtype, v.shape, not v.shape and v.device.kind == "cpu")


def saved_of(
    function: Callable[..., Any],
    arguments: Arguments,
    arrays: Sequence[ArrayArg],
    wanted: tuple[Place, ...],
    keeps: bool,
    keep: Keeping = "fastest",
) -> Saved:
    """What is saved of a call.

    Args:
        function: a function of symbolic arrays that computes what it does.
        arguments: the call without its arrays.
        arrays: its arrays, see ``arguments_of``.
        wanted: the places of the arguments whose gradients are wanted.
        keeps: whether the forward may return values beside its results.
        keep: as in ``vjp``.

    Raises:
        TraceError: as ``vjp``, for a function without a gradient.
    """
    return _saved(function, arguments, tuple(arrays), wanted, keeps, keep, captured(function, *arguments.objects))


@lru_cache(maxsize=1024)
def _saved(
    function: Callable[..., Any],
    arguments: Arguments,
    arrays: tuple[ArrayArg, ...],
    wanted: tuple[Place, ...],
    keeps: bool,
    keep: Keeping,
    _outside: Hashable,
) -> Saved:
    forward = Traces(function).get(arguments, arrays, apart=True)
    sizes = forward.sizes_of([a.shape for a in arrays])
    outputs = forward.outputs[: len(forward.outputs) - len(forward.checks)]
    results = [ArrayArg(o.stored, o.shape(sizes)) for o in outputs]
    plain = gradient_program(function, len(arguments.positional), len(results), wanted, keep)
    specs = [ArraySpec(a.shape, contiguous(a.shape), 0, a.dtype) for a in arrays]
    kept = arguments.call(lambda *xs, **how: plain.pair.kept(xs, how), specs)
    if not keeps and any(k.result is None for k in kept):
        kept = []
    program = plain.pair.reader(len(kept)) if kept else plain
    call = arguments.call(lambda *xs, **how: (xs, how), arrays)
    read = _read(program, results, call, [ArrayArg(k.dtype, k.shape) for k in kept])
    floats = any(k.result is None and has_gradient(k.dtype) for k in kept)
    if floats:
        read |= _read(plain, results, call)
    own = tuple(k.result for k in kept)
    saved = tuple(i for i, a in enumerate(arrays) if id(a) in read)
    return Saved(saved, own, plain.pair.program if None in own else None, program, plain if floats else None)


def _read(
    program: ArrayFunction[..., Any],
    results: Sequence[ArrayArg],
    call: tuple[Sequence[Any], Mapping[str, Any]],
    kept: Sequence[ArrayArg] = (),
) -> set[int]:
    """The ids of the arrays that a gradient reads, whichever gradients of results there are."""
    floats = [r for r in results if has_gradient(r.dtype)]
    found: set[int] = set()
    for given in (floats, *([r] for r in floats)) if len(floats) > 1 else (floats,):
        gradients = [r if any(r is g for g in given) else None for r in results]
        arguments, arrays = arguments_of(program.function, (*gradients, *call[0], *kept), call[1])
        traced = program._traces.get(arguments, arrays)
        found |= {id(arrays[traced.argument(v.array)]) for v in traced.views}
    return found
