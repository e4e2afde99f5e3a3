"""From a Python function to a ``Program``: one trace, named results, and one fold.

Several independent folds become one fold over the product of their monoids, whose state holds the values of all. So any
number of reductions of the same arrays read them once, and everything below this level sees one fold.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from keyword import iskeyword
from typing import Any, Literal, cast

from ..dtypes import DType
from ..errors import error
from .fold import Scope, fold, leaving_out, not_a_number, scope
from .frames import Tracing
from .graph import ELEMENT, KEPT, SCALAR, Expr, MonoidGraph, Program, rewrite, walk
from .library.monoids import ANY
from .monoid import Monoid, missing_return
from .signatures import defined, keywords
from .storage import decoded, parts
from .structure import First
from .values import Value, split

Nan = Literal["propagate", "ignore", "raise"]
Structure = int | tuple[str, tuple[str, ...], tuple["Structure", ...]]
"""How results nest: the number of one, or (name, field names, members); a plain tuple has no names."""


@dataclass(frozen=True)
class Traced:
    """A function as a program, with what its caller gets.

    Attributes:
        program: what kernels compute: the parts of all results, then one bool per check.
        results: the element type of each result array.
        structure: how the results nest.
        checks: for each trailing output the code of the error that a true value means.
        arrays: the element type of each array that is read; a mask is the last.
        used: the monoids that were folded with, each with the types of what it reduces.
        most: the most elements of a result that it serves; None for any number.
    """

    program: Program
    results: tuple[DType, ...]
    structure: Structure
    checks: tuple[str, ...] = ()
    arrays: tuple[DType, ...] = ()
    used: tuple[tuple[Monoid, tuple[DType, ...]], ...] = field(default=(), compare=False, repr=False)
    most: int | None = None

    def __reduce__(self) -> Any:
        """A monoid's function does not pickle, since its name stands for the monoid; what uses it here is done."""
        return Traced, (self.program, self.results, self.structure, self.checks, self.arrays, (), self.most)


def trace(
    function: Callable[..., Any],
    arrays: Sequence[DType],
    params: Mapping[str, Any],
    *,
    name: str | None = None,
    masked: bool = False,
    nan: Nan = "propagate",
    wide: bool = True,
    huge: bool = False,
) -> Traced:
    """Traces ``function`` over one symbolic value per array.

    Args:
        function: takes a value per array and ``params`` by keyword; returns one or several results made with ``fold``
            (a tuple of them, or a dict that names them).
        arrays: the element type of each array; with ``masked`` a last one of bool, which says what takes part.
        params: Python values baked into the program.
        name: what to call it; the function's own name by default.
        masked: whether there is such a mask.
        nan: whether NaN elements take part, are left out, or are an error.
        wide: whether elements are numbered in 64 bits.
        huge: whether a result has so many elements that a 64-bit sum may overflow.

    Raises:
        TraceError: WF212 when a result was never reduced, WF213 when one fold needs another's result, WF224 when a
            name of a result is not fit for a field, WF228 without a return, WF253 for another trace's values.
    """
    types = [p for t in arrays for p in parts(t)]
    elements = [Expr("input", (), t, ELEMENT, i) for i, t in enumerate(types)]
    nodes = iter(elements)
    values = [decoded(t, [next(nodes) for _ in parts(t)]) for t in arrays]
    mask = split(values.pop())[0] if masked else None
    label = str(name or getattr(function, "__name__", "reduction"))
    bad = not_a_number(values) if nan != "propagate" else None
    held = Scope(wide, huge, mask, needs_initial=masked, name=label, takes_initial="initial" in keywords(function))
    with scope(held), leaving_out(bad if nan == "ignore" else None):
        with Tracing(label):
            got = function(*values, **params)
        leaves: list[Value] = []
        structure = structure_of(label, got, leaves, function)
        if nan == "raise" and bad is not None:
            held.checks.append(("WF135", fold(ANY, bad)))
    for position, r in enumerate(leaves):
        if any(s.expr.space == ELEMENT for s in split(r)):
            raise error("WF212", name=label, position=position, where=defined(function))
    outputs = [s.expr for r in leaves for s in split(r)] + [c.expr for _, c in held.checks]
    own = {e.digest for e in elements}
    if any(e.op == "param" or (e.op == "input" and e.digest not in own) for e in walk(tuple(outputs))):
        raise error("WF253", name=label, where=defined(function))
    if not any(e.op == "reduce" for e in walk(tuple(outputs))):
        raise error("WF212", name=label, position=0, where=defined(function))
    made = Program(label, tuple(types), _one_fold(label, tuple(outputs), function), defined(function))
    results, checks = tuple(r.dtype for r in leaves), tuple(code for code, _ in held.checks)
    return Traced(made, results, structure, checks, tuple(arrays), tuple(held.used), min(held.most, default=None))


def program(function: Callable[..., Any], inputs: Sequence[DType], name: str | None = None, **params: Any) -> Program:
    """The program alone of ``trace``."""
    return trace(function, inputs, params, name=name).program


# --- results -------------------------------------------------------------------------------------------------------
def structure_of(name: str, got: Any, leaves: list[Value], function: Any, code: str = "WF212") -> Structure:
    """How the values of ``got``, which a traced function returned, are nested; appends them to ``leaves``.

    What is no value is refused with ``code``.
    """
    if isinstance(got, Mapping):
        for key in got:
            if not isinstance(key, str) or not key.isidentifier() or key.startswith("_") or iskeyword(key):
                raise error("WF224", name=name, key=repr(key), where=defined(function))
        members = tuple(structure_of(key, v, leaves, function, code) for key, v in got.items())
        return (name, tuple(got), members)
    if isinstance(got, tuple | list):
        fields = tuple(getattr(got, "_fields", ()))
        return (
            type(got).__name__ if fields else name,
            fields,
            tuple(structure_of(name, v, leaves, function, code) for v in got),
        )
    if got is None:
        raise missing_return("the function of", name, "one or several results", defined(function))
    if not isinstance(got, Value):
        raise error(code, name=name, position=len(leaves), kind=type(got).__name__, where=defined(function))
    leaves.append(got)
    return len(leaves) - 1


def nest(structure: Structure, leaves: Sequence[Any]) -> Any:
    """``leaves`` as the caller gets them."""
    if isinstance(structure, int):
        return leaves[structure]
    name, fields, members = structure
    found = [nest(m, leaves) for m in members]
    return tuple_type(name, fields)(*found) if fields else tuple(found)


def as_called(got: Any, function: Callable[..., Any], code: str) -> Any:
    """What another program gets for ``got``, which ``function`` returned: a named tuple for a dict, as on arrays.

    What is no value in a dict, a tuple or a list is refused with ``code``.
    """
    if not isinstance(got, Mapping | tuple | list):
        return got
    leaves: list[Value] = []
    structure = structure_of(getattr(function, "__name__", "program"), got, leaves, function, code)
    return nest(structure, leaves)


def renumbered(structure: Structure, numbers: Sequence[int]) -> Structure:
    """``structure`` with other numbers of results."""
    if isinstance(structure, int):
        return numbers[structure]
    name, fields, members = structure
    return name, fields, tuple(renumbered(m, numbers) for m in members)


def leaf_names(structure: Structure, prefix: str = "") -> list[str]:
    """What each leaf is called: the fields (or positions) that lead to it; nothing for a single result."""
    if isinstance(structure, int):
        return [prefix]
    _, fields, members = structure
    keys = fields or tuple(map(str, range(len(members))))
    found = [leaf_names(m, f"{prefix}.{k}" if prefix else k) for k, m in zip(keys, members, strict=True)]
    return [n for group in found for n in group]


@lru_cache(maxsize=256)
def tuple_type(name: str, fields: tuple[str, ...]) -> Any:
    """A tuple type with these fields, whose values pickle by them: no module has the type itself."""
    fit = name.isidentifier() and not iskeyword(name)
    made = cast("Any", namedtuple(name if fit else "results", fields, rename=True))
    made.__reduce__ = lambda self: (rebuilt_tuple, (type(self).__name__, self._fields, tuple(self)))
    return made


def rebuilt_tuple(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    """A tuple with these fields, from a pickle."""
    return tuple_type(name, fields)(*values)


# --- folds ---------------------------------------------------------------------------------------------------------
def _one_fold(name: str, outputs: tuple[Expr, ...], function: Any) -> tuple[Expr, ...]:
    """The outputs with all their folds in one.

    Raises:
        TraceError: WF213 when a fold needs the result of another.
    """
    reduces = [e for e in walk(outputs) if e.op == "reduce"]
    for e in reduces:
        for inner in walk(e.args):
            if inner.op == "reduce":
                facts = {"outer": _monoid(e).name, "inner": _monoid(inner).name}
                raise error("WF213", name=name, where=defined(function) or e.where, **facts)
    if len(reduces) < 2:
        return outputs
    graph = product([_monoid(e) for e in reduces])
    args = tuple(a for e in reduces for a in e.args)
    whole = Expr("reduce", args, args[0].dtype, KEPT, graph, reduces[0].where)
    swapped: dict[str, Expr] = {}
    offset = 0
    for e in reduces:
        for i, a in enumerate(e.args):
            own = Expr("result", (e,), a.dtype, KEPT, i)
            swapped[own.digest] = Expr("result", (whole,), a.dtype, KEPT, offset + i)
        offset += len(e.args)
    return rewrite(outputs, swapped)


def _monoid(e: Expr) -> MonoidGraph:
    assert isinstance(e.value, MonoidGraph)
    return e.value


def product(graphs: Sequence[MonoidGraph]) -> MonoidGraph:
    """The product monoid: the values of all states side by side."""
    n = sum(len(g.state) for g in graphs)
    combine: list[Expr] = []
    structure: list[tuple[int, First]] = []
    offset = 0
    for g in graphs:
        own = len(g.state)
        moved: dict[str, Expr] = {}
        for i, t in enumerate(g.state + g.state):
            place = offset + i if i < own else n + offset + i - own
            moved[Expr("param", (), t, SCALAR, i).digest] = Expr("param", (), t, SCALAR, place)
        combine += rewrite(g.combine, moved)
        structure += [(offset + i, first) for i, first in g.structure]
        offset += own
    return MonoidGraph(
        "+".join(g.name for g in graphs),
        tuple(t for g in graphs for t in g.state),
        tuple(v for g in graphs for v in g.identity),
        tuple(combine),
        all(g.commutative for g in graphs),
        all(g.has_identity for g in graphs),
        tuple(structure),
    )
