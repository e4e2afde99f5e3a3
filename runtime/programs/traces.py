"""The traces of a function of arrays: each serves all arrays of its types and ranks whose sizes agree as those did."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import Any

from ...compiler.program.array_program import ArrayProgram
from ...compiler.program.arrays.over_axes import MANY
from ...compiler.program.arrays.trace import ArrayArg, trace_arrays
from ...compiler.program.closures import captured
from ...compiler.program.gradients.vjp import is_gradient
from ...compiler.program.signatures import parameters
from ..prepare import warn_of_broken_laws
from .arguments import POSITIONAL, Arguments, Baked

KEPT = 64
"""The most traces for arguments of one kind: a function that is specialised to sizes has one for each of them."""
KINDS = 256
"""The most kinds of arguments: the oldest is dropped first."""


class Traces:
    """The traces of one function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._found: dict[Hashable, list[ArrayProgram]] = {}

    def get(self, arguments: Arguments, arrays: Sequence[ArrayArg], *, apart: bool = False) -> ArrayProgram:
        """The program for these arguments and arrays.

        Equal gradients are one result, as those of a sum are, unless results are to be ``apart``.

        Raises:
            TraceError: what tracing raises, such as WF254 for shapes that do not broadcast.
        """
        kinds = tuple((a.dtype, a.number, a.sizes) for a in arrays)
        once = is_gradient(self.function) and not apart
        size = max((prod(a.shape) for a in arrays), default=0)  # the trace of a large array serves a small one, slower
        key = arguments, kinds, once, size >= MANY, captured(self.function, *arguments.objects)
        known = self._found.setdefault(key, [])
        shapes = [a.shape for a in arrays for _ in range(1 + (a.dtype.kind == "complex"))]
        found = next((p for p in known if serves(p, shapes)), None)
        if found is None:
            found = _traced(self.function, arguments, arrays, once=once)
            warn_of_broken_laws(found.used)
            known[:] = [found, *known[: KEPT - 1]]
            while len(self._found) > KINDS:
                self._found.pop(next(iter(tuple(self._found))), None)  # in one step: a call may add to it meanwhile
        return found


def serves(program: ArrayProgram, shapes: Sequence[tuple[int, ...]]) -> bool:
    """Whether a program serves arrays of these shapes, if it was traced for ones with the same axes of size 1."""
    layouts = program.layouts(shapes)
    if None in layouts:
        return False
    own = [layout.shape for layout in layouts if layout]
    sizes = [{own[array][axis] for array, axis in axes} for axes in program.dims]
    if any(len(found) != 1 for found in sizes) or any(own[array][axis] != n for array, axis, n in program.sizes):
        return False
    of = [next(iter(found)) for found in sizes]
    return all(prod(of[d] for d in program.dims_of(space)) <= most for space, most in program.most)


def _traced(
    function: Callable[..., Any], arguments: Arguments, arrays: Sequence[ArrayArg], *, once: bool
) -> ArrayProgram:
    """Traces ``function`` for these arguments."""
    name = getattr(function, "__name__", "program")
    how: dict[str, Any] = {"name": name, "once": once, "complexes": getattr(function, "takes_complex", False)}
    if arguments.in_order:
        params = {key: slot.value for key, slot in arguments.named if isinstance(slot, Baked)}
        return trace_arrays(function, arrays, params, **how)

    return trace_arrays(of_arrays(function, arguments, len(arrays)), arrays, {}, **how)


def of_arrays(function: Callable[..., Any], arguments: Arguments, count: int) -> Callable[..., Any]:
    """The function of so many arrays by position that calls ``function`` with these arguments."""

    def applied(*symbols: Any) -> Any:
        return arguments.call(function, symbols)

    kind = inspect.Parameter.POSITIONAL_ONLY
    own = [inspect.Parameter(n, kind) for n in names_of(function, arguments, count)]
    applied.__name__ = getattr(function, "__name__", "program")
    applied.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    applied.defined = function  # type: ignore[attr-defined]
    return applied


def names_of(function: Callable[..., Any], arguments: Arguments, count: int) -> tuple[str, ...]:
    """What ``function`` calls each array."""
    single = [p.name for p in parameters(function) if p.kind in POSITIONAL]
    slots = [*zip(single, arguments.positional, strict=False), *arguments.named]
    own = {slot: name for name, slot in slots if isinstance(slot, int)}
    return tuple(own.get(i, f"array_{i}") for i in range(count))
