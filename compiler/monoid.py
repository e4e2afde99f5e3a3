"""Monoids: an identity and an associative combine over one or several values, written as Python functions.

A ``Monoid`` is untyped; ``typed`` traces its combine for the types of one state and gives a ``MonoidGraph``. ``fold``
reduces values inside a tensor program. warpfold's own monoids are made here exactly as a user makes theirs.
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .dtypes import DType
from .dtypes import dtype as as_dtype
from .errors import Location, error
from .graph import Expr, MonoidGraph, Program, widest
from .trace import Sym, caller, cast, constant

Identity = Callable[..., Any] | tuple[Any, ...] | list[Any] | float | int | bool


@dataclass(frozen=True)
class Monoid:
    """A combine function with its identity.

    Attributes:
        name: what messages call it.
        function: ``combine(a, b)``; ``a`` and ``b`` are scalars, or tuples of them when the state has several values.
        identity: the neutral state: numbers, or a function of the state's dtypes that returns them.
        commutative: whether ``combine(a, b)`` equals ``combine(b, a)``; if not, elements are reduced in order.
        has_identity: False when the identity only pads (as the least int does for max), so that an empty reduction
            raises.
    """

    name: str
    function: Callable[..., Any]
    identity: Identity
    commutative: bool = True
    has_identity: bool = True

    def __post_init__(self) -> None:
        try:
            hash(self.identity)
        except TypeError:  # an array, or a tuple that holds one
            raise error("WF205", kind=type(self.identity).__name__, where=self.location) from None

    @property
    def location(self) -> Location | None:
        """Where the combine function is defined."""
        return _defined(self.function)

    def typed(self, *state: DType) -> MonoidGraph:
        """The monoid over a state of these dtypes, traced once.

        Raises:
            TraceError: WF201 to WF210, located in the combine function.
        """
        return _typed(self, state)

    def __call__(self, *states: Any) -> Any:
        """The combine function itself, so that it stays testable as plain Python."""
        return self.function(*states)


def monoid(
    *, identity: Identity, commutative: bool = True, has_identity: bool = True
) -> Callable[[Callable[..., Any]], Monoid]:
    """Makes a monoid of the combine function below it.

    >>> @monoid(identity=1.0)
    ... def product(a, b):
    ...     return a * b
    >>> product.name
    'product'

    Args:
        identity: the neutral state: one number, a tuple with one per value, or a function that takes the dtype of each
            value and returns them.
        commutative: promise that the operands may be swapped. Without it the elements are combined in their order.
        has_identity: pass False when ``identity`` is only padding, so that reducing nothing raises.
    """

    def make(function: Callable[..., Any]) -> Monoid:
        name = getattr(function, "__name__", type(function).__name__)
        parameters = inspect.signature(function).parameters.values()
        required = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        if len(required) != 2:
            raise error("WF207", name=name, count=len(required), where=_defined(function))
        neutral = tuple(identity) if isinstance(identity, list) else identity
        return Monoid(name, function, neutral, commutative, has_identity)

    return make


def _defined(function: Callable[..., Any]) -> Location | None:
    """Where ``function`` is defined, if it is written in Python."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    return Location(code.co_filename, code.co_firstlineno, linecache.getline(code.co_filename, code.co_firstlineno))


@lru_cache(maxsize=1024)
def _typed(m: Monoid, state: tuple[DType, ...]) -> MonoidGraph:
    n = len(state)
    params = [Sym(Expr("param", (), t, "scalar", i)) for i, t in enumerate(state + state)]
    left, right = (params[0], params[1]) if n == 1 else (tuple(params[:n]), tuple(params[n:]))
    got = m.function(left, right)
    results = got if isinstance(got, tuple | list) else (got,)
    if len(results) != n:
        raise error("WF208", name=m.name, expected=n, found=len(results), where=m.location)
    combined = tuple(_result(m, i, r, t) for i, (r, t) in enumerate(zip(results, state, strict=True)))
    return MonoidGraph(m.name, state, _identity(m, state), combined, m.commutative, m.has_identity)


def _result(m: Monoid, position: int, value: Any, t: DType) -> Expr:
    """One result of the combine, which must have the type of the state (a Python number takes it)."""
    if isinstance(value, bool | int | float):
        value = constant(value, t)
    if not isinstance(value, Sym) or value.dtype != t:
        found = value.dtype.name if isinstance(value, Sym) else type(value).__name__
        where = value.expr.where if isinstance(value, Sym) and value.expr.where else m.location
        raise error("WF209", name=m.name, position=position, expected=t.name, found=found, where=where)
    return value.expr


def _identity(m: Monoid, state: tuple[DType, ...]) -> tuple[float | int | bool, ...]:
    values = m.identity(*state) if callable(m.identity) else m.identity
    values = values if isinstance(values, tuple) else (values,)
    if len(values) != len(state):
        raise error("WF210", name=m.name, expected=len(state), found=len(values), where=m.location)
    return tuple(_neutral(m, v, t) for v, t in zip(values, state, strict=True))


def _neutral(m: Monoid, value: Any, t: DType) -> float | int | bool:
    """One value of the identity, which must be a number that ``t`` can hold."""
    number = value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value
    if not isinstance(number, bool | int | float):
        raise error("WF205", kind=type(value).__name__, where=m.location)
    found: Any = constant(number, t, m.location).expr.value
    return found  # type: ignore[no-any-return]


def fold(m: Monoid, *values: Any) -> Any:
    """Reduces ``values`` (one per value of the monoid's state) over the reduced axes, inside a tensor program.

    Returns:
        The final state: a scalar of the ``kept`` space, or a tuple of them.
    """
    if not isinstance(m, Monoid):
        raise error("WF130", kind=type(m).__name__, where=caller())
    found = _count(m.identity)
    if found is not None and found != len(values):
        raise error("WF210", name=m.name, found=found, expected=len(values), where=caller())
    syms = [v if isinstance(v, Sym) else cast(v, _number_type(v)) for v in values]
    exprs = tuple(s.expr for s in syms)
    graph = m.typed(*(e.dtype for e in exprs))
    if widest(e.space for e in exprs) == "kept":
        raise error("WF211", name=m.name, where=caller())
    node = Expr("reduce", exprs, exprs[0].dtype, "kept", graph, m.location)
    results = tuple(Sym(Expr("result", (node,), e.dtype, "kept", i)) for i, e in enumerate(exprs))
    return results[0] if len(results) == 1 else results


def _count(identity: Identity) -> int | None:
    """How many values an identity has, as far as can be told before the types of the state are known."""
    if not callable(identity):
        return len(identity) if isinstance(identity, tuple | list) else 1
    try:
        parameters = inspect.signature(identity).parameters.values()
    except ValueError:
        return None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty for p in parameters)


def _number_type(value: Any) -> DType:
    from .dtypes import BOOL, F64, I64

    return BOOL if isinstance(value, bool) else I64 if isinstance(value, int) else F64


def program(function: Callable[..., Any], inputs: tuple[DType, ...], name: str | None = None, **params: Any) -> Program:
    """Traces ``function`` over one symbolic tensor per input into a ``Program``.

    Args:
        function: takes a symbolic value per input array and ``params`` by keyword; returns one or several results made
            with ``fold``.
        inputs: the element type of each input array.
        name: what to call it; the function's own name by default.
        params: Python values baked into the program.

    Raises:
        TraceError: WF212 when a result was never reduced, WF213 when there are several folds.
    """
    args = [Sym(Expr("input", (), t, "element", i)) for i, t in enumerate(inputs)]
    got = function(*args, **params)
    results = got if isinstance(got, tuple | list) else (got,)
    label = str(name or getattr(function, "__name__", "reduction"))
    for position, r in enumerate(results):
        if not isinstance(r, Sym) or r.expr.space != "kept":
            raise error("WF212", name=label, position=position, where=_defined(function))
    made = Program(label, inputs, tuple(r.expr for r in results))
    if not results:
        raise error("WF212", name=label, position=0, where=_defined(function))
    if len(made.reduces) != 1:
        folds = ", ".join(e.value.name for e in made.reduces if isinstance(e.value, MonoidGraph))
        raise error("WF213", name=label, folds=folds, where=_defined(function))
    return made


def index(t: object) -> Sym:
    """The position of an element among the reduced ones, in the caller's row-major order from 0, in type ``t``."""
    return Sym(Expr("iota", (), as_dtype(t), "element"))


def count(t: object) -> Sym:
    """How many elements are reduced into one result, in type ``t``."""
    return Sym(Expr("count", (), as_dtype(t), "scalar"))
