"""Resolves a reduction (a built-in's name, a monoid, a function, or several of these) to one tensor program."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from typing import Any, Union

import numpy as np

from ..compiler.errors import DTypeError, error, near
from ..compiler.program.dtype_names import dtype as as_dtype
from ..compiler.program.exact import exactly, that_change
from ..compiler.program.fold import as_initial, folded, record_use
from ..compiler.program.frames import caller
from ..compiler.program.library import reductions
from ..compiler.program.monoid import Monoid
from ..compiler.program.signatures import defined, keywords, positional, variadic
from ..compiler.program.spelling import SHARED, irreducible, missing_parameter, reduction, unknown, wrong_count
from ..compiler.program.tracing import tuple_type
from ..compiler.program.values import cast
from .arrays.conversion import view

What = Union[str, Monoid, Callable[..., Any], tuple["What", ...]]  # noqa: UP007 - a quoted name has no |
Params = tuple[tuple[str, Any, Hashable], ...]
"""(name, value, what tells it apart from equal ones), see ``exactly``."""


def params_of(what: What, params: Mapping[str, Any]) -> Params:
    """Keyword parameters as a hashable value; a dtype of None keeps its default.

    Raises:
        ArgumentError: WF128 for an unhashable value, or WF127 where it is that of an option of other calls; WF153 for a
            wrong ``accumulate``.
        DTypeError: WF105 for a ``dtype`` that is no element type.
    """
    found = []
    for name, value in sorted(params.items()):
        value = number_of(value)
        if not hashable(value):
            if name in SHARED:
                raise unknown(label(what), name, keywords(function_of(what)), array=False, where=caller())
            raise error("WF128", parameter=name, name=label(what), kind=type(value).__name__)
        if name == "accumulate":
            value = _accumulated_in(value)
        elif name == "dtype" and value is not None:
            value = as_dtype(value)
        if value is not None or name not in ("dtype", "accumulate", "initial"):
            found.append((name, value, exactly(value)))
    return tuple(found)


def objects_of(params: Params) -> tuple[Any, ...]:
    """Parameters from which a function may read what changes."""
    return that_change(value for _, value, _ in params)


def number_of(value: Any) -> Any:
    """``value`` with arrays of rank 0 replaced by their numbers; those of NumPy keep their type."""
    if isinstance(value, tuple | list):
        return type(value)(map(number_of, value)) if type(value) in (tuple, list) else value
    if getattr(value, "shape", None) != () or isinstance(value, np.generic):
        return value
    if isinstance(value, np.ndarray) or not hasattr(value, "item"):
        return value[()] if isinstance(value, np.ndarray) else value
    view(value)  # raises for gradients, tracers and tensors without memory, as for inputs
    return value.item()


def _accumulated_in(value: Any) -> Any:
    """The element type that ``accumulate=`` names, or ``compensated``."""
    if value in (None, "compensated"):
        return value
    try:
        return as_dtype(value)
    except DTypeError as e:
        if e.code != "WF105":
            raise
        raise error("WF153", value=value) from None


def hashable(value: object) -> bool:
    """Whether ``value`` can be hashed; a tuple only if all its members can."""
    try:
        hash(value)
    except (TypeError, ValueError):  # the latter of a memoryview that can be written
        return False
    return True


def label(what: What) -> str:
    """The name of a reduction in messages."""
    if isinstance(what, tuple):
        return "_".join(label(w) for w in what)
    return what if isinstance(what, str) else str(getattr(what, "__name__", getattr(what, "name", "the reduction")))


@lru_cache(maxsize=1024)
def function_of(what: What) -> Callable[..., Any]:
    """The tensor program of ``what``: a library function, a user's function, a fold with a monoid, or several.

    Raises:
        ArgumentError: WF120 for an unknown name, WF130 for an object that is no reduction.
    """
    if isinstance(what, tuple) and what:
        return _several(what)
    if isinstance(what, str):
        if what not in reductions.FUNCTIONS:
            raise error("WF120", name=what, near=near(what, reductions.FUNCTIONS), known=" ".join(reductions.FUNCTIONS))
        return reductions.FUNCTIONS[what]
    if isinstance(what, Monoid):
        return reductions.OF_MONOID.get(what) or _folding(what)
    if isinstance(what, tuple):
        raise irreducible(what, "an empty tuple")
    function: Any = what
    if hasattr(function, "explain"):  # an ArrayFunction, whose module imports this one
        raise irreducible(function, f"the program {label(what)}")
    if not callable(function) or isinstance(function, type) or reduction(function):
        raise irreducible(function)
    return function  # type: ignore[no-any-return]


def _several(whats: tuple[What, ...]) -> Callable[..., Any]:
    """The program that computes several reductions of the same arrays; each gets the parameters that it takes.

    Raises:
        ArgumentError: WF124 when they take different numbers of arrays.
    """
    functions = [function_of(w) for w in whats]
    taken = [keywords(f) for f in functions]
    counted = [(f, found) for f in functions if (found := _arrays(f)) is not None]
    for f, found in counted[1:]:
        if len(found) != len(counted[0][1]):
            raise wrong_count(label(f), len(found), len(counted[0][1]))

    def several(*xs: Any, **params: Any) -> Any:
        own = [{k: v for k, v in params.items() if k in names} for names in taken]
        got = [f(*xs, **p) for f, p in zip(functions, own, strict=True)]
        return tuple(_named(f, r) for f, r in zip(functions, got, strict=True))

    several.defined = None  # type: ignore[attr-defined]  # a user has written no line of it
    arrays = counted[0][1] if counted else None
    merged = {k: v for names in taken for k, v in names.items()}
    return _described(several, label(whats), arrays, merged)


def _named(function: Callable[..., Any], got: Any) -> Any:
    """Named results as a named tuple with the name of their function."""
    return tuple_type(function.__name__, tuple(got))(*got.values()) if isinstance(got, Mapping) else got


def _folding(m: Monoid) -> Callable[..., Any]:
    """The program that lifts, folds with ``m`` and finishes.

    Without a lift the elements are the state. They are converted to accumulation types if the combine computes; else
    they are widened to registers and converted back at the end.
    """
    from ..compiler.program.accumulation import contributions, registers  # not imported for built-in reductions

    def folding(*xs: Any, initial: Any = None, **params: Any) -> Any:
        bound = m.given(params)
        record_use(bound, xs)
        values, widened = contributions(bound, xs)
        selects = bound.lift is None and not widened
        if selects and bound.finish is None:
            as_initial(bound, initial, *(x.dtype for x in xs))
        taken = registers(bound, xs) if selects else values
        got = folded(bound, taken, initial, m.location)  # not at the line of a call: other calls share the kernel
        state = got if isinstance(got, tuple) else (got,)
        if bound.finish:
            return bound.finished(state)
        if not selects:
            return got
        results = tuple(cast(r, x.dtype) for r, x in zip(state, xs, strict=True))
        return results[0] if len(results) == 1 else results

    arrays = _arrays(m.lift) if m.lift else None
    folding.defined = m.finish or m.lift or m.function  # type: ignore[attr-defined]
    return _described(folding, m.name, arrays, m.parameters | {"initial": None})


def _arrays(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """The parameters that take arrays; None for any number of them."""
    return None if variadic(function) else positional(function)


def _described(
    function: Callable[..., Any], name: str, arrays: list[inspect.Parameter] | None, named: Mapping[str, Any]
) -> Callable[..., Any]:
    """Sets the name and the signature of ``function``, and returns it."""
    if arrays is None:
        arrays = [inspect.Parameter("xs", inspect.Parameter.VAR_POSITIONAL)]
    else:
        arrays = [p.replace(kind=inspect.Parameter.POSITIONAL_ONLY) for p in arrays]
    own = [inspect.Parameter(k, inspect.Parameter.KEYWORD_ONLY, default=v) for k, v in named.items()]
    function.__name__ = name
    function.__signature__ = inspect.Signature([*arrays, *own])  # type: ignore[attr-defined]
    return function


def given(function: Callable[..., Any], params: Params, arrays: int) -> dict[str, Any]:
    """The keyword parameters of one call, checked against the signature of ``function``.

    Raises:
        ArgumentError: WF124 for a wrong number of arrays, WF127 for an unknown parameter, WF130 for a function without
            a signature, WF148 for a value of another type than the default's, WF151 for a missing parameter.
    """
    name = getattr(function, "__name__", type(function).__name__)
    try:
        accepted = inspect.signature(function).parameters.values()
    except ValueError:  # a built-in without a signature
        raise irreducible(function) from None
    named = {p.name: p.default for p in accepted if p.kind is p.KEYWORD_ONLY}
    found: dict[str, Any] = {}
    for key, value, _ in params:
        if key not in named and not any(p.kind is p.VAR_KEYWORD for p in accepted):
            raise unknown(name, key, named, array=any(p.name == key for p in accepted), shared=True)
        found[key] = _like_default(name, key, value, named.get(key))
    for key, default in named.items():
        if default is inspect.Parameter.empty and key not in found:
            raise missing_parameter(name, key, where=defined(function))
    expected = _arrays(function)
    if expected is not None and len(expected) != arrays:
        raise wrong_count(name, len(expected), arrays)
    return found


def _like_default(name: str, key: str, value: Any, default: Any) -> Any:
    """``value`` in the type of its default: an integer is converted to a float; other types must match."""
    if not isinstance(default, bool | int | float) or type(value) is type(default):
        return value
    number = value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value
    if type(default) is float and type(number) is int and abs(number) < 2**1000:  # within the range of a float
        return float(number)
    if type(number) is type(default):
        return number
    raise error("WF148", name=name, parameter=key, value=value, expected=type(default).__name__, default=default)
