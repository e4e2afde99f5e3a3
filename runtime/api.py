"""The public functions ``reduce`` and ``compile``, and the plan of a reduction without its arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_
from typing import TYPE_CHECKING, Any, overload

from ..compiler.dtypes import BOOL
from ..compiler.dtypes import dtype as as_dtype
from ..compiler.program.cuts.cut import only_step
from ..compiler.program.dtype_names import dtype as named_dtype
from ..compiler.program.frames import caller, outermost, shown
from ..compiler.program.monoid import Monoid
from ..compiler.program.spelling import array_first, irreducible, others_by_name, too_many, wrong_count
from ..compiler.program.symbols import is_array
from ..compiler.space.geometry import normalize_axes
from ..compiler.target import DEFAULT
from .arrays.dask_arrays import in_dask
from .arrays.jax_tracers import in_jax
from .arrays.pytorch import are_tracked
from .arrays.torch_compile import opaque
from .calls.recall import Memo, arrays_of, call_key, named
from .options import DEFAULTS, check_options, checked_shape, plan_text
from .programs.autocast import with_f32
from .programs.torch_graphs import Symbolic, are_traced, entry_of, op_in_graphs
from .resolve import number_of
from .view import ArraySpec, contiguous

if TYPE_CHECKING:
    from .programs.compiled import Compiled

Axis = int | Sequence[int] | None


@overload
def reduce(x: Any, what: tuple[Any, ...], /, *, axis: Axis = None, **how: Any) -> tuple[Any, ...]: ...
@overload
def reduce(*xs: Any, what: tuple[Any, ...], axis: Axis = None, **how: Any) -> tuple[Any, ...]: ...
@overload
def reduce(
    *xs: Any, what: Any = None, axis: Axis = None, keepdims: bool = False, out: Any = None, where: Any = None,
    nan: str = "propagate", determinism: str = "run", device: str = "auto", plan: str = "", **params: Any,
) -> Any: ...  # fmt: skip


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
        xs: arrays of any library (NumPy, PyTorch, CuPy, JAX, or anything with DLPack or an array interface); ``what``
            may follow them as the last positional argument.
        what: a monoid, a tensor program (a Python function that uses ``wf.fold``), the name of a built-in reduction, or
            a tuple of these, all computed in one pass over the arrays.
        axis: the axes to reduce: None for all, an int, or several; negative ones count from the end; () for none.
        keepdims: keep the reduced axes in the result, with size 1.
        out: an array (or one per result) to write into.
        where: a bool array that broadcasts to the inputs, or its bits, see ``wf.pack``: words of the last axis, or one
            axis of words of all elements. Elements where it is false are left out.
        nan: treatment of NaN elements: ``propagate`` them, ``ignore`` them, or ``raise`` WF135, which waits for the
            device.
        determinism: ``run``: the same bits on every run; ``portable``: also on every device and for every alignment;
            ``none``: plans may use atomics on floats.
        device: ``auto`` (CUDA if a driver and a GPU are found, else the emulator), ``cuda`` or ``emulator``.
        plan: fields of the plan to set, as ``key=value,...``; or the name of a rung of ``compiler/plan/ladder.py``; or
            ``few``, with or without fields behind it: arrays of many sizes then share few kernels.
        params: keyword parameters of the tensor program, compiled into the kernels.

    Returns:
        An array in the first input's library and on its device; for several results a tuple, with names if the program
        names them.

    Raises:
        ArgumentError, DTypeError, TraceError, PlanError, CompileError, BackendError: each has a code; the codes are in
            ``compiler/errors/catalogue/``.
    """
    if what is None:
        if len(xs) < 2:
            raise irreducible(None, "nothing", where=caller())
        *xs, what = xs  # type: ignore[assignment]
    how = {"keepdims": keepdims, "nan": nan, "determinism": determinism, "device": device, "plan": plan, **params}
    usual = not params and all(map(is_, how.values(), DEFAULTS.values()))
    try:
        key = call_key(axis, out, where, {} if usual else how, named(what), len(xs))
        given = arrays_of(tuple(xs), out, where)
        return _reductions(key, what, given, lambda: reduced(xs, what, axis, out, where, how))
    except Exception as e:
        raise shown(e)  # noqa: B904  # WARPFOLD_TRACEBACK=full shows the frames between


_reductions = Memo()
_BY_NAME = ("axis", "keepdims", "out", "where", "nan", "determinism", "device", "plan")
"""The arguments of ``reduce`` that go by name."""


def _symbolic(xs: Sequence[Any], how: Mapping[str, Any]) -> Symbolic:
    """``reduce`` as a call of a function of symbolic arrays."""
    from .programs.reductions import symbolic  # not imported to reduce an array

    own = dict(how)
    what = own.pop("what", None)
    if what is None:
        *xs, what = xs
    return symbolic(what, own.pop("axis", None), xs, own.pop("where", None), own)


op_in_graphs(reduce, "reduce", _symbolic, "reduce")


def _as_called(xs: Sequence[Any], what: Any, axis: Axis, out: Any, where: Any, how: Mapping[str, Any]) -> Any:
    """``reduce`` as a user calls it, which looks at earlier calls."""
    return reduce(*xs, what=what, axis=axis, out=out, where=where, **how)


def reduced(xs: Sequence[Any], what: Any, axis: Axis, out: Any, where: Any, how: Mapping[str, Any]) -> Any:
    """``reduce`` from the arguments to the launch, without a look at earlier calls; ``how``: all other keywords."""
    if any(map(is_array, xs)):
        from .programs.reductions import reduced_in_trace  # not imported to reduce an array

        return reduced_in_trace(xs, what, axis, out, where, how)
    if in_jax((*xs, where)):
        from .programs.jax_calls import reduced_in_jax  # not imported without JAX

        return reduced_in_jax(xs, what, axis, out, where, how)
    if in_dask((*xs, where)):
        from .states.dask_graphs import reduced_in_dask  # not imported without Dask

        return reduced_in_dask(xs, what, axis, out, where, how)
    if isinstance(what, str):
        how = with_f32(what, xs, how)
    if out is None and are_traced((*xs, where)):
        from .programs import torch_ops  # imports PyTorch

        own = {name: number_of(value) for name, value in how.items()}
        return torch_ops.traced(entry_of(reduce), xs, {"what": what, "axis": axis, "where": where, **own})
    if are_tracked((*xs, where)):
        from .programs.autograd import reduced_with_gradients  # not imported without such tensors

        return reduced_with_gradients(_as_called, xs, what, axis, out, where, how)
    given = DEFAULTS | {name: value for name, value in how.items() if name in DEFAULTS}
    params = {name: value for name, value in how.items() if name not in DEFAULTS}
    nan, determinism = given["nan"], given["determinism"]
    check_options(nan=nan, determinism=determinism)
    if any(isinstance(x, str | Monoid) for x in xs) and not (len(xs) == 1 and isinstance(what, str)):
        if hasattr(what, "__array__"):
            raise irreducible(what)
        raise too_many("reduce", "arrays, then what to reduce with", len(xs) + 1, others_by_name(_BY_NAME))
    for x in xs:
        array_first("reduce", x)
    from .programs import run
    from .programs.reductions import prepared

    return run.run(*prepared(xs, what, axis, params, out=out, where=where, **given))


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

    The kernels also serve other sizes of the same rank; a call with an array that they cannot serve raises WF123.
    Kernels that sum bytes in 32 bits serve as many elements as a 32-bit sum can hold.

    Args:
        what: a monoid, a tensor program, the name of a built-in reduction, or a tuple of them.
        shape: the shape to plan for.
        dtype: element type of the input, or a tuple with one type per input array: NumPy's names and types, and
            unambiguous short names such as ``"f32"``.
        axis: the axes to reduce; None for all.
        where: whether calls pass a mask.
        nan: as in ``reduce``.
        determinism: as in ``reduce``.
        arch: the architecture to compile for.
        plan: fields of the plan to set, as ``key=value,...``; or the name of a rung of ``compiler/plan/ladder.py``.
        params: keyword parameters of the tensor program, compiled into the kernels.
    """
    how: dict[str, Any] = {"where": where, "nan": nan, "determinism": determinism}
    types = tuple(map(named_dtype, dtype if isinstance(dtype, tuple) else (dtype,)))
    found = planned_for(what, shape, types, axis=axis, arch=arch, plan=plan, **how, **params)
    only_step(found.prepared.program)
    from .programs.compiled import compiled  # not imported to reduce an array

    return compiled(found, normalize_axes(axis, len(shape)))


def plan_for(what: Any, shape: Sequence[int], dtype: Any = "f32", **how: Any) -> Any:
    """Program, geometry and plan (with reasons) that ``compile`` uses for contiguous, aligned arrays.

    Args:
        what: as for ``compile``, as are all others.
        shape: the shape.
        dtype: the element types.
        how: further arguments.
    """
    return only_step_of(planned_for(what, shape, dtype, **how))


def planned_for(
    what: Any, shape: Sequence[int], dtype: Any = "f32", *, axis: Axis = None, where: bool = False,
    nan: str = "propagate", determinism: str = "run", arch: str = DEFAULT.arch, plan: str = "", **params: Any,
) -> Any:  # fmt: skip
    """The steps of a reduction of contiguous, aligned arrays, and their plans; arguments are those of ``compile``."""
    from .programs.planned import planned_program
    from .programs.reductions import names_of_arrays, program_of

    check_options(nan=nan, determinism=determinism)
    full = checked_shape(shape)
    types = tuple(as_dtype(t) for t in (dtype if isinstance(dtype, tuple) else (dtype,)))
    if not types:
        raise wrong_count("a reduction", "at least 1", 0)
    types += (BOOL,) if where else ()
    specs = tuple(ArraySpec(full, contiguous(full), 0, t) for t in types)
    program = program_of(what, axis, params, specs, masked=where, nan=nan)
    names = names_of_arrays(what, len(specs), masked=where)
    return planned_program(program, names, specs, arch, plan_text(plan), determinism)  # type: ignore[arg-type]


def only_step_of(planned: Any) -> Any:
    """The plan of the step of a reduction.

    Raises:
        TraceError: WF213 where its folds need each other, so that it has several.
    """
    only_step(planned.prepared.program)
    return planned.prepared.steps[0].prepared


__all__ = ["compile", "plan_for", "reduce"]
