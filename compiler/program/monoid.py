"""Monoids: an identity and an associative combine over one or several values, written as Python functions.

A ``Monoid`` is untyped; ``typed`` traces its combine for the types of one state and gives a ``MonoidGraph``. warpfold's
own monoids are made in ``library/monoids.py`` exactly as a user makes theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar, get_args

from ..dtypes import BOOL, DType
from ..errors import Location, WarpfoldError, error
from .closures import captured
from .exact import exactly
from .frames import Tracing, caller
from .graph import SCALAR, Expr, MonoidGraph, walk
from .signatures import Bound, defined, keywords, parameters, positional, variadic
from .spelling import too_many, unknown
from .storage import parts
from .structure import First as First
from .structure import Key
from .symbols import Sym, constant
from .values import Value, cast, join, split

P = ParamSpec("P")
R = TypeVar("R")
Identity = Callable[..., Any] | tuple[Any, ...] | list[Any] | float | int | bool | None


@dataclass(frozen=True)
class Monoid:
    """A combine function with its identity.

    Attributes:
        name: what messages call it.
        function: ``combine(a, b)``; ``a`` and ``b`` are scalars, or tuples of them when the state has several values.
        identity: the neutral state: numbers, or a function of the state's dtypes that returns them. None for a
            semigroup, which has none.
        commutative: whether ``combine(a, b)`` equals ``combine(b, a)``; if not, elements are reduced in order.
        has_identity: False for a semigroup, whose empty reduction raises. Its ``identity`` may pad, as the least
            integer does for max; one that is not shown to be neutral is never combined with an element.
        idempotent: whether ``combine(a, a)`` is ``a``.
        lift: what an element, or one of each input array, contributes to the state; None when it is the state.
        finish: what becomes of the final state; None for the state itself.
        vjp: what each folded value gains from the gradient of the final state; None where it is derived.
        structure: what the combine is declared to be; None for what its formulas say.
        apart: whether no element contributes the constant that pads, so that a final state of it holds no element.
    """

    name: str
    function: Callable[..., Any]
    identity: Identity
    commutative: bool = True
    has_identity: bool = True
    idempotent: bool = False
    lift: Callable[..., Any] | None = None
    finish: Callable[..., Any] | None = None
    vjp: Callable[..., Any] | None = None
    structure: First | None = None
    apart: bool = False
    spelled: Hashable = field(init=False, repr=False)
    """0.0 and -0.0 are equal and hash alike, but are different monoids."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "spelled", "" if callable(self.identity) else exactly(self.identity))
        try:
            hash(self.identity)
        except TypeError:  # an array, or a tuple that holds one
            raise error("WF227", name=self.name, kind=type(self.identity).__name__, where=self.location) from None

    def __reduce__(self) -> Any:
        """By name: see ``pickling.py``; WF183 where another process could not find it."""
        from .pickling import reduced

        return reduced(self)

    def __copy__(self) -> Monoid:
        return self

    def __deepcopy__(self, _memo: object) -> Monoid:
        return self

    @property
    def location(self) -> Location | None:
        """Where the combine function is defined."""
        return defined(self.function)

    @property
    def parameters(self) -> dict[str, Any]:
        """The keyword parameters of its functions, with their defaults."""
        found: dict[str, Any] = {}
        for f in (self.lift, self.function, self.finish):
            if f is not None:
                found |= keywords(f)
        return found

    def given(self, params: Mapping[str, Any]) -> Monoid:
        """This monoid with ``params`` bound in the functions that take them."""
        own = {"function": self.function, "lift": self.lift, "finish": self.finish}
        bound = {k: Bound.of(f, params) for k, f in own.items() if f is not None}
        return replace(self, **bound)  # type: ignore[arg-type]

    def typed(self, *state: DType) -> MonoidGraph:
        """The monoid over a state of these dtypes, traced again only when a value that it reads from outside changes.

        Raises:
            TraceError: WF201 to WF228, located in the combine function.
        """
        return _typed(self, state, captured(self))

    def finished(self, state: tuple[Any, ...]) -> Any:
        """What ``finish`` makes of a state.

        Raises:
            TraceError: WF226 where it takes another number of values.
        """
        assert self.finish is not None
        takes = len(positional(self.finish))
        if takes != len(state) and not variadic(self.finish):
            raise error("WF226", name=self.name, found=takes, expected=len(state), where=defined(self.finish))
        return self.finish(*state)

    def __call__(self, *states: Any) -> Any:
        """The combine function itself, so that it stays testable as plain Python."""
        if len(states) != 2:
            remedy = f"a monoid combines two states; to reduce an array write wf.reduce(x, {self.name})"
            raise too_many(self.name, "a b", len(states), remedy)
        return self.function(*states)


def _by_name(make: Callable[P, R]) -> Callable[P, R]:
    """``make``, which reports a use without parentheses and unknown parameters."""

    @wraps(make)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if args:
            raise error("WF242", found="a function" if callable(args[0]) else repr(args[0]), where=caller())
        known = keywords(make)
        for key in kwargs:
            if key not in known:
                raise unknown("wf.monoid", key, known, array=False, where=caller())
        return make(**kwargs)  # type: ignore[call-arg]

    return call


@_by_name
def monoid(
    *,
    identity: Identity = None,
    commutative: bool = True,
    has_identity: bool = True,
    idempotent: bool = False,
    lift: Callable[..., Any] | None = None,
    finish: Callable[..., Any] | None = None,
    vjp: Callable[..., Any] | None = None,
    structure: First | None = None,
) -> Callable[[Callable[..., Any]], Monoid]:
    """Makes a monoid of the combine function below it.

    >>> @monoid(identity=1.0)
    ... def product(a, b):
    ...     return a * b
    >>> product.name
    'product'

    Args:
        identity: the neutral state: one number, a tuple with one per value, or a function that takes the dtype of each
            value and returns them. Leave it out with ``has_identity=False`` only.
        commutative: promise that the operands may be swapped. Without it the elements are combined in their order.
        has_identity: pass False where no state is neutral, so that reducing nothing raises. Elements that are not
            there (outside a mask, beyond an end) then take no part: a given ``identity`` that is neutral beside every
            state, as the least integer is for max, stands for them; else a flag beside the state tells them apart.
        idempotent: promise that combining a value with itself changes nothing.
        lift: a function of one element of each input array that gives the state it contributes. Without it the
            elements are the state's values.
        finish: a function of the final state's values that gives the results: one, a tuple, or a dict that names them.
        vjp: a function of the folded values, the final state and its gradient, each a tuple where the state has several
            values, that gives what the folded values gain (None for nothing). It is needed where the combine is no sum,
            product or extreme of each value by itself.
        structure: promise that the combine is ``wf.First("least")`` or ``wf.First("greatest")``: the state is an
            element and its number, and the combine gives the element that comes first, as ``argmin`` or ``argmax``
            does. Then the reduction is as fast as these. A sum, a product or an extreme needs no promise.

    Raises:
        ArgumentError: WF138 for an argument of another kind; WF250 where the identity is missing.
        TraceError: WF207 where the combine function takes another number of parameters than two.

    Keyword-only parameters of the three functions are parameters of the reduction:

    >>> @monoid(identity=0.0, lift=lambda x, *, power=2: x ** power)
    ... def energy(a, b):
    ...     return a + b
    >>> energy.parameters
    {'power': 2}
    """
    for key, value in (("commutative", commutative), ("has_identity", has_identity), ("idempotent", idempotent)):
        if not isinstance(value, bool):
            raise error(
                "WF138", option=key, value=value, expected="True or False", default=key != "idempotent", where=caller()
            )
    for key, f in (("lift", lift), ("finish", finish), ("vjp", vjp)):
        if f is not None and not callable(f):
            raise error("WF138", option=key, value=f, expected="a function", default="none", where=caller())

    declared: object = structure
    if declared is not None and not (isinstance(declared, First) and declared.key in get_args(Key)):
        expected = "wf.First('least') or wf.First('greatest')"
        raise error("WF138", option="structure", value=structure, expected=expected, default="none", where=caller())

    def make(function: Callable[..., Any]) -> Monoid:
        name = getattr(function, "__name__", type(function).__name__)
        required = positional(function)
        if len(required) != 2:
            raise error("WF207", name=name, count=len(required), where=defined(function))
        for f in (lift, finish):
            if f is not None:
                parameters(f)
        if identity is None and has_identity:
            raise error("WF250", name=name, where=defined(function))
        neutral = tuple(identity) if isinstance(identity, list) else identity
        return Monoid(name, function, neutral, commutative, has_identity, idempotent, lift, finish, vjp, structure)

    return make


def missing_return(role: str, name: str, expected: str, where: Location | None) -> WarpfoldError:
    """The error for a user's function that has no return."""
    return error("WF228", role=role, name=name, expected=expected, where=where)


_MADE = "return what operators and warpfold's functions make of the two states, by a plain def with a return"
_FROM_OUTSIDE = {"reduce": "wf.fold", "iota": "wf.index", "count": "wf.count", "input": "an element of an array"}
"""Nodes that a combine must not use, and what made them."""


@lru_cache(maxsize=1024)
def _typed(m: Monoid, state: tuple[DType, ...], _outside: tuple[object, ...]) -> MonoidGraph:
    flat = tuple(p for t in state for p in parts(t))
    symbols = [Sym(Expr("param", (), t, SCALAR, i)) for i, t in enumerate(flat + flat)]
    left, right = join(state, symbols[: len(flat)]), join(state, symbols[len(flat) :])
    with Tracing(m.name):
        got = m.function(left[0], right[0]) if len(state) == 1 else m.function(tuple(left), tuple(right))
    if got is None:
        raise missing_return("combine function", m.name, "the combined state", m.location)
    results = got if isinstance(got, tuple | list) else (got,)
    if len(results) != len(state):
        raise error("WF208", name=m.name, expected=len(state), found=len(results), where=m.location)
    typed = [_result(m, i, r, t) for i, (r, t) in enumerate(zip(results, state, strict=True))]
    combined = tuple(s.expr for r in typed for s in split(r))
    for e in walk(combined):
        if e.op in _FROM_OUTSIDE:
            raise error("WF218", name=m.name, what=_FROM_OUTSIDE[e.op], where=e.where or m.location)
    structure = () if m.structure is None else ((0, m.structure),)
    if structure and not (len(flat) == 2 and flat[1].is_integer):
        found = ", ".join(t.name for t in state)
        raise error("WF249", name=m.name, found=found, where=m.location)
    return MonoidGraph(m.name, flat, _identity(m, state), combined, m.commutative, m.has_identity, structure)


def _result(m: Monoid, position: int, given: Any, t: DType) -> Value:
    """One result of the combine, which must have the type of the state (a Python number takes it)."""
    if isinstance(given, bool | int | float):
        given = cast(given, t) if t.kind == "complex" else constant(given, t)
    found = getattr(given, "dtype", None)
    if found != t or not isinstance(given, Value):
        where = given.expr.where if isinstance(given, Sym) and given.expr.where else m.location
        came = found.name if isinstance(found, DType) else type(given).__name__
        typed = isinstance(found, DType) and isinstance(given, Value)
        remedy = f"cast it: wf.cast(value, '{t.name}')" if typed else _MADE
        raise error("WF209", name=m.name, position=position, expected=t.name, found=came, remedy=remedy, where=where)
    return given


def _identity(m: Monoid, state: tuple[DType, ...]) -> tuple[float | int | bool, ...]:
    if m.identity is None:
        return tuple(v for t in state for v in _neutral(m, t != BOOL and 0, t))
    values = m.identity(*state) if callable(m.identity) else m.identity
    values = values if isinstance(values, tuple) else (values,)
    if len(values) != len(state):
        raise error("WF210", name=m.name, expected=len(state), found=len(values), where=m.location)
    return tuple(n for v, t in zip(values, state, strict=True) for n in _neutral(m, v, t))


def _neutral(m: Monoid, value: Any, t: DType) -> tuple[float | int | bool, ...]:
    """One value of the identity, which must be a number that ``t`` can hold, as the numbers of its parts."""
    number = value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value
    pair = t.kind == "complex"
    if not isinstance(number, bool | int | float) and not (pair and isinstance(number, complex)):
        raise error("WF227", name=m.name, kind=type(value).__name__, where=m.location)
    if pair:
        return (float(number.real), float(number.imag))
    found: Any = constant(number, t, m.location).expr.value  # type: ignore[arg-type]
    return (found,)
