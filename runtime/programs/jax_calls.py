"""Calls inside JAX's transformations: ``jax.jit``, ``jax.grad``, ``jax.vmap``.

A call becomes a JAX function with a rule for its gradient (``jax.custom_vjp``): the forward keeps what is cheapest to
keep, and the backward reads it. Both are such functions, too, so that a gradient has a gradient. Where values are not
there yet, XLA calls the program later, by its foreign function interface (``../arrays/xla_ffi.py``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...compiler.dtypes import dtype
from ...compiler.errors import error
from ...compiler.program.arrays.types import has_gradient
from ...compiler.program.exact import exactly
from ...compiler.program.gradients.vjp import positional_names
from ...compiler.program.tracing import nest
from ...compiler.target import DEFAULT
from ..arrays import xla_ffi
from ..arrays.jax_tracers import in_jax
from ..arrays.xla_ffi import Kind
from ..resolve import hashable
from ..view import ArraySpec, contiguous
from .arguments import arguments_of
from .function import DEFAULTS, ArrayFunction, program
from .pairs import Pair
from .reductions import of_arrays, options_of, reduction

Place = int | str
"""A position, or a keyword."""


def transformed(function: Callable[..., Any], xs: Sequence[Any], how: Mapping[str, Any], out: Any = None) -> Any:
    """A call of a function of symbolic arrays, some of whose arguments JAX traces; results are JAX's.

    Raises:
        ArgumentError: WF193 for what JAX's programs cannot do: to write into arrays, and to look at values.
    """
    if out is not None:
        raise error("WF193", what="out= is given", remedy="JAX's arrays are not written: take the result")
    jax = sys.modules["jax"]
    slots: dict[Place, Any] = dict(enumerate(xs))
    slots.update(how.items())
    arrays = {place: x for place, x in slots.items() if isinstance(x, jax.Array | np.ndarray)}
    own = {place: tuple(x) if type(x) is list else x for place, x in slots.items() if place not in arrays}
    rest = tuple((place, x, exactly(x)) for place, x in own.items())
    return _differentiable(program(function), len(xs), tuple(arrays), rest)(*arrays.values())


def reduced_in_jax(xs: Sequence[Any], what: Any, axis: Any, out: Any, where: Any, how: Mapping[str, Any]) -> Any:
    """A reduction of arrays that JAX traces; arguments as those of ``reduce``."""
    key = what, tuple(axis) if isinstance(axis, list) else axis, options_of(how)
    function = (reduction if hashable(key) else of_arrays)(*key)
    options = {name: how[name] for name in DEFAULTS.keys() & how.keys()}
    return transformed(function, xs, options | ({} if where is None else {"where": where}), out)


def _applied(function: Callable[..., Any], xs: Sequence[Any], how: Mapping[str, Any]) -> Any:
    """A call whose arguments JAX may trace."""
    run = transformed if in_jax((*xs, *how.values())) else lambda f, xs, how: program(f)(*xs, **how)
    return run(function, xs, how)


@lru_cache(maxsize=1024)
def _differentiable(
    made: ArrayFunction[..., Any], count: int, places: tuple[Place, ...], rest: tuple[tuple[Place, Any, Hashable], ...]
) -> Callable[..., Any]:
    """The function of arrays at some places, where all other arguments are known; with its gradient."""
    jax = sys.modules["jax"]

    def arguments(arrays: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        slots = {place: x for place, x, _ in rest} | dict(zip(places, arrays, strict=True))
        return [slots[i] for i in range(count)], {p: x for p, x in slots.items() if isinstance(p, str)}

    def call(*arrays: Any) -> Any:
        return _called(made, *arguments(arrays))

    def pair(arrays: Sequence[Any]) -> Pair:
        xs, how = arguments(arrays)
        names = positional_names(made.function, count)
        wanted = [p if isinstance(p, str) else names[p] for p, x in zip(places, arrays, strict=True) if _is_float(x)]
        return _pair(made.function, len(_traced(made, xs, how)[1]), tuple(wanted))

    def forward(*arrays: Any) -> Any:
        (xs, how), own = arguments(arrays), pair(arrays)
        value, beside = _applied(own.program.function, xs, how)
        leaves, others = jax.tree.leaves(value), iter(beside)
        named = {name: _spec(x) for name, x in how.items() if name not in DEFAULTS}
        kept = [next(others) if k.result is None else leaves[k.result] for k in own.kept([*map(_spec, xs)], named)]
        return value, (arrays, tuple(kept))

    def backward(residual: Any, gradients: Any) -> tuple[Any, ...]:
        arrays, kept = residual
        xs, how = arguments(arrays)
        none = jax.dtypes.float0
        given = [None if g.dtype == none else g for g in jax.tree.leaves(gradients)]
        found = _applied(pair(arrays).reader(len(kept)).function, [*given, *xs, *kept], how)
        own = iter(found if isinstance(found, tuple) else (found,))
        return tuple(next(own) if _is_float(x) else np.zeros(x.shape, none) for x in arrays)

    call.__name__ = str(getattr(made.function, "__name__", "program"))
    found = jax.custom_vjp(call)
    found.defvjp(forward, backward)
    return found  # type: ignore[no-any-return]


@lru_cache(maxsize=256)
def _pair(function: Callable[..., Any], results: int, wrt: tuple[str, ...]) -> Pair:
    return Pair(function, results, wrt, "fastest")


def _spec(x: Any) -> Any:
    """An array of the shape and type of one; anything else as it is."""
    if not (hasattr(x, "shape") and hasattr(x, "dtype")):
        return x
    return ArraySpec(tuple(x.shape), contiguous(tuple(x.shape)), 0, dtype(x.dtype))


def _is_float(x: Any) -> bool:
    return has_gradient(dtype(x.dtype))


def _called(made: ArrayFunction[..., Any], xs: Sequence[Any], how: Mapping[str, Any]) -> Any:
    """A call: now, or where values are not there yet by XLA."""
    if not in_jax((*xs, *how.values())):
        return made(*xs, **how)
    jax = sys.modules["jax"]
    own = {name: value for name, value in how.items() if name not in DEFAULTS}
    options = {name: value for name, value in how.items() if name in DEFAULTS}
    arguments, arrays = arguments_of(made.function, xs, own)
    structure, results = _traced(made, xs, how)

    def execute(given: Sequence[Any], into: Sequence[Any]) -> None:
        arguments.call(lambda *xs, **own: made(*xs, out=tuple(into), **own, **options), given)

    for r in results:
        if jax.dtypes.canonicalize_dtype(r.dtype.numpy) != r.dtype.numpy:
            raise error(
                "WF193", what=f"a result is of type {r.dtype}", remedy="jax.config.update('jax_enable_x64', True)"
            )
    number = xla_ffi.added(execute, [Kind(tuple(x.shape), dtype(x.dtype)) for x in arrays], results)
    kinds = [jax.ShapeDtypeStruct(r.shape, r.dtype.numpy) for r in results]
    call = jax.ffi.ffi_call(xla_ffi.registered(jax), kinds, vmap_method="sequential")
    return nest(structure, call(*arrays, call=np.int64(number)))


def _traced(made: ArrayFunction[..., Any], xs: Sequence[Any], how: Mapping[str, Any]) -> tuple[Any, list[Kind]]:
    """How the results of a call nest, and what they are."""
    own = {name: value for name, value in how.items() if name not in DEFAULTS}
    found = made._planned([*map(_spec, xs)], {name: _spec(x) for name, x in own.items()}, DEFAULT.arch)
    traced = found.prepared.program
    if traced.checks:
        raise error("WF193", what="a check of values is asked for", remedy="check them outside of JAX's functions")
    sizes = traced.sizes_of([a.shape for a in found.arrays])
    return traced.structure, [Kind(o.shape(sizes), o.stored) for o in traced.outputs]
