"""Reductions as programs: those of symbolic arrays, and those of real arrays where bits are set."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ...compiler.program.arrays.folding import AxisArgument, reduced
from ...compiler.program.arrays.packing import WORDS
from ...compiler.program.arrays.trace import ArrayArg
from ...compiler.program.exact import exactly
from ...compiler.program.frames import caller
from ...compiler.program.signatures import keywords
from ...compiler.program.spelling import no_array, unknown
from ...compiler.space.geometry import normalize_axes
from ..arrays.conversion import view
from ..calls.operands import check_keepdims
from ..options import DEFAULTS, check_options, plan_text
from ..resolve import What, function_of, given, hashable, label, number_of, params_of
from . import run
from .arguments import Arguments
from .packing import unpack
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
    return function


reduction = lru_cache(maxsize=256)(of_arrays)
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


# --- where bits are set ----------------------------------------------------------------------------------------------
def reads_bits(where: Any, xs: Sequence[Any]) -> bool:
    """Whether ``reduced_where`` reads a mask of real arrays: one of bits, beside elements that are not complex."""
    return _are_bits(where) and not any(view(x).dtype.kind == "complex" for x in xs)


def _are_bits(where: Any) -> bool:
    if isinstance(where, str | dict) or callable(where):
        raise no_array("where", where)
    return where is not None and where is not True and view(where).dtype in WORDS


def as_bools(where: Any, xs: Sequence[Any]) -> Any:
    """A mask of real arrays as bools; a kernel of its own unpacks bits, see ``packing.truths``."""
    if not _are_bits(where):
        return where
    words, shape = view(where).shape, np.broadcast_shapes(*(view(x).shape for x in xs))
    if len(words) < 2:
        return unpack(where, shape, flat=True)
    outer = zip(words, shape[-len(words) : -1], strict=False)
    return unpack(where, (*(1 if m == 1 else n for m, n in outer), *shape[-1:]))


def reduced_where(bits: Any, xs: Sequence[Any], what: What, axis: Any, out: Any, how: dict[str, Any]) -> Any:
    """``reduce`` of real arrays where ``bits`` are set.

    Args:
        bits: the words of the mask, see ``packing.truths``.
        xs: the arrays.
        what: what to reduce with.
        axis: the axes to reduce.
        out: as for ``reduce``.
        how: the options of ``reduce``, checked, and the parameters of ``what``.
    """
    axes = normalize_axes(axis, max(len(view(x).shape) for x in xs))
    operands = run.operands_of((*xs, bits), how["device"])
    arrays = [ArrayArg(v.dtype, v.shape) for v in operands.inputs]
    arguments = Arguments(tuple(range(len(xs))), (("where", len(xs)),))
    program = _traces(reduction(what, axes, options_of(how))).get(arguments, arrays)
    run.allocate(operands, program, out)
    return run.run(operands, run.prepare(operands, program, plan_text(how["plan"]), how["determinism"]))


@lru_cache(maxsize=256)
def _traces(function: Callable[..., Any]) -> Traces:
    """The traces of a reduction."""
    return Traces(function)
