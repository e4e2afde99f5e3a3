"""A program planned for arrays of which only shapes and element types are known, for any architecture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...compiler.plan.fields import Determinism
from ...compiler.program.array_program import ArrayProgram
from ...compiler.program.arrays.trace import ArrayArg
from ...compiler.program.dtype_names import dtype
from ...compiler.target import target
from ..arrays import conversion
from ..view import ArraySpec, contiguous, dense, real_specs
from .arguments import Arguments
from .machine import Machine
from .plans import PreparedProgram, prepare_program
from .run import result_kinds
from .traces import Traces, names_of


class Planned(NamedTuple):
    """The steps of a program with their plans, for arrays of some kinds.

    Attributes:
        prepared: the steps.
        names: what the function calls its arrays.
        arrays: the arrays.
        plan, determinism: what was asked for.
    """

    prepared: PreparedProgram
    names: tuple[str, ...]
    arrays: tuple[ArraySpec, ...]
    plan: str
    determinism: Determinism


def as_arrays(xs: Sequence[Any], how: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments with an ``ArraySpec`` in place of each (shape, element type).

    Raises:
        DTypeError: WF105 or WF160 for a name of no element type, or of two.
    """
    return [_as_array(x) for x in xs], {name: _as_array(x) for name, x in how.items()}


def _as_array(x: Any) -> Any:
    """The contiguous, aligned array that a (shape, element type) stands for; anything else as it is."""
    if type(x) is not tuple or len(x) != 2 or not isinstance(x[0], tuple | list):
        return x
    shape, t = tuple(x[0]), x[1]
    if isinstance(t, int | tuple | list) or not all(isinstance(n, int) for n in shape):
        return x
    return ArraySpec(shape, contiguous(shape), 0, dtype(t))


def planned(
    arguments: Arguments, arrays: Sequence[Any], traces: Traces, arch: str, plan: str, determinism: Determinism
) -> Planned:
    """The steps of a program for these arguments, and their plans for the architecture ``arch``.

    Raises:
        ArgumentError, TraceError, PlanError: as a call.
    """
    specs = tuple(spec_of(x) for x in arrays)
    program = traces.get(arguments, [ArrayArg(s.dtype, s.shape) for s in specs])
    names = names_of(traces.function, arguments, len(specs))
    return planned_program(program, names, specs, arch, plan, determinism)


def planned_program(
    program: ArrayProgram,
    names: tuple[str, ...],
    specs: tuple[ArraySpec, ...],
    arch: str,
    plan: str,
    determinism: Determinism,
) -> Planned:
    """The steps of a program for arrays like ``specs``, which have these names, and their plans."""
    parts = real_specs(specs)
    kinds = zip(result_kinds(program, parts), program.results, strict=True)
    results = real_specs(ArraySpec(shape, dense(shape, order), 0, t) for (shape, order), (_, t) in kinds)
    machine = target(arch)
    prepared = prepare_program(program, parts, results, Machine(machine, machine.sms), plan, determinism)
    return Planned(prepared, names, specs, plan, determinism)


def spec_of(x: Any) -> ArraySpec:
    """What plans depend on of an array."""
    if isinstance(x, ArraySpec):
        return x
    v = conversion.view(x)
    return ArraySpec(v.shape, v.strides, v.address % 16, v.dtype)
