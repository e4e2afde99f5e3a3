"""The public functions ``reduce`` and ``compile``, and the plan of a reduction without its arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import index, is_
from typing import TYPE_CHECKING, Any, overload

from ..compiler.dtypes import BOOL
from ..compiler.dtypes import dtype as as_dtype
from ..compiler.errors import error
from ..compiler.program.dtype_names import dtype as named_dtype
from ..compiler.program.frames import caller, outermost, shown
from ..compiler.program.monoid import Monoid
from ..compiler.program.spelling import irreducible
from ..compiler.space.geometry import normalize_axes
from ..compiler.target import DEFAULT, target
from . import tuned_plans
from .arrays.torch_compile import opaque
from .calls.operands import Operands
from .calls.recall import Memo, arrays_of, asked, named
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
    usual = not params and all(map(is_, how.values(), _DEFAULTS.values()))
    try:
        ask = asked(axis, out, where, {} if usual else how, named(what), len(xs))
        given = arrays_of(tuple(xs), out, where)
        return _reductions(ask, what, given, lambda: reduced(xs, what, axis, out, where, how))
    except Exception as e:
        raise shown(e)  # noqa: B904  # WARPFOLD_TRACEBACK=full shows the frames between


_reductions = Memo()
_DEFAULTS: dict[str, Any] = {
    "keepdims": False, "nan": "propagate", "determinism": "run", "device": "auto", "plan": "",
}  # fmt: skip
"""The options of ``reduce`` that have a value in every call; all other keywords are parameters of the program."""


def reduced(xs: Sequence[Any], what: Any, axis: Axis, out: Any, where: Any, how: Mapping[str, Any]) -> Any:
    """``reduce`` from the arguments to the launch, without a look at earlier calls; ``how``: all other keywords."""
    given = _DEFAULTS | {name: value for name, value in how.items() if name in _DEFAULTS}
    params = {name: value for name, value in how.items() if name not in _DEFAULTS}
    nan, determinism = given["nan"], given["determinism"]
    check_options(nan=nan, determinism=determinism)
    if any(isinstance(x, str | Monoid) for x in xs):
        if hasattr(what, "__array__"):
            raise irreducible(what)
        raise error("WF176", name="reduce", expected="arrays, then what to reduce with", found=len(xs) + 1)
    arrays = Operands.of(xs, given["device"], where)
    axes = normalize_axes(axis, len(arrays.shape))
    request = Request(what, axes, params_of(what, params), plan_text(given["plan"]), arrays.masked, nan, determinism)
    ready = prepared(request, arrays, out, given["keepdims"])
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


__all__ = ["compile", "plan_for", "reduce"]
