"""Reductions as programs: those of symbolic arrays, and those of real arrays where bits are set."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from ...compiler.dtypes import BOOL, DType
from ...compiler.errors import error
from ...compiler.plan.fields import Determinism
from ...compiler.program.array_program import ArrayProgram
from ...compiler.program.arrays.folding import AxisArgument, reduced
from ...compiler.program.arrays.packing import WORDS
from ...compiler.program.arrays.trace import ArrayArg
from ...compiler.program.exact import exactly
from ...compiler.program.frames import caller
from ...compiler.program.signatures import keywords, positional
from ...compiler.program.spelling import SHARED, irreducible, no_array, unknown, wrong_count
from ...compiler.space.geometry import normalize_axes
from ..arrays.conversion import view
from ..calls.operands import Operands, check_keepdims
from ..options import DEFAULTS, check_options, plan_text
from ..resolve import What, function_of, given, hashable, label, number_of, params_of
from ..view import ArraySpec, View
from . import run
from .arguments import Arguments
from .packing import unpack
from .plans import PreparedProgram
from .torch_graphs import Symbolic
from .traces import Traces

OF_FOLDS = ("keepdims", "nan")
"""The options of ``reduce`` that a reduction in a program has; a call of the program has the others."""


def reduced_in_trace(
    xs: Sequence[Any], what: What, axis: AxisArgument, out: Any, where: Any, how: Mapping[str, Any]
) -> Any:
    """``reduce`` of symbolic arrays: its folds become part of the program that is traced.

    Raises:
        ArgumentError: WF127 for an option of calls, such as ``out=``, which the call of the program takes; WF138 for
            another value of an option than it has.
    """
    options = DEFAULTS | {name: value for name, value in how.items() if name in DEFAULTS}
    check_options(nan=options["nan"], determinism=options["determinism"])
    check_keepdims(options["keepdims"])
    function = function_of(what)
    of_calls = [key for key, default in DEFAULTS.items() if key not in OF_FOLDS and options[key] != default]
    for key in (["out"] if out is not None else []) + of_calls:
        raise unknown(label(what), key, keywords(function), array=False, where=caller())
    params = {name: value for name, value in how.items() if name not in DEFAULTS}
    own = given(function, params_of(what, params), len(xs))
    folds = {key: options[key] for key in OF_FOLDS}
    return reduced(label(what), function, xs, axis, where=where, params=own, **folds)


Options = tuple[tuple[str, Any, Hashable], ...]
"""Options and parameters of a reduction: name, value, and what tells it apart from equal ones."""


def options_of(how: Mapping[str, Any]) -> Options:
    """What a reduction in a program has of the options of a call, and the parameters."""
    return tuple((n, v, exactly(v)) for n, v in how.items() if n in OF_FOLDS or n not in DEFAULTS)


def of_arrays(what: What, axis: AxisArgument, options: Options) -> Callable[..., Any]:
    """A reduction as a function of symbolic arrays, and of a mask by the name ``where``."""
    function = partial(_of_arrays, what, axis, options)  # no function of our own, whose outer variables are not watched
    function.__name__ = label(what)  # type: ignore[attr-defined]
    function.takes_complex = True  # type: ignore[attr-defined]
    own = function_of(what)
    function.defined = getattr(own, "defined", own)  # type: ignore[attr-defined]  # whose line is shown
    return function


reduction = lru_cache(maxsize=1024)(of_arrays)
"""The same function for the same reduction, so that its traces and its gradient are kept."""


def _of_arrays(what: What, axis: AxisArgument, options: Options, /, *xs: Any, where: Any = None) -> Any:
    return reduced_in_trace(xs, what, axis, None, where, {name: value for name, value, _ in options})


def symbolic(what: What, axis: AxisArgument, xs: Sequence[Any], where: Any, how: Mapping[str, Any]) -> Symbolic:
    """A reduction as a call of a function of symbolic arrays, see ``torch_graphs.py``."""
    how = {name: number_of(value) for name, value in how.items()}
    key = what, tuple(axis) if isinstance(axis, list) else axis, options_of(how)
    own = {} if where is None or where is True else {"where": where}
    label = repr(key) if isinstance(what, str) else ""
    return Symbolic((reduction if hashable(key) else of_arrays)(*key), label, xs, own, row_major=True)


# --- of real arrays ---------------------------------------------------------------------------------------------------
def prepared(
    xs: Sequence[Any],
    what: What,
    axis: Any = None,
    params: Mapping[str, Any] | None = None,
    *,
    out: Any = None,
    where: Any = None,
    keepdims: Any = False,
    nan: str = "propagate",
    determinism: Determinism = "run",
    device: str = "auto",
    plan: str = "",
) -> tuple[Operands, PreparedProgram]:
    """A reduction of real arrays with its plan, and memory for its results.

    Args:
        xs: the arrays.
        what: as for ``program_of``.
        axis: as for ``program_of``.
        params: as for ``program_of``.
        out: as for ``reduce``, as are all others.
        where: a mask.
        keepdims: whether results keep the reduced axes.
        nan: the treatment of NaN.
        determinism: what bits may depend on.
        device: where it runs.
        plan: options of the plan.

    Raises:
        ArgumentError: as ``operands_of`` and ``program_of``; and what a call of a program raises.
    """
    operands, masked = operands_of(xs, where, device)
    program = program_of(what, axis, params or {}, operands.inputs, masked=masked, keepdims=keepdims, nan=nan)
    run.allocate(operands, program, out)
    return operands, run.prepare(operands, program, plan_text(plan), determinism)


def operands_of(xs: Sequence[Any], where: Any, device: str) -> tuple[Operands, bool]:
    """The arrays of a reduction, the mask behind them if there is one; and whether there is one.

    Raises:
        ArgumentError: WF124 without arrays, WF126 for shapes that do not broadcast, WF139 for a mask of a wrong shape
            or type; else as ``run.operands_of``.
    """
    if not xs:
        raise wrong_count("a reduction", "at least 1", 0)
    if isinstance(where, str | dict) or callable(where):
        raise no_array("where", where)
    masked = where is not None and where is not True
    where = as_bools(where, xs) if masked and any(view(x).dtype.kind == "complex" for x in xs) else where
    operands = run.operands_of((*xs, where) if masked else xs, device)
    shape = common_shape([v.shape for v in operands.inputs[: len(xs)]])
    if masked:
        _check_mask(operands.inputs[-1], shape)
    return operands, masked


def kinds_of(xs: Sequence[Any], device: str) -> tuple[tuple[DType, ...], tuple[int, ...]]:
    """The element types of the arrays of a reduction, and the shape to which they broadcast."""
    operands, _ = operands_of(xs, None, device)
    return operands.types, common_shape([v.shape for v in operands.inputs])


class Kind(NamedTuple):
    """What ``program_of`` needs to know of an array; a view has these, too."""

    dtype: DType
    shape: tuple[int, ...]


def program_of(
    what: What,
    axis: Any,
    params: Mapping[str, Any],
    arrays: Sequence[View] | Sequence[ArraySpec] | Sequence[Kind],
    *,
    masked: bool = False,
    keepdims: Any = False,
    nan: str = "propagate",
) -> ArrayProgram:
    """The program of one fold that a reduction is.

    Args:
        what: a name, a monoid, a function, or a tuple of them.
        axis: the axes, as for ``reduce``.
        params: keyword parameters of ``what``.
        arrays: the arrays, of shapes that broadcast.
        masked: whether the last one says which elements take part.
        keepdims: as for ``reduce``.
        nan: as for ``reduce``.

    Raises:
        ArgumentError: WF130 and others for what is no reduction, WF138 for ``keepdims``; else as tracing.
    """
    if not hashable(what):
        raise irreducible(what)
    for key in params:
        if key in SHARED:
            raise unknown(label(what), key, keywords(function_of(what)), array=False, where=caller())
    check_keepdims(keepdims)
    shape = common_shape([a.shape for a in arrays[: len(arrays) - masked]])
    axes = normalize_axes(axis, len(shape))
    options = tuple((name, value, exactly(value)) for name, value in (("keepdims", keepdims), ("nan", nan)))
    count = len(arrays) - masked
    arguments = Arguments(tuple(range(count)), (("where", count),) if masked else ())
    single = [a - len(shape) for a in axes if shape[a] == 1]  # one element is folded by the kernel for many
    kinds = [
        ArrayArg(v.dtype, v.shape, varies=tuple(len(v.shape) + a for a in single if len(v.shape) + a >= 0))
        for v in arrays
    ]
    return _traces(reduction(what, axes, (*options, *params_of(what, params)))).get(arguments, kinds)


def names_of_arrays(what: What, count: int, *, masked: bool) -> tuple[str, ...]:
    """What a reduction calls its arrays, of which a mask is the last."""
    own = [p.name for p in positional(function_of(what))]
    plain = count - masked
    names = own if len(own) == plain else ["x"] if plain == 1 else [f"array_{i}" for i in range(plain)]
    return (*names, *(["where"] if masked else []))


def common_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that arrays broadcast to; WF126 if they do not."""
    if len(shapes) == 1:
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise error("WF126", shapes=", ".join(map(str, shapes))) from None


def _check_mask(mask: View, shape: tuple[int, ...]) -> None:
    """Checks that a mask is one of bools that broadcasts to ``shape``, or one of bits; WF139 otherwise."""
    if mask.dtype in WORDS:
        return
    fits = all(m in (1, n) for m, n in zip(mask.shape[::-1], shape[::-1], strict=False))
    if mask.dtype != BOOL or len(mask.shape) > len(shape) or not fits:
        raise error("WF139", dtype=mask.dtype, shape=mask.shape, expected=shape)


def as_bools(where: Any, xs: Sequence[Any]) -> Any:
    """A mask of real arrays as bools; a kernel of its own unpacks bits, see ``packing.truths``."""
    if where is None or where is True or view(where).dtype not in WORDS:
        return where
    words, shape = view(where).shape, np.broadcast_shapes(*(view(x).shape for x in xs))
    if len(words) < 2:
        return unpack(where, shape, flat=True)
    outer = zip(words, shape[-len(words) : -1], strict=False)
    return unpack(where, (*(1 if m == 1 else n for m, n in outer), *shape[-1:]))


@lru_cache(maxsize=1024)
def _traces(function: Callable[..., Any]) -> Traces:
    """The traces of a reduction."""
    return Traces(function)
