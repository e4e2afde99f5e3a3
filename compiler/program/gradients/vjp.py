"""The gradient of a function of arrays, as another function of arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any, NamedTuple

from ...errors import error
from ..arrays.broadcasting import along, rebuilt, space_of
from ..arrays.dims import Dims, bits
from ..arrays.sym_array import SymArray
from ..arrays.types import computed, has_gradient
from ..arrays.variables import Variable, variable
from ..fold import current_scope
from ..frames import caller
from ..graph import Expr, walk
from ..signatures import defined, parameters
from ..symbols import Sym, constant, is_array
from ..tracing import structure_of
from ..values import Value, cast
from .detached import attached, differentiating, without
from .folds import added, combination
from .reverse import Root, gradients


def backward(function: Callable[..., Any], results: int = 1, wrt: Sequence[str] | None = None) -> Callable[..., Any]:
    """The function from the gradients of the results of ``function``, and its arguments, to those of its arguments.

    Args:
        function: a function of symbolic arrays.
        results: how many arrays it returns.
        wrt: the parameters whose gradients are returned; None for those of all arrays of floats.

    Returns:
        A function that takes a gradient for each result, and then what ``function`` takes. A number stands for an array
        of it, None for zeros.
        It returns a gradient for each array, in the order of the parameters, or the one gradient there is.

    Raises:
        TraceError: when it is traced, WF901 for an operation without a gradient, WF902 for a monoid's own rule, WF903
            for another number of results, WF904 for arguments and WF905 to WF907 for gradients of other kinds.
    """
    name = str(getattr(function, "__name__", "the function"))

    def pulled_back(*xs: Any, **how: Any) -> Any:
        own = Given.of(function, xs[results:], how)
        found, _ = differentiated(own, own.wanted(wrt), results, lambda _: xs[:results])
        return found[0] if len(found) == 1 else tuple(found)

    pulled_back.__name__ = pulled_back.__qualname__ = f"{name}_backward"
    pulled_back.__signature__ = Unchecked([*gradients_of(function, results), *parameters(function)])  # type: ignore[attr-defined]
    pulled_back.defined = function  # type: ignore[attr-defined]
    return as_gradient(pulled_back)


def as_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, known as one whose results are gradients."""
    function.gradients = True  # type: ignore[attr-defined]
    return function


def is_gradient(function: Callable[..., Any]) -> bool:
    """Whether the results of a function are gradients."""
    return getattr(function, "gradients", False)


def differentiated(
    own: Given, wanted: Sequence[str], results: int, given: Callable[[Sequence[Value]], Sequence[Any]]
) -> tuple[list[SymArray], list[Value]]:
    """The gradients of arguments, and the results of the function.

    Args:
        own: the function and its arguments.
        wanted: the names of the arguments.
        results: how many arrays the function returns.
        given: makes the gradients of the results, of these.
    """
    function = own.function
    name = str(getattr(function, "__name__", "the function"))
    with differentiating() as first:
        variables = {n: variable(own.arguments[n], first + i) for i, n in enumerate(wanted)}
        leaves: list[Value] = []
        structure_of(name, own.call(variables), leaves, function, code="WF263")
        if len(leaves) != results:
            raise error("WF903", name=name, found=len(leaves), expected=results, where=defined(function))
        found = _pulled_back(name, leaves, given(leaves), [own.arguments[n] for n in wanted], first)
        numbers = range(first, first + len(wanted))
        made = [r.alike(_unmarked(r.expr, numbers)) if isinstance(r, SymArray) else r for r in leaves]
    return [_attached(x) for x in found], list(map(_attached, made))


def _attached(x: Any) -> Any:
    return x.alike(*attached([x.expr])) if isinstance(x, SymArray) else x


def with_value(function: Callable[..., Any], wrt: Sequence[str] | None = None) -> Callable[..., Any]:
    """The function that returns the one result of ``function``, and the gradients of its sum as ``backward`` does.

    Both are of one graph: what they share is computed once.
    """
    gradient = backward(function, 1, wrt)

    def value_and_gradient(*xs: Any, **how: Any) -> Any:
        return function(*xs, **how), gradient(1.0, *xs, **how)

    name = str(getattr(function, "__name__", "the function"))
    value_and_gradient.__name__ = value_and_gradient.__qualname__ = f"{name}_and_gradient"
    value_and_gradient.__signature__ = Signature([*parameters(function)])  # type: ignore[attr-defined]
    value_and_gradient.defined = function  # type: ignore[attr-defined]
    return value_and_gradient


def gradients_of(function: Callable[..., Any], results: int) -> list[Parameter]:
    """A parameter for the gradient of each result, with a name that no parameter of ``function`` has."""
    taken, name = {p.name for p in parameters(function)}, "gradient"
    while not taken.isdisjoint(names := [name] if results == 1 else [f"{name}_{i}" for i in range(results)]):
        name = f"{name}_of_{name}"
    return [Parameter(n, Parameter.POSITIONAL_ONLY) for n in names]


class Given(NamedTuple):
    """The arguments of a function of arrays.

    Attributes:
        function: the function.
        arguments: by the names of parameters, in their order; further ones by position have numbers for names.
        positional: how many are given by position.
    """

    function: Callable[..., Any]
    arguments: dict[str, Any]
    positional: int

    @classmethod
    def of(cls, function: Callable[..., Any], xs: Sequence[Any], how: Mapping[str, Any]) -> Given:
        """Arguments by position and by keyword."""
        names = [p.name for p in parameters(function)]
        by_position = dict(zip(positional_names(function, len(xs)), xs, strict=True))
        order = sorted(how, key=lambda n: names.index(n) if n in names else len(names))
        return cls(function, by_position | {n: how[n] for n in order}, len(xs))

    def wanted(self, wrt: Sequence[str] | None) -> list[str]:
        """The arguments whose gradients are wanted.

        Raises:
            ArgumentError: for a name that no parameter has.
            TraceError: WF904 for an argument that has no gradient, or if there is none that has.
        """
        names = list(self.arguments)
        if wrt is None:
            found = [n for n in names if _has_gradient(self.arguments[n])]
            if not found:
                raise error("WF904", what="no argument is", where=defined(self.function))
            return found
        for n in wrt:
            if n not in names:
                expected, default = f"one of its arrays, or several: {' '.join(names)}", "all arrays of floats"
                raise error("WF138", option="wrt", value=n, expected=expected, default=default, where=caller())
            if not _has_gradient(self.arguments[n]):
                raise error("WF904", what=f"argument {n} is not", where=defined(self.function))
        return list(wrt)

    def call(self, changed: Mapping[str, Any]) -> Any:
        """The result of the function, with some arguments changed."""
        own = self.arguments | dict(changed)
        names = list(own)
        return self.function(
            *(own[n] for n in names[: self.positional]), **{n: own[n] for n in names[self.positional :]}
        )


def positional_names(function: Callable[..., Any], count: int) -> list[str]:
    """The names of the first arguments by position: those of parameters, and then numbers."""
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    own = [p.name for p in parameters(function) if p.kind in kinds][:count]
    return [*own, *map(str, range(len(own), count))]


class Unchecked(Signature):
    """A signature whose first parameters must be given, whatever the others' defaults are."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        super().__init__(parameters, __validate_parameters__=False)


def _has_gradient(x: object) -> bool:
    return is_array(x) and has_gradient(x.dtype)  # type: ignore[attr-defined]


def _pulled_back(
    name: str, leaves: Sequence[Value], given: Sequence[Any], wanted: Sequence[SymArray], first: int
) -> list[SymArray]:
    """The gradient of each wanted array: the variables from ``first`` on, of which ``leaves`` were computed."""
    dims = wanted[0].dims
    given_exprs = [_given(f"result {i} of {name}", r, g) for i, (r, g) in enumerate(zip(leaves, given, strict=True))]
    own = [(r, s) for r, s in zip(leaves, given_exprs, strict=True) if s is not None and isinstance(r, SymArray)]
    roots = [Root(named(r.expr, dims), Sym(named(s, dims)), bits(dims.parts_of(r.axes))) for r, s in own]
    numbers = range(first, first + len(wanted))
    read = {
        e.digest: e.value
        for e in walk(tuple(r.expr for r in roots))
        if isinstance(e.value, Variable) and e.value.number in numbers
    }
    rules = {combination(m.typed(*types)): m for m, types in current_scope().used if m.vjp is not None}
    found = gradients(roots, read.keys(), rules, bits(p for p, n in enumerate(dims.sizes) if not n))
    _keep_apart([g.expr for g in found.values()], dims)
    return [
        _total(x, [read[d].spread(g, dims) for d, g in found.items() if read[d].number == number], numbers)
        for number, x in zip(numbers, wanted, strict=True)
    ]


def named(e: Expr, dims: Dims) -> Expr:
    """``e`` with the names that its dims have now."""
    return rebuilt(e, {d: d for d in range(len(dims.sizes))}, dims, dims)


def _keep_apart(roots: Sequence[Expr], dims: Dims) -> None:
    """Notes along which dims the nodes vary."""
    for e in walk(tuple(roots)):
        dims.vary(space_of(e))


def _given(what: str, result: Value, gradient: Any) -> Expr | None:
    """The gradient of a result along its axes; None if it is zero.

    Raises:
        TraceError: WF905 for a gradient of another shape, WF906 for one that is no array of floats, WF907 for one of a
            result that has none.
    """
    if gradient is None:
        return None
    if not (isinstance(result, SymArray) and _has_gradient(result)):
        raise error("WF907", what=what, dtype=result.dtype.name, where=caller())
    if type(gradient) in (int, float):
        return constant(float(gradient), computed(result.dtype)).expr
    if not _has_gradient(gradient):
        kind = gradient.dtype.name if is_array(gradient) else type(gradient).__name__
        raise error("WF906", what=what, found=kind, where=caller())
    if gradient.sizes != result.sizes:
        raise error("WF905", what=what, found=gradient.sizes, expected=result.sizes, where=caller())
    return cast(SymArray(along(gradient, result.axes), result.axes, result.dims), computed(result.dtype)).expr


def _total(x: SymArray, gradients: Sequence[SymArray], numbers: Collection[int]) -> SymArray:
    """The sum of what the ways of reading ``x`` gain, without the marks of variables."""
    dims = x.dims
    axes = x.axes
    parts = [Sym(along(g, dims.axes(axes))) for g in gradients]
    found = added(parts) if parts else constant(0.0, computed(x.dtype))
    return SymArray(_unmarked(found.expr, numbers), dims.axes(axes), dims, x.dtype)


def _unmarked(root: Expr, numbers: Collection[int]) -> Expr:
    """``root`` without the marks of variables."""
    marks = {e.digest: e for e in walk((root,)) if isinstance(e.value, Variable) and e.value.number in numbers}
    return without(root, marks)
