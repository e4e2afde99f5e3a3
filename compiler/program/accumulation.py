"""The types in which a user's own reductions accumulate: those of the built-in sums, unless the user chose others.

A combine or a lift that computes does so in the accumulator's type: bytes are added, and multiplied before that, in
64 bits, halves in f32. One that only compares and selects keeps the type of the elements, and a type that ``wf.cast``
chose stays. What a tensor program computes of its elements has NumPy's types; only what it folds is widened, and where
narrow arithmetic comes before the fold, a warning names its line.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

from ..dtypes import BOOL, DType, accumulator, compute
from ..errors import Location, TraceError, WarpfoldWarning, error
from .complexes import Complex
from .dtype_names import dtype as as_dtype
from .fold import folded, record_use, typed_values
from .frames import caller
from .graph import Expr, walk
from .monoid import Monoid, missing_return
from .signatures import defined
from .symbols import Sym
from .values import Value, split
from .values import cast as convert

T = TypeVar("T")
_EXACT = frozenset((
    "input", "param", "const", "iota", "count", "reduce", "fold", "result", "cast", "bitcast", "where", "min", "max",
    "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "xor", "shl", "shr", "floor", "ceil",
))  # fmt: skip
"""Nodes that compare, select, convert or move bits: their results are no wider than their operands."""
_LEAVES = frozenset(("const", "count", "param"))
_SPELLED = {"add": "+", "sub": "-", "mul": "*", "pow": "**", "ipow": "**", "mod": "%", "floordiv": "//"}


def cast(x: Any, t: object) -> Any:
    """``x`` converted to type ``t``, in which it is then folded.

    Floats to integers truncate; beyond the range they become the nearest bound, and NaN becomes 0. Integers to narrower
    ones keep their low bits. Anything to bool tests for non-zero.
    """
    found: Any = convert(x, as_dtype(t))
    if isinstance(found, Complex):
        return found
    found = found.rounded()
    return found.alike(replace(found.expr, chosen=True))


def fold_elements(m: Monoid, values: Sequence[Any], initial: Any = None) -> Any:
    """Reduces ``values`` over the reduced axes of a tensor program, as ``wf.fold`` does."""
    taken = values
    if isinstance(m, Monoid):
        if m.lift is None:
            record_use(m, typed_values(values))
        taken = accumulated(m, values)
    return folded(m, taken, initial, caller())


def contributions(m: Monoid, elements: Sequence[Value]) -> tuple[list[Any], bool]:
    """What elements contribute to the state of ``m``, and whether that was widened.

    Without a lift they are the state. With one they are widened before it, if its arithmetic or the combine's would
    else be narrow.
    """
    values = _lifted(m, elements) if m.lift else list(elements)
    found = accumulated(m, values)
    return found, any(a is not b for a, b in zip(found, values, strict=True))


def registers(m: Monoid, elements: Sequence[Value]) -> list[Value]:
    """Elements widened to registers if the combine of ``m``, which only selects, can be traced on them.

    A combine that casts to the elements' own type cannot; its elements stay as they are.
    """
    wide: list[Value] = [convert(x, compute(x.dtype)) for x in elements]
    return list(elements) if _combine(m, wide) is None else wide


def accumulated(m: Monoid, values: Sequence[Any]) -> list[Any]:
    """The values in the types in which ``m`` folds them; warns of narrow arithmetic that made them (WF231)."""
    natural = {v.dtype for v in values if _natural(v)}
    wide = [_widened(v) if _natural(v) or _constant(v, natural) else v for v in values]
    if all(a is b for a, b in zip(wide, values, strict=True)):
        return list(values)
    before, after = (_combine(m, vs) for vs in (values, wide))
    if any(map(_computes, walk(after or before or ()))):
        for v in values:
            _warn_of_narrow(m, v)
    return wide if _gains(before, after) else list(values)


def _lifted(m: Monoid, elements: Sequence[Value]) -> list[Any]:
    """What the lift of ``m`` returns for the elements, widened first if it computes with them."""
    lift: Any = m.lift
    wide = [_widened(x) for x in elements]
    after = (
        None if all(a is b for a, b in zip(wide, elements, strict=True)) else _or_none(lambda: _several(lift(*wide)))
    )
    if after is None:
        return _several(_contribution(m, elements))
    before = _or_none(lambda: _several(lift(*elements)))
    return after if before is None or _gains(_all_of(m, before), _all_of(m, after)) else before


def _contribution(m: Monoid, elements: Sequence[Value]) -> Any:
    """What the lift returns, which must be something."""
    got = m.lift and m.lift(*elements)
    if got is None:
        raise missing_return("the lift of", m.name, "what an element contributes to the state", defined(m.lift))
    return got


def _all_of(m: Monoid, values: Sequence[Any]) -> tuple[Expr, ...] | None:
    """The expressions of the values and of their combination; None if they cannot be combined."""
    combined = _combine(m, values)
    return combined and (*(s.expr for v in values if isinstance(v, Value) for s in split(v)), *combined)


def _several(got: Any) -> list[Any]:
    return list(got) if isinstance(got, tuple | list) else [got]


def _widened(x: Any) -> Any:
    """``x`` in the type in which it is added up; itself if that is its own."""
    wide = isinstance(x, Sym) and accumulator(x.dtype) != x.dtype
    return convert(x, accumulator(x.dtype)) if wide else x


def _combine(m: Monoid, values: Sequence[Any]) -> tuple[Expr, ...] | None:
    """The combine of ``m`` over a state of these values; None where it cannot be traced on their types."""
    types = [v.dtype for v in typed_values(values)]
    return _or_none(lambda: m.typed(*types).combine)


def _or_none(make: Callable[[], T]) -> T | None:
    try:
        return make()
    except TraceError:
        return None


def _computes(e: Expr) -> bool:
    """Whether a node is arithmetic, whose result may need more room than its operands."""
    return e.op not in _EXACT and not (e.op in ("neg", "abs") and e.dtype.is_float)


def _gains(before: tuple[Expr, ...] | None, after: tuple[Expr, ...] | None) -> bool:
    """Whether wider operands leave less arithmetic in narrow types, or turn logic of bools into arithmetic."""
    if before is None or after is None:
        return after is not None
    (narrow, wide), (fewer, more) = (_counted(roots) for roots in (before, after))
    return fewer < narrow or more > wide


def _counted(roots: tuple[Expr, ...]) -> tuple[int, int]:
    """How many nodes compute in types that have a wider accumulator, and how many in others."""
    narrow = [accumulator(e.dtype) != e.dtype for e in walk(roots) if _computes(e)]
    return sum(narrow), len(narrow) - sum(narrow)


def _natural(x: Any) -> bool:
    """Whether a value has the narrow type of the elements, or of a comparison, and not one that ``cast`` chose."""
    narrow = isinstance(x, Sym) and accumulator(x.dtype) != x.dtype and not _chosen(x.expr)
    return narrow and _own(x.expr)[x.expr.digest]


def _constant(x: Any, types: set[DType]) -> bool:
    """Whether ``x`` is a constant of the type of an element, as ``wf.cast(1, x.dtype)`` is, and goes with these."""
    return isinstance(x, Sym) and x.expr.op == "const" and x.dtype in types


def _own(root: Expr) -> dict[str, bool]:
    """For each node below ``root`` whether its type comes from the elements, or is that of a truth value."""
    found: dict[str, bool] = {}
    for e in walk((root,)):
        given = e.args and not any(found[a.digest] for a in e.args if a.dtype == e.dtype or e.op == "cast")
        found[e.digest] = e.dtype == BOOL or not (e.chosen or e.op in _LEAVES or given)
    return found


def _chosen(e: Expr) -> bool:
    return e.chosen and e.dtype != BOOL


def _warn_of_narrow(m: Monoid, value: Any) -> None:
    """Warns, once a line, of arithmetic in the narrow type of the elements whose result is folded."""
    if not isinstance(value, Sym):
        return
    own = _own(value.expr)
    for e in walk((value.expr,)):
        if _computes(e) and accumulator(e.dtype) != e.dtype and own[e.digest]:
            _warn_once(m.name, _SPELLED.get(e.op, e.op), e.dtype, e.where)


@lru_cache(maxsize=1024)
def _warn_once(name: str, operation: str, t: DType, place: Location | None) -> None:
    loss = "is infinite beyond its range" if t.is_float else "wraps around"
    facts = {"name": name, "operation": operation, "dtype": t.name, "loss": loss}
    names = {"narrow": t.numpy_name, "wide": accumulator(t).numpy_name}
    text = error("WF231", where=place, **facts, **names).render()
    if place is None:
        warnings.warn(text, WarpfoldWarning, stacklevel=2)
    else:
        warnings.warn_explicit(text, WarpfoldWarning, place.file, place.line)
