"""The public functions: ``reduce`` and the named reductions, and ``compile``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import wraps
from operator import index, is_
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..compiler.dtypes import BOOL
from ..compiler.dtypes import dtype as as_dtype
from ..compiler.errors import error
from ..compiler.program.dtype_names import dtype as named_dtype
from ..compiler.program.frames import caller, outermost, shown
from ..compiler.program.library import reductions
from ..compiler.program.monoid import Monoid
from ..compiler.program.spelling import irreducible
from ..compiler.space.geometry import normalize_axes
from ..compiler.target import DEFAULT, target
from . import tuned_plans
from .arrays.conversion import from_numpy, view
from .arrays.torch_compile import opaque
from .calls.operands import Operands
from .calls.recall import Memo, arrays_of, asked, named
from .calls.recipe import MISS
from .execute import prepared, run
from .prepare import Request, artifact, prepare, traced
from .resolve import params_of
from .view import ArraySpec, all_parts, contiguous

if TYPE_CHECKING:
    from .compiled import Compiled

Axis = int | Sequence[int] | None
OPTIONS = {
    "nan": (("propagate", "ignore", "raise"), "propagate"),
    "determinism": (("run", "portable", "none"), "run"),
}


@overload
def reduce(x: Any, what: tuple[Any, ...], /, *, axis: Axis = None, **how: Any) -> tuple[Any, ...]: ...
@overload
def reduce(*xs: Any, what: tuple[Any, ...], axis: Axis = None, **how: Any) -> tuple[Any, ...]: ...
@overload
def reduce(
    *xs: Any, what: Any = None, axis: Axis = None, keepdims: bool = False, out: Any = None, where: Any = None,
    nan: str = "propagate", determinism: str = "run", device: str = "auto", plan: str = "", **params: Any,
) -> Any: ...  # fmt: skip


@opaque
def reduce(
    *xs: Any,
    what: Any = None,
    axis: Axis = None,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
    **params: Any,
) -> Any:
    """Reduces one or several arrays, broadcast to one shape.

    >>> import warpfold as wf
    >>> wf.reduce([3, 1, 2], "max")
    np.int64(3)
    >>> wf.reduce([3.0, 1.0], (wf.SUM, wf.ARGMAX))
    (np.float64(4.0), np.int64(0))

    Args:
        xs: arrays of any library (NumPy, PyTorch, CuPy, JAX, or anything with DLPack or an array interface); then, if
            it is not given by name, ``what``.
        what: a monoid, a tensor program (a Python function that uses ``wf.fold``), the name of a built-in one, or a
            tuple of these, which are all computed from one read.
        axis: the axes to reduce: None for all, an int, or several; negative ones count from the end; () for none.
        keepdims: leave the reduced axes in the result, with size 1.
        out: an array (or one per result) to write into.
        where: an array of bool that broadcasts to the inputs: elements where it is false are left out.
        nan: what becomes of elements that are NaN: they ``propagate``, or ``ignore`` leaves them out, or ``raise``
            raises WF135 (and waits for the device).
        determinism: ``run``: the same bits on every run; ``portable``: also on every device and for every alignment;
            ``none``: the plan may ask for atomics on floats.
        device: ``auto`` (CUDA if it is there, else the emulator), ``cuda`` or ``emulator``.
        plan: ``key=value,...`` in place of the planner's own choices; or a name of ``compiler/plan/ladder.py``.
        params: passed to the tensor program and baked in.

    Returns:
        An array in the first input's library and on its device, or a tuple of them, named where the program names them.

    Raises:
        ArgumentError, DTypeError, TraceError, PlanError, CompileError, BackendError: each has a
            code, all of which are in ``compiler/errors/catalogue/``.
    """
    if what is None:
        if len(xs) < 2:
            raise irreducible(None, "nothing", where=caller())
        *xs, what = xs  # type: ignore[assignment]
    how = {"keepdims": keepdims, "nan": nan, "determinism": determinism, "device": device, "plan": plan, **params}
    usual = not params and all(map(is_, how.values(), _USUAL))
    try:
        ask = asked(axis, out, where, {} if usual else how, named(what), len(xs))
        return _reductions(
            ask, what, arrays_of(tuple(xs), out, where), lambda: _reduced(xs, what, axis, out=out, where=where, **how)
        )
    except Exception as e:
        raise shown(e)  # noqa: B904  # WARPFOLD_TRACEBACK=full shows the frames between


_reductions = Memo()
_USUAL = (False, "propagate", "run", "auto", "")
"""What ``keepdims`` and so on are in most calls; they need not be part of the question then."""


def _reduced(
    xs: Sequence[Any],
    what: Any,
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    determinism: str = "run",
    device: str = "auto",
    plan: str = "",
    **params: Any,
) -> Any:
    """``reduce`` from the arguments to the launch, whatever was seen before."""
    check_options(nan=nan, determinism=determinism)
    if any(isinstance(x, str | Monoid) for x in xs):
        if hasattr(what, "__array__"):
            raise irreducible(what)
        raise error("WF176", name="reduce", expected="arrays, then what to reduce with", found=len(xs) + 1)
    arrays = Operands.of(xs, device, where)
    axes = normalize_axes(axis, len(arrays.shape))
    params_found = params_of(what, params)
    request = Request(what, axes, params_found, plan_text(plan), arrays.masked, nan, determinism)  # type: ignore[arg-type]
    ready = prepared(request, arrays, out, keepdims)
    found = ready.traced
    return run(arrays, artifact(ready), ready.geometry, ready.choice.run, found.structure, found.checks)


def check_options(**given: str) -> None:
    """``nan`` and ``determinism`` are words of a few; WF138 otherwise."""
    for option, value in given.items():
        known, default = OPTIONS[option]
        if value not in known:
            raise error("WF138", option=option, value=value, expected=" or ".join(known), default=default)


def plan_text(plan: object) -> str:
    """``plan=`` as text; None is the planner's own choice."""
    if plan is not None and not isinstance(plan, str):
        raise error("WF131", kind=type(plan).__name__)
    return plan or ""


def _sizes(shape: Sequence[int]) -> tuple[int, ...]:
    """A shape as whole numbers of at least 0."""
    try:
        full = tuple(index(n) for n in shape)
    except TypeError:
        raise error("WF129", shape="an array" if hasattr(shape, "shape") else shape) from None
    if any(n < 0 for n in full):
        raise error("WF129", shape=full)
    return full


# --- the named reductions ------------------------------------------------------------------------------------------
_OF_REDUCE = inspect.signature(reduce).parameters
_AXIS = _OF_REDUCE["axis"].replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
_SHARED = [p for name, p in _OF_REDUCE.items() if name not in ("xs", "what", "axis", "params")]


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """That of the public function: the arrays, ``axis``, its own parameters, those of ``reduce``."""
    own = list(inspect.signature(function).parameters.values())
    arrays = [p for p in own if p.kind is not p.KEYWORD_ONLY]
    return inspect.Signature([*arrays, _AXIS, *own[len(arrays) :], *_SHARED])


def _named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The public function of a built-in reduction: its arrays, ``axis``, its own parameters and those of ``reduce``."""
    signature = _signature(function)
    call = (_of_one if list(signature.parameters).index("axis") == 1 else _of_two)(name, Memo())
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{function.__doc__}\n\nFurther arguments as in ``reduce``."
    call.__signature__ = signature  # type: ignore[attr-defined]
    return opaque(call)


def _of_one(name: str, memo: Memo) -> Callable[..., Any]:
    """The named reduction of one array."""
    last = memo.last

    def call(x: Any, axis: Axis = None, *rest: Any, out: Any = None, where: Any = None, **how: Any) -> Any:
        if rest:
            raise error("WF176", name=name, expected="the array, axis", found=2 + len(rest), where=caller())
        if where is None and type(out) is not tuple and (axis is None or type(axis) is int):
            # What most calls come down to, without a call of our own: the question as ``asked`` puts it.
            ask: Hashable = axis
            if how:
                ask = (axis, "" if out is None else "out", *map(type, how.values()), *how.items())
            elif out is not None:
                ask = (axis, "out")
            try:
                recipe = last.get(ask)
            except TypeError:  # a parameter without a hash
                recipe = None
            if recipe is not None:
                found = recipe(x) if out is None else recipe(x, out)
                if found is not MISS:
                    return found
        try:
            return memo.missed(
                asked(axis, out, where, how), name, arrays_of((x,), out, where),
                lambda: _reduced((x,), name, axis, out=out, where=where, **how),
            )  # fmt: skip
        except Exception as e:
            raise shown(e)  # noqa: B904  # WARPFOLD_TRACEBACK=full shows the frames between

    return call


def _of_two(name: str, memo: Memo) -> Callable[..., Any]:
    """The named reduction of two arrays."""

    def call(x: Any, y: Any, axis: Axis = None, *rest: Any, out: Any = None, where: Any = None, **how: Any) -> Any:
        if rest:
            raise error("WF176", name=name, expected="two arrays, axis", found=3 + len(rest), where=caller())
        try:
            ask, given = asked(axis, out, where, how), arrays_of((x, y), out, where)
            return memo(ask, name, given, lambda: _reduced((x, y), name, axis, out=out, where=where, **how))
        except Exception as e:
            raise shown(e)  # noqa: B904  # WARPFOLD_TRACEBACK=full shows the frames between

    return call


_PUBLIC = {name: _named(name, f) for name, f in reductions.FUNCTIONS.items()}


def __getattr__(name: str) -> Any:
    """A named reduction; the package's ``__init__.py`` says which are public."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _PUBLIC[name]


@opaque
def vecdot(x: Any, y: Any, axis: int = -1, **how: Any) -> Any:
    """The sum over one axis of the products of two arrays, the first's elements conjugated where they are complex."""
    return reduce(x, y, what="vecdot", axis=axis, **how)


def _compared(slow: Callable[..., Any]) -> Callable[..., Any]:
    """``slow``, a function of two arrays that looks at their shapes, with its calls remembered."""
    memo, name = Memo(), slow.__name__

    @opaque
    @wraps(slow)
    def call(x: Any, y: Any, *rest: Any, out: Any = None, where: Any = None, **how: Any) -> Any:
        if rest:
            raise error("WF176", name=name, expected="two arrays", found=2 + len(rest), where=caller())
        try:
            ask, given = asked(None, out, where, how), arrays_of((x, y), out, where)
            return memo(ask, name, given, lambda: slow(x, y, out=out, where=where, **how))
        except Exception as e:
            raise shown(e)  # noqa: B904  # WARPFOLD_TRACEBACK=full shows the frames between

    return call


@_compared
def dot(x: Any, y: Any, **how: Any) -> Any:
    """The sum of the products of two arrays of rank 1.

    Raises:
        ArgumentError: WF150 for other ranks or sizes.
    """
    shapes = [view(a).shape for a in (x, y)]
    if len(shapes[0]) != 1 or shapes[0] != shapes[1]:
        raise error("WF150", shapes=f"{shapes[0]} and {shapes[1]}")
    return _reduced((x, y), "dot", **how)


@_compared
def array_equal(x: Any, y: Any, **how: Any) -> Any:
    """Whether two arrays have one shape and equal elements."""
    if view(x).shape != view(y).shape:
        return from_numpy(x, np.zeros((), np.bool_))
    return _reduced((x, y), "array_equal", **how)


@opaque
@outermost
def compile(
    what: Any,
    shape: Sequence[int],
    dtype: Any = "f32",
    *,
    axis: Axis = None,
    where: bool = False,
    nan: str = "propagate",
    determinism: str = "run",
    arch: str = DEFAULT.arch,
    plan: str = "",
    **params: Any,
) -> Compiled:
    """Compiles a reduction of contiguous, aligned arrays like ``shape``; needs no array and no GPU.

    The kernel also serves other sizes of the same rank; calling it with an array that it cannot serve raises WF123. One
    that sums bytes in 32 bits, since they hold the sum for ``shape``, serves as many elements as they do for any.

    Args:
        what: a monoid, a tensor program, the name of a built-in one, or a tuple of them.
        shape: the shape to plan for.
        dtype: element type of the input, or a tuple with one per input array: NumPy's names and types, and short ones
            such as ``"f32"`` where they have one reading.
        axis: the axes to reduce; None for all.
        where: whether calls will give a mask.
        nan: as in ``reduce``.
        determinism: as in ``reduce``.
        arch: the architecture to compile for.
        plan: ``key=value,...`` in place of the planner's own choices; or a name of ``compiler/plan/ladder.py``.
        params: passed to the tensor program and baked in.
    """
    how: dict[str, Any] = {"where": where, "nan": nan, "determinism": determinism}
    types = tuple(map(named_dtype, dtype if isinstance(dtype, tuple) else (dtype,)))
    ready = for_any_size(plan_for(what, shape, types, axis=axis, arch=arch, plan=plan, **how, **params), plan)
    axes = None if axis is None else normalize_axes(axis, len(shape))
    found = ready.traced
    made = artifact(ready)
    facts = {
        "provenance": {**made.provenance, "shape": "x".join(map(str, _sizes(shape))) or "a number"},
        "results": found.results,
        "structure": found.structure,
        "checks": found.checks,
        "masked": where,
        "arrays": found.arrays,
        "determinism": determinism,
        "most": found.most,
    }
    from .compiled import Compiled  # which a reduction of an array does not ask

    return Compiled(replace(made, axis=axes, **facts))


def for_any_size(ready: Any, plan: str = "") -> Any:
    """What ``plan_for`` gave for this ``plan``, with kernels that serve arrays of other sizes, too."""
    choice = ready.choice if plan else tuned_plans.for_any_size(ready.task, ready.choice)
    return replace(ready, choice=choice.for_any_size)


def plan_for(
    what: Any, shape: Sequence[int], dtype: Any = "f32", *, axis: Axis = None, where: bool = False,
    nan: str = "propagate", determinism: str = "run", arch: str = DEFAULT.arch, plan: str = "", **params: Any,
) -> Any:  # fmt: skip
    """Program, geometry and plan (with reasons) for contiguous, aligned arrays: what ``compile`` would compile."""
    check_options(nan=nan, determinism=determinism)
    chosen, full = target(arch), _sizes(shape)
    types = tuple(as_dtype(t) for t in (dtype if isinstance(dtype, tuple) else (dtype,)))
    if not types:
        raise error("WF124", name="a reduction", expected="at least 1", found=0)
    types += (BOOL,) if where else ()
    axes, given = normalize_axes(axis, len(full)), params_of(what, params)
    request = Request(what, axes, given, plan_text(plan), where, nan, determinism)  # type: ignore[arg-type]
    found, kept = traced(request, types, full)
    inputs = [ArraySpec(full, contiguous(full), 0, t) for t in types]
    results = [ArraySpec(kept, contiguous(kept), 0, t) for t in (*found.results, *(BOOL for _ in found.checks))]
    return prepare(request, types, all_parts(inputs), all_parts(results), chosen, chosen.sms)


__all__ = ["array_equal", "compile", "dot", "plan_for", "reduce", "vecdot", *reductions.FUNCTIONS]
