"""Folding: the one way from a value per element to a value per result; and the number of each element, and their count.

A trace has a *scope*, which says which elements take part and how wide their numbers are. Every fold obeys the mask of
the scope (from ``where=`` or ``nan="ignore"``): elements outside contribute the identity. So no reduction, built-in or
a user's, needs code for masks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ..dtypes import BOOL, F64, I32, I64, STORED, DType, holds
from ..errors import Location, WarpfoldError, error
from .dtype_names import dtype as as_dtype
from .frames import caller
from .functions import isnan, where
from .graph import ELEMENT, KEPT, SCALAR, Expr, MonoidGraph, union
from .monoid import Monoid, monoid
from .signatures import positional, variadic
from .spelling import irreducible
from .symbols import Sym, constant
from .values import Value, cast, join, split

HUGE = 1 << 47
"""The sum of this many 16-bit integers may overflow 64 bits."""


class Over(Protocol):
    """The axes of a reduction of arrays, or their lack outside of one: see ``arrays/folding.py``."""

    @property
    def dims(self) -> Any:
        """The dims of the tracing."""

    @property
    def reduces(self) -> bool:
        """Whether there are axes."""

    @property
    def scans(self) -> bool:
        """Whether every element gets the state of those up to it."""

    def operand(self, value: Value) -> Value:
        """A value of each element, in the type in which it is computed."""

    def fold(self, graph: MonoidGraph, flat: Sequence[Sym], at: Location | None) -> list[Sym]:
        """The values of the state that elements fold to."""

    def index(self, t: DType) -> Sym:
        """The position of an element among the reduced ones."""

    def count(self, t: DType) -> Sym:
        """How many elements are reduced."""


@dataclass
class Scope:
    """The state of one trace, or of one reduction of an array program.

    Attributes:
        wide: elements are numbered in 64 bits.
        huge: a result has HUGE elements or more.
        mask: which elements take part; None for all.
        needs_initial: the mask is a caller's ``where=``: a monoid without identity then needs an initial value.
        name: what messages call the program.
        takes_initial: whether a caller can give it one.
        checks: (code, condition per result) of what must be false once the kernels ran.
        most: bounds on the elements of a result within which the trace is right; empty for no bound.
        used: the monoids, each with the types of what it reduces: lifted elements, or the values of its state.
        over: in a program of arrays, the axes of this reduction; None where elements have no axes.
    """

    wide: bool = True
    huge: bool = False
    mask: Sym | None = None
    needs_initial: bool = False
    name: str = ""
    takes_initial: bool = False
    checks: list[tuple[str, Sym]] = field(default_factory=list)
    used: list[tuple[Monoid, tuple[DType, ...]]] = field(default_factory=list)
    most: list[int] = field(default_factory=list)
    over: Over | None = None


_SCOPE: ContextVar[Scope] = ContextVar("scope")


def current_scope() -> Scope:
    """The current scope; outside of every trace, a new one."""
    found = _SCOPE.get(None)
    return Scope() if found is None else found


def in_reduction() -> bool:
    """Whether a reduction of symbolic arrays runs, whose axes ``fold`` takes."""
    over = current_scope().over
    return over is not None and over.reduces


def an_element() -> WarpfoldError:
    """The error for an element of a reduction that stands where an array is expected."""
    remedy = (
        "inside a program elements are folded: wf.fold(wf.SUM, x); what has no monoid, such as wf.mean, is called "
        "outside on the array, alone or with others: wf.reduce(x, ('sum', 'mean'))"
    )
    reason = "it belongs to a program that is being traced"
    return error("WF114", kind="symbolic value", reason=reason, remedy=remedy, where=caller())


@contextmanager
def scope(found: Scope) -> Iterator[Scope]:
    """Makes ``found`` the current scope inside the ``with``."""
    token = _SCOPE.set(found)
    try:
        yield found
    finally:
        _SCOPE.reset(token)


@contextmanager
def leaving_out(elements: Sym | None) -> Iterator[None]:
    """Makes folds inside the ``with`` leave out the ``elements`` that are true; None leaves out nothing."""
    held = current_scope()
    if elements is None:
        yield
        return
    mask = ~elements if held.mask is None else held.mask & ~elements
    with scope(replace(held, mask=mask)):  # the list of checks is shared
        yield


def record_use(m: Monoid, values: Sequence[Value]) -> None:
    """Notes that ``m`` reduces ``values``, for those who check its laws."""
    current_scope().used.append((m, tuple(v.dtype for v in values)))


def sums_fit() -> bool:
    """Whether 64 bits hold the sum of 16-bit integers; if so, the trace is for fewer than HUGE elements."""
    held = current_scope()
    if not held.huge:
        held.most.append(HUGE - 1)
    return not held.huge


def not_a_number(values: Sequence[Value]) -> Sym | None:
    """Whether an element is NaN in any of ``values``; None where none can be."""
    found: Sym | None = None
    for s in (s for v in values for s in split(v) if s.dtype.is_float):
        found = isnan(s) if found is None else found | isnan(s)
    return found


def fold(m: Monoid, *values: Any, initial: Any = None) -> Any:
    """Reduces ``values`` (one per value of the monoid's state) over the reduced axes, inside a tensor program.

    Args:
        m: the monoid.
        values: what each element contributes; Python numbers take the type of the first symbolic value.
        initial: a state to begin with, on the left of all elements: a number, or a tuple with one per value.

    Returns:
        The final state: a scalar of the ``kept`` space, or a tuple of them.

    Raises:
        ArgumentError: WF130 when ``m`` is no monoid, WF133 when a mask needs an initial value, WF136 when ``initial``
            is none of the state.
        TraceError: WF210 for a wrong count of values, WF211 when they are reduced already.
    """
    return folded(m, values, initial, caller())


def folded(m: Monoid, values: Sequence[Any], initial: Any, at: Location | None) -> Any:
    """``fold`` with its arguments in sequences, located at the line ``at``."""
    if not isinstance(m, Monoid):
        raise irreducible(m, folds=True, where=at)
    found = count_of(m.identity)
    if found is not None and found != len(values):
        raise error("WF210", name=m.name, found=found, expected=len(values), where=m.location if m.lift else caller())
    held = current_scope()
    if held.mask is not None and not m.has_identity and initial is None and held.needs_initial:
        given = "give initial=, the value to begin with, or " * held.takes_initial
        raise error("WF133", name=held.name, remedy=f"{given}replace the elements that do not count")
    typed = typed_values(values)
    taken = typed if held.over is None else [held.over.operand(v) for v in typed]
    state, some = _folded(m, taken, held, at or m.location, begun=initial is not None)
    if initial is not None:
        state = _begun(m, initial, state, some)
    elif held.mask is not None and not m.has_identity:
        state = _or_nothing(m, state, held, some)
    if held.over is not None:
        state = [cast(s, v.dtype) for s, v in zip(state, typed, strict=True)]
    return state[0] if len(state) == 1 else tuple(state)


def typed_values(values: Sequence[Any]) -> list[Value]:
    """The values as symbolic ones; numbers take the first symbolic value's type, as far as it can hold their kind."""
    like = next((v.dtype for v in values if isinstance(v, Value)), None)
    return [v if isinstance(v, Value) else cast(v, _number_type(v, like)) for v in values]


def _number_type(value: Any, like: DType | None) -> DType:
    if isinstance(value, bool):
        return BOOL
    if like is not None and like.kind == "complex":
        like = like.part
    if isinstance(value, int):
        return like if like is not None and like != BOOL else I64
    return like if like is not None and like.is_float else F64


def _folded(
    m: Monoid, values: Sequence[Value], held: Scope, at: Location | None, *, begun: bool
) -> tuple[list[Value], Sym | None]:
    """The state that ``values`` fold to, and whether there was an element; None where it is not kept.

    Args:
        m: the monoid.
        values: what each element contributes.
        held: the scope, with its mask and its axes.
        at: the line that folds.
        begun: whether an initial state stands in for no elements.
    """
    types = tuple(v.dtype for v in values)
    graph = m.typed(*types)
    flat = [s for v in values for s in split(v)]
    if held.over is None and union(s.expr.space for s in flat) == KEPT:
        raise error("WF211", name=m.name, where=caller())
    scans = held.over is not None and held.over.scans  # which combine nothing but elements
    padded, graph = (True, graph) if scans else _with_identity(m, graph)
    graph = replace(graph, has_identity=m.has_identity or begun)
    if padded:
        return join(types, _reduced(graph, _masked(flat, graph, held.mask), held, at)), None
    some = constant(True, BOOL) if held.mask is None else held.mask
    found, *state = _reduced(graph, [some, *flat], held, at)
    return join(types, state), found


def _with_identity(m: Monoid, graph: MonoidGraph) -> tuple[bool, MonoidGraph]:
    """Whether the constant that pads is neutral, and the monoid, with an identity adjoined if it is not."""
    if m.has_identity:
        return True, graph
    from .rewrites.semigroup import adjoined, neutral  # which sums, the most common call, do not ask

    padded = neutral(graph)
    return padded, graph if padded else adjoined(graph)


def _masked(flat: list[Sym], graph: MonoidGraph, mask: Sym | None) -> list[Sym]:
    """The values of elements, and those of the identity outside the mask."""
    if mask is None:
        return flat
    return [where(mask, s, constant(i, s.dtype)) for s, i in zip(flat, graph.identity, strict=True)]


def _reduced(graph: MonoidGraph, flat: Sequence[Sym], held: Scope, at: Location | None) -> list[Sym]:
    """The values of the state that elements fold to, at a line."""
    if held.over is not None:
        return held.over.fold(graph, flat, at)
    exprs = tuple(s.expr for s in flat)
    made = Expr("reduce", exprs, exprs[0].dtype, KEPT, graph, at)
    return [Sym(Expr("result", (made,), e.dtype, KEPT, i)) for i, e in enumerate(exprs)]


def _or_nothing(m: Monoid, state: list[Value], held: Scope, some: Sym | None) -> list[Value]:
    """The state of a monoid without identity whose mask may leave nothing: NaN for floats, else a check."""
    if some is not None:
        nothing = ~some
    elif m.apart:
        nothing = state[0] == m.typed(*(v.dtype for v in state)).identity[0]
    else:
        nothing = count(I64) == 0
    if all(isinstance(v, Sym) and v.dtype.is_float for v in state):
        return [where(nothing, math.nan, v) for v in state]
    held.checks.append(("WF134", nothing))
    return state


def _begun(m: Monoid, initial: Any, state: list[Value], some: Sym | None) -> list[Value]:
    """``initial`` combined with the state of all elements; alone where ``some`` says that there is no element."""
    given = initial if isinstance(initial, tuple | list) else (initial,)
    if len(given) != len(state):
        raise error("WF136", initial=repr(initial), name=m.name, expected=f"{len(state)} value(s)")
    first = [_initial(m, g, v.dtype, initial) for g, v in zip(given, state, strict=True)]
    got = m(first[0], state[0]) if len(state) == 1 else m(tuple(first), tuple(state))
    results = got if isinstance(got, tuple | list) else (got,)
    begun: list[Value] = [cast(r, v.dtype) for r, v in zip(results, state, strict=True)]
    return begun if some is None else [where(some, b, f) for b, f in zip(begun, first, strict=True)]


def as_initial(m: Monoid, initial: Any, *types: DType) -> Any:
    """``initial``, checked to fit the narrower types that the result will have.

    Raises:
        ArgumentError: WF136 for a value that these types do not hold.
    """
    given = () if initial is None else initial if isinstance(initial, tuple | list) else (initial,)
    for value, t in zip(given, types, strict=False):  # fold counts them
        _initial(m, value, t, initial)
    return initial


def _initial(m: Monoid, value: Any, t: DType, initial: Any) -> Value:
    """One value of an initial state, in the type of the state."""
    number = value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value
    kinds = bool | int | float | complex if t.kind == "complex" else bool | int | float
    if not isinstance(number, kinds) or not holds(t, number):
        raise error("WF136", initial=repr(initial), name=m.name, expected=f"a value of type {t.name}")
    if t.kind == "complex":
        return cast(complex(number), t)  # any integer that floats hold, of whatever size
    return constant(bool(number) if t == BOOL else number, t)


def count_of(values: Any) -> int | None:
    """How many values an identity has or a lift takes; None if that depends on the types."""
    if values is None:
        return None
    if not callable(values):
        return len(values) if isinstance(values, tuple | list) else 1
    return None if variadic(values) else len(positional(values))


@monoid(identity=0, idempotent=False)
def TALLY(a: Any, b: Any) -> Any:  # noqa: N802 - a monoid is a value
    """How many elements take part."""
    return a + b


def index(t: object = None) -> Sym:
    """The position of an element among the reduced ones, in the caller's row-major order from 0.

    Its type is ``t``; without one i32, or i64 where there are too many elements for that.
    """
    held = current_scope()
    own = I64 if held.wide else I32
    found = own if t is None else as_dtype(t)
    whole = found if found.is_integer else own
    number = Sym(Expr("iota", (), whole, ELEMENT)) if held.over is None else held.over.index(whole)
    number = cast(number, found)
    return number if t is None else number.alike(replace(number.expr, chosen=True))


def count(t: object) -> Sym:
    """How many elements are reduced into one result (with a mask: take part in it), in type ``t``."""
    held, found = current_scope(), as_dtype(t)
    if held.mask is None:
        own = I64 if found == BOOL or found in STORED else found
        return cast(Sym(Expr("count", (), own, SCALAR)) if held.over is None else held.over.count(own), found)
    (tally,) = _reduced(TALLY.typed(I64), [cast(held.mask, I64)], held, caller())
    return cast(tally, found)
