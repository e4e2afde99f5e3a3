"""The built-in reductions as public functions, ``wf.sum`` and so on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial, wraps
from typing import Any

import numpy as np

from ..compiler.errors import WarpfoldError, error
from ..compiler.program.frames import caller, shown
from ..compiler.program.library import reductions
from ..compiler.program.spelling import missing_parameter, others_by_name, too_many
from ..compiler.program.symbols import is_array
from .api import Axis, reduce, reduced
from .arrays.conversion import from_numpy, view
from .arrays.pytorch import are_tracked
from .calls.recall import Memo, arrays_of, call_key
from .calls.recipe import MISS
from .programs import autocast
from .programs.torch_graphs import Symbolic, op_in_graphs

_OF_REDUCE = inspect.signature(reduce).parameters
_AXIS = _OF_REDUCE["axis"].replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
_SHARED = [p for name, p in _OF_REDUCE.items() if name not in ("xs", "what", "axis", "params")]
AXIS_BY_NAME = {"norm": "ord=2 for the order, axis=1 for the axis", "allclose": "rtol=1e-5, atol=1e-8, axis=1"}
"""What to write for reductions whose ``axis`` goes by name alone: other libraries have another parameter there."""


_MISSING: Any = object()
"""In the place of an array that was not given."""


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of the public function: arrays, ``axis``, its own parameters, then the options of ``reduce``."""
    own = list(inspect.signature(function).parameters.values())
    arrays = [p for p in own if p.kind is not p.KEYWORD_ONLY]
    axis = _OF_REDUCE["axis"] if function.__name__ in AXIS_BY_NAME else _AXIS
    return inspect.Signature([*arrays, axis, *own[len(arrays) :], *_SHARED])


def _named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The public function of a built-in reduction."""
    signature = _signature(function)
    call = (_of_one if list(signature.parameters).index("axis") == 1 else _of_two)(name, Memo())
    if name in AXIS_BY_NAME:
        _take_axis_by_name(call)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{function.__doc__}\n\nFurther arguments as in ``reduce``."
    call.__signature__ = signature  # type: ignore[attr-defined]
    arrays = list(signature.parameters).index("axis")
    casts = name if name in autocast.NAMES else ""
    return op_in_graphs(call, name, partial(_symbolic, name, arrays), name, casts)


def _take_axis_by_name(call: Any) -> None:
    """Makes ``axis``, the last parameter of ``call`` by position, one by name: a wrapper would take time in calls."""
    code = call.__code__
    call.__code__ = code.replace(co_argcount=code.co_argcount - 1, co_kwonlyargcount=code.co_kwonlyargcount + 1)
    call.__defaults__, call.__kwdefaults__ = call.__defaults__[:-1], {"axis": None, **call.__kwdefaults__}


def _misplaced(name: str, signature: inspect.Signature, count: int) -> WarpfoldError:
    """The error for so many arguments by position of the reduction ``name``, which takes fewer."""
    taken = signature.parameters.values()
    by_position = " ".join(p.name for p in taken if p.kind is not p.KEYWORD_ONLY)
    by_name = [p.name for p in taken if p.kind is p.KEYWORD_ONLY]
    known = AXIS_BY_NAME.get(name)
    others = others_by_name(by_name)
    return too_many(name, by_position, count, f"write {known}; {others}" if known else others)


def _symbolic(name: str, count: int, xs: Sequence[Any], how: Mapping[str, Any]) -> Symbolic:
    """A call of a named reduction of so many arrays as one of a function of symbolic arrays."""
    from .programs.reductions import symbolic  # not imported to reduce an array

    own = dict(how)
    axis = xs[count] if len(xs) > count else own.pop("axis", None)
    return symbolic(name, axis, xs[:count], own.pop("where", None), own)


def _of_one(name: str, memo: Memo) -> Callable[..., Any]:
    """The named reduction of one array."""
    last = memo.last

    def call(x: Any = _MISSING, axis: Axis = None, *rest: Any, out: Any = None, where: Any = None, **how: Any) -> Any:
        if rest:
            raise _misplaced(name, _signature(reductions.FUNCTIONS[name]), 2 - (name in AXIS_BY_NAME) + len(rest))
        if where is None and type(out) is not tuple and (axis is None or type(axis) is int):
            # The path of most calls, with ``call_key`` inlined.
            key: Hashable = axis
            if how:
                key = (axis, "" if out is None else "out", *map(type, how.values()), *how.items())
            elif out is not None:
                key = (axis, "out")
            try:
                recipe = last.get(key)
            except (TypeError, ValueError):  # a parameter without a hash
                recipe = None
            if recipe is not None:
                found = recipe(x) if out is None else recipe(x, out)
                if found is not MISS:
                    return found
        if x is _MISSING:
            raise missing_parameter(name, "x", where=caller())
        try:
            again = memo.missed if where is None else memo  # the latest recipe was tried above, but not with a mask
            return again(
                call_key(axis, out, where, how), name, arrays_of((x,), out, where),
                lambda: reduced((x,), name, axis, out, where, how),
            )  # fmt: skip
        except Exception as e:
            raise shown(e)  # noqa: B904  # WARPFOLD_TRACEBACK=full shows the frames between

    return call


def _missing(name: str, x: Any) -> WarpfoldError:
    """The error for a call without both arrays."""
    return missing_parameter(name, "x" if x is _MISSING else "y", where=caller())


def _of_two(name: str, memo: Memo) -> Callable[..., Any]:
    """The named reduction of two arrays."""

    def call(
        x: Any = _MISSING,
        y: Any = _MISSING,
        axis: Axis = None,
        *rest: Any,
        out: Any = None,
        where: Any = None,
        **how: Any,
    ) -> Any:
        if rest:
            raise _misplaced(name, _signature(reductions.FUNCTIONS[name]), 3 - (name in AXIS_BY_NAME) + len(rest))
        if y is _MISSING:
            raise _missing(name, x)
        try:
            key, given = call_key(axis, out, where, how), arrays_of((x, y), out, where)
            return memo(key, name, given, lambda: reduced((x, y), name, axis, out, where, how))
        except Exception as e:
            raise shown(e)  # noqa: B904  # WARPFOLD_TRACEBACK=full shows the frames between

    return call


_PUBLIC = {name: _named(name, f) for name, f in reductions.FUNCTIONS.items()}


def __getattr__(name: str) -> Any:
    """A named reduction; the package's ``__init__.py`` says which are public."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _PUBLIC[name]


def vecdot(x: Any = _MISSING, y: Any = _MISSING, axis: int = -1, **how: Any) -> Any:
    """The sum over one axis of the products of two arrays; complex elements of the first are conjugated."""
    if y is _MISSING:
        raise _missing("vecdot", x)
    return reduce(x, y, what="vecdot", axis=axis, **how)


_OF_VECDOT = inspect.signature(vecdot).parameters.values()
vecdot.__signature__ = inspect.Signature([p.replace(default=p.empty) if p.name in "xy" else p for p in _OF_VECDOT])  # type: ignore[attr-defined]


_PLAIN = _PUBLIC["logsumexp"]


@wraps(_PLAIN)
def logsumexp(x: Any = _MISSING, axis: Axis = None, *rest: Any, b: Any = None, **how: Any) -> Any:
    """The logarithm of the sum of exponentials, each times its factor in the array ``b``; see ``reduce``."""
    if rest:
        raise _misplaced("logsumexp", inspect.signature(logsumexp), 2 + len(rest))
    if b is None:
        return _PLAIN(x, axis, **how)
    return reduce(x, b, what=reductions.scaled_logsumexp, axis=axis, **how)


_OF_PLAIN = inspect.signature(_PLAIN).parameters
_B = inspect.Parameter("b", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Any")
logsumexp.__signature__ = inspect.Signature([*_OF_PLAIN.values(), _B])  # type: ignore[attr-defined]


def _compared(slow: Callable[..., Any]) -> Callable[..., Any]:
    """A function that remembers its calls of ``slow``, which takes two arrays and compares their shapes."""
    memo, name = Memo(), slow.__name__

    @wraps(slow)
    def call(x: Any = _MISSING, y: Any = _MISSING, *rest: Any, out: Any = None, where: Any = None, **how: Any) -> Any:
        if rest:
            own = inspect.signature(reductions.FUNCTIONS[name]).parameters.values()
            raise _misplaced(name, inspect.Signature([*own, *_SHARED]), 2 + len(rest))
        if y is _MISSING:
            raise _missing(name, x)
        try:
            key, given = call_key(None, out, where, how), arrays_of((x, y), out, where)
            return memo(key, name, given, lambda: slow(x, y, out=out, where=where, **how))
        except Exception as e:
            raise shown(e)  # noqa: B904  # WARPFOLD_TRACEBACK=full shows the frames between

    return op_in_graphs(call, name, partial(_symbolic, name, 2), name)


def _of_pair(x: Any, y: Any, name: str, /, axis: Axis = None, *, out: Any, where: Any, **how: Any) -> Any:
    """The named reduction of two arrays, without a look at earlier calls."""
    return reduced((x, y), name, axis, out, where, how)


@_compared
def dot(x: Any, y: Any, **how: Any) -> Any:
    """The sum of the products of two arrays of rank 1.

    Raises:
        ArgumentError: WF150 for other ranks or sizes.
    """
    shapes = [a.sizes if is_array(a) else view(a.detach() if are_tracked((a,)) else a).shape for a in (x, y)]
    if len(shapes[0]) != 1 or shapes[0] != shapes[1]:
        raise error("WF150", shapes=f"{shapes[0]} and {shapes[1]}")
    return _of_pair(x, y, "dot", **how)


@_compared
def array_equal(x: Any, y: Any, **how: Any) -> Any:
    """Whether two arrays have one shape and equal elements."""
    if is_array(x) and is_array(y):
        if x.sizes != y.sizes:
            return x.__array_namespace__().asarray(x.shape == y.shape)  # false, for these sizes alone
    elif view(x).shape != view(y).shape:
        return from_numpy(x, np.zeros((), np.bool_))
    return _of_pair(x, y, "array_equal", **how)


__all__ = ["array_equal", "dot", "logsumexp", "vecdot", *reductions.FUNCTIONS]
