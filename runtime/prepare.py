"""From a request (what to reduce, over which axes of which arrays) to everything a launch needs.

Request -> program -> geometry -> choice -> artifact; each step is pure but the last, which asks the cache and compiles
when nothing is there. MLIR is imported only then.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import Any

from ..compiler import library, monoid, planner
from ..compiler.artifact import Artifact
from ..compiler.dtypes import I32, I64, DType, compute
from ..compiler.errors import error
from ..compiler.geometry import Geometry, collapse, normalize_axes
from ..compiler.graph import Program
from ..compiler.planner import Choice, Task
from ..compiler.target import Target
from . import cache

What = str | monoid.Monoid | Callable[..., Any]
Params = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Shape:
    """An array as far as planning goes: shape, strides in elements, and the byte address modulo 16 of its start."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int
    dtype: DType


@dataclass(frozen=True)
class Request:
    """What to do: ``what`` over the normalised ``axes``, with ``params`` baked in and plan ``options``."""

    what: What
    axes: tuple[int, ...]
    params: Params = ()
    options: str = ""


@dataclass(frozen=True)
class Prepared:
    """A request resolved for arrays of one kind on one machine."""

    program: Program
    geometry: Geometry
    choice: Choice
    target: Target

    @cached_property
    def key(self) -> str:
        """The name of its artifact in the cache."""
        return cache.key(self.program, self.choice.facts, self.choice.plan, self.target)


def function_of(what: What) -> Callable[..., Any]:
    """The tensor program that ``what`` names: a library function, a user's one, or a fold with a monoid."""
    if isinstance(what, str):
        if what not in library.FUNCTIONS:
            raise error("WF120", name=what, known=" ".join(library.FUNCTIONS))
        return library.FUNCTIONS[what]
    if isinstance(what, monoid.Monoid):
        return _folding(what)
    if not callable(what):
        raise error("WF130", kind=type(what).__name__)
    return what


@lru_cache(maxsize=1024)
def _folding(m: monoid.Monoid) -> Callable[..., Any]:
    """The program that only folds with ``m``: one result per value, in the type of the input array.

    Halves are accumulated in f32, and integers of 8 and 16 bits in 32 bits.
    """

    def fold(*xs: Any) -> Any:
        from ..compiler.trace import cast

        got = monoid.fold(m, *(cast(x, compute(x.dtype)) for x in xs))
        results = got if isinstance(got, tuple) else (got,)
        return tuple(cast(r, x.dtype) for r, x in zip(results, xs, strict=True))

    fold.__name__ = m.name
    return fold


@lru_cache(maxsize=4096)
def trace(what: What, inputs: tuple[DType, ...], params: Params, wide: bool) -> Program:
    """The program of ``what`` on inputs of these types; ``wide`` numbers elements in 64 bits."""
    function = function_of(what)
    given: dict[str, Any] = dict(params)
    try:
        accepted = inspect.signature(function).parameters
    except ValueError:  # a built-in type or function that does not tell
        raise error("WF130", kind=type(function).__name__) from None
    named = [n for n, p in accepted.items() if p.kind is p.KEYWORD_ONLY]
    for name in given:
        if name not in named and not any(p.kind is p.VAR_KEYWORD for p in accepted.values()):
            raise error("WF127", name=function.__name__, parameter=name, known=" ".join(named) or "none")
    if "index_dtype" in accepted:
        given["index_dtype"] = I64 if wide else I32
    positional = [p for p in accepted.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is p.empty]
    flexible = any(p.kind is p.VAR_POSITIONAL for p in accepted.values())
    if not flexible and len(required) != len(inputs):
        raise error("WF124", name=function.__name__, expected=len(required), found=len(inputs))
    return monoid.program(function, inputs, **given)


def outputs_of(request: Request, inputs: Sequence[Shape]) -> tuple[Program, tuple[int, ...]]:
    """The program of a request, and the shape of its results (reduced axes left out).

    Raises:
        ArgumentError: WF104 when an empty reduction has no value.
    """
    if not isinstance(request.what, Hashable):
        raise error("WF130", kind=type(request.what).__name__)
    shape = inputs[0].shape
    n_reduced = prod(shape[a] for a in request.axes)
    program = trace(request.what, tuple(i.dtype for i in inputs), request.params, n_reduced >= 2**31)
    kept = tuple(n for a, n in enumerate(shape) if a not in request.axes)
    if n_reduced == 0 and 0 not in kept and not program.monoid.has_identity:
        raise error("WF104", name=program.name, axes=request.axes, shape=shape)
    return program, kept


@lru_cache(maxsize=4096)
def prepare(
    request: Request, inputs: tuple[Shape, ...], outputs: tuple[Shape, ...], target: Target, sms: int
) -> Prepared:
    """Geometry and plan for a request on arrays of one kind."""
    program, _ = outputs_of(request, inputs)
    geometry = collapse(
        inputs[0].shape,
        request.axes,
        [i.strides for i in inputs],
        [o.strides for o in outputs],
        ordered=not program.monoid.commutative,
        indexed=program.uses_index,
    )
    addresses = tuple(a.address for a in (*inputs, *outputs))
    task = Task(program, geometry, addresses, target, sms)
    return Prepared(program, geometry, planner.choose(task, request.options), target)


def artifact(prepared: Prepared) -> Artifact:
    """The compiled kernels: from memory, from disk, or made now and kept."""
    choice, key = prepared.choice, prepared.key
    found = cache.get(key)
    if found is None:
        from ..compiler.driver import compile_program
        from ..passes import steps

        found = compile_program(
            prepared.program, choice.facts, choice.plan, prepared.target, steps(prepared.target), key
        )
        cache.put(found)
    return found


def axes_of(axis: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """``axis`` of an array of ``rank`` as sorted axis numbers."""
    return normalize_axes(axis, rank)
