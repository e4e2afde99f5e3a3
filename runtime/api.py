"""The public functions: ``reduce`` and the named reductions, ``compile`` and ``load``."""

from __future__ import annotations

import builtins
from collections.abc import Hashable, Sequence
from dataclasses import replace
from operator import index
from typing import Any

from ..compiler.dtypes import dtype as as_dtype
from ..compiler.errors import error
from ..compiler.target import DEFAULT, target
from .compiled import Compiled, load
from .dlpack import contiguous
from .execute import Arrays, run
from .prepare import Params, Request, Shape, What, artifact, axes_of, outputs_of, prepare

Axis = int | Sequence[int] | None


def reduce(
    *xs: Any,
    what: What,
    axis: Axis = None,
    keepdims: bool = False,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    **params: Any,
) -> Any:
    """Reduces one or several arrays of one shape.

    Args:
        xs: arrays of any library (NumPy, PyTorch, CuPy, JAX, or anything with DLPack or an array interface).
        what: a monoid, a tensor program (a Python function that uses ``wf.fold``), or the name of a built-in one.
        axis: the axes to reduce: None for all, an int, or several; negative ones count from the end.
        keepdims: leave the reduced axes in the result, with size 1.
        out: an array (or one per result) to write into.
        device: ``auto`` (CUDA if it is there, else the emulator), ``cuda`` or ``emulator``.
        plan: ``key=value,...`` in place of the planner's own choices.
        params: passed to the tensor program and baked in.

    Returns:
        An array in the first input's library and on its device, or a tuple of them.

    Raises:
        ArgumentError, DTypeError, TraceError, PlanError, CompileError, BackendError: see ``docs``; each has a code.
    """
    arrays = Arrays.of(xs, device)
    request = Request(what, axes_of(axis, len(arrays.inputs[0].shape)), _params(what, params), _options(plan))
    inputs = tuple(Shape(v.shape, v.strides, v.address % 16, v.dtype) for v in arrays.inputs)
    program, _ = outputs_of(request, inputs)
    arrays.allocate(request.axes, [o.dtype for o in program.outputs], out, keepdims)
    shapes = arrays.shapes(request.axes)
    backend = arrays.backend
    ready = prepare(request, shapes[: len(xs)], shapes[len(xs) :], backend.target, backend.sms)
    return run(arrays, artifact(ready), ready.geometry, ready.choice.run)


def _params(what: What, params: dict[str, Any]) -> Params:
    """Keyword parameters as a hashable value; a dtype left at None keeps its default."""
    for name, given in params.items():
        if not isinstance(given, Hashable):
            label = what if isinstance(what, str) else getattr(what, "__name__", "the reduction")
            raise error("WF128", parameter=name, name=label, kind=type(given).__name__)
    return tuple(
        sorted((k, as_dtype(v) if k == "dtype" else v) for k, v in params.items() if (k, v) != ("dtype", None))
    )


def _options(plan: object) -> str:
    """``plan=`` as text; None is the planner's own choice."""
    if plan is not None and not isinstance(plan, str):
        raise error("WF131", kind=type(plan).__name__)
    return plan or ""


def _sizes(shape: Sequence[int]) -> tuple[int, ...]:
    """A shape as whole numbers of at least 0."""
    try:
        full = tuple(index(n) for n in shape)
    except TypeError:
        raise error("WF129", shape=shape) from None
    if builtins.any(n < 0 for n in full):
        raise error("WF129", shape=full)
    return full


def sum(x: Any, axis: Axis = None, *, dtype: Any = None, keepdims: bool = False, out: Any = None, **how: Any) -> Any:
    """The sum. Integers and bools widen to 64 bits; f16 and bf16 accumulate in f32."""
    return reduce(x, what="sum", axis=axis, keepdims=keepdims, out=out, dtype=dtype, **how)


def prod(x: Any, axis: Axis = None, *, dtype: Any = None, keepdims: bool = False, out: Any = None, **how: Any) -> Any:
    """The product. Integers and bools widen to 64 bits; f16 and bf16 accumulate in f32."""
    return reduce(x, what="prod", axis=axis, keepdims=keepdims, out=out, dtype=dtype, **how)


def min(x: Any, axis: Axis = None, *, keepdims: bool = False, out: Any = None, **how: Any) -> Any:
    """The least element; NaN if any is. Of no elements: an error."""
    return reduce(x, what="min", axis=axis, keepdims=keepdims, out=out, **how)


def max(x: Any, axis: Axis = None, *, keepdims: bool = False, out: Any = None, **how: Any) -> Any:
    """The greatest element; NaN if any is. Of no elements: an error."""
    return reduce(x, what="max", axis=axis, keepdims=keepdims, out=out, **how)


def argmin(x: Any, axis: Axis = None, *, keepdims: bool = False, out: Any = None, **how: Any) -> Any:
    """Where the least element is, i64: the first of equals, the first NaN if there is any."""
    return reduce(x, what="argmin", axis=axis, keepdims=keepdims, out=out, **how)


def argmax(x: Any, axis: Axis = None, *, keepdims: bool = False, out: Any = None, **how: Any) -> Any:
    """Where the greatest element is, i64: the first of equals, the first NaN if there is any."""
    return reduce(x, what="argmax", axis=axis, keepdims=keepdims, out=out, **how)


def any(x: Any, axis: Axis = None, *, keepdims: bool = False, out: Any = None, **how: Any) -> Any:
    """Whether some element is not zero."""
    return reduce(x, what="any", axis=axis, keepdims=keepdims, out=out, **how)


def all(x: Any, axis: Axis = None, *, keepdims: bool = False, out: Any = None, **how: Any) -> Any:
    """Whether no element is zero."""
    return reduce(x, what="all", axis=axis, keepdims=keepdims, out=out, **how)


def mean(x: Any, axis: Axis = None, *, dtype: Any = None, keepdims: bool = False, out: Any = None, **how: Any) -> Any:
    """The arithmetic mean; of integers in f64; of nothing NaN."""
    return reduce(x, what="mean", axis=axis, keepdims=keepdims, out=out, dtype=dtype, **how)


def var(
    x: Any,
    axis: Axis = None,
    *,
    correction: float = 0,
    dtype: Any = None,
    keepdims: bool = False,
    out: Any = None,
    **how: Any,
) -> Any:
    """The variance with divisor ``n - correction``, by Welford's update."""
    return reduce(x, what="var", axis=axis, keepdims=keepdims, out=out, dtype=dtype, correction=correction, **how)


def norm(x: Any, axis: Axis = None, *, keepdims: bool = False, out: Any = None, **how: Any) -> Any:
    """The 2-norm of all elements along the axes."""
    return reduce(x, what="norm", axis=axis, keepdims=keepdims, out=out, **how)


def logsumexp(x: Any, axis: Axis = None, *, keepdims: bool = False, out: Any = None, **how: Any) -> Any:
    """The logarithm of the sum of exponentials, without overflow."""
    return reduce(x, what="logsumexp", axis=axis, keepdims=keepdims, out=out, **how)


def compile(
    what: What,
    shape: Sequence[int],
    dtype: Any = "f32",
    *,
    axis: Axis = None,
    arch: str | None = None,
    plan: str = "",
    **params: Any,
) -> Compiled:
    """Compiles a reduction of contiguous, aligned arrays like ``shape``; needs no array and no GPU.

    The kernel also serves other sizes of the same rank; calling it with an array that it cannot serve raises WF123.

    Args:
        what: a monoid, a tensor program or the name of a built-in one.
        shape: the shape to plan for.
        dtype: element type of the input, or a tuple with one per input array.
        axis: the axes to reduce; None for all.
        arch: the architecture, ``sm_90a``; the one of the device that is there by default, else ``sm_90a``.
        plan: ``key=value,...`` in place of the planner's own choices.
        params: passed to the tensor program and baked in.
    """
    chosen = target(arch) if arch else DEFAULT
    ready = plan_for(what, shape, dtype, axis=axis, arch=chosen.arch, plan=plan, **params)
    axes = None if axis is None else axes_of(axis, len(shape))
    return Compiled(replace(artifact(ready), axis=axes))


def plan_for(
    what: What, shape: Sequence[int], dtype: Any = "f32", *, axis: Axis = None, arch: str = DEFAULT.arch,
    plan: str = "", **params: Any,
) -> Any:  # fmt: skip
    """Program, geometry and plan (with reasons) for contiguous, aligned arrays: what ``compile`` would compile."""
    chosen, full = target(arch), _sizes(shape)
    types = tuple(as_dtype(t) for t in (dtype if isinstance(dtype, tuple) else (dtype,)))
    if not types:
        raise error("WF124", name="a reduction", expected="at least 1", found=0)
    request = Request(what, axes_of(axis, len(full)), _params(what, params), _options(plan))
    inputs = tuple(Shape(full, contiguous(full), 0, t) for t in types)
    program, kept = outputs_of(request, inputs)
    outputs = tuple(Shape(kept, contiguous(kept), 0, o.dtype) for o in program.outputs)
    return prepare(request, inputs, outputs, chosen, chosen.sms)


__all__ = [
    "all", "any", "argmax", "argmin", "compile", "load", "logsumexp", "max", "mean", "min", "norm", "plan_for",
    "prod", "reduce", "sum", "var",
]  # fmt: skip
