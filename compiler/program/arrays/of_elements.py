"""Tensor programs that look into the graph of a reduction's elements, as those of states do, on symbolic arrays.

Such a program runs on symbols of single elements. The nodes that it makes are then made again of the arrays' elements:
a ``reduce`` as a fold over the axes of the reduction that runs, and a number or a count of elements as those axes have
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..fold import Scope, current_scope, scope
from ..graph import ELEMENT, Expr, MonoidGraph, union, walk
from ..symbols import Sym
from ..tracing import nest, structure_of
from ..values import Value, join, split
from .sym_array import Elements, SymArray


def on_arrays(name: str, function: Callable[..., Any], values: Sequence[Value]) -> Any:
    """What ``function``, of elements, makes of symbolic arrays in the reduction that runs.

    Args:
        name: what messages call it.
        function: returns values of the results, nested as a tensor program may.
        values: the arrays.
    """
    held = current_scope()
    taken = [*values, *([] if held.mask is None else [held.mask])]
    parts = [p for v in taken for p in split(v)]
    inputs = [Expr("input", (), p.dtype, ELEMENT, i) for i, p in enumerate(parts)]
    symbols = join([v.dtype for v in taken], [Sym(e) for e in inputs])
    mask = None if held.mask is None else split(symbols.pop())[0]
    own = replace(held, over=None, mask=mask, checks=[])
    with scope(own):
        leaves: list[Value] = []
        structure = structure_of(name, function(*symbols), leaves, function)
    ends = [s for leaf in leaves for s in split(leaf)]
    ends += [c for _, c in own.checks]
    known = {e.digest: _element(p, held) for e, p in zip(inputs, parts, strict=True)}
    made = _made([s.expr for s in ends], known, held)
    results = [_like(s, e, held) for s, e in zip(ends, made, strict=True)]
    count = len(results) - len(own.checks)
    held.checks.extend(zip((code for code, _ in own.checks), results[count:], strict=True))
    return nest(structure, join([leaf.dtype for leaf in leaves], results[:count]))


def _element(value: Sym, held: Scope) -> Expr:
    """An element of an array as its memory has it: a half is not widened."""
    assert held.over is not None
    operand = held.over.operand(value)
    if not isinstance(operand, SymArray) or operand.expr.dtype == value.dtype:
        return split(operand)[0].expr
    e = operand.expr
    if e.op == "cast" and e.args[0].dtype == value.dtype:
        return e.args[0]
    return Expr("cast", (e,), value.dtype, e.space, None, e.where)


def _made(ends: Sequence[Expr], known: dict[str, Expr], held: Scope) -> list[Expr]:
    """The nodes of single elements, made again of those of arrays; ``known`` has the inputs."""
    assert held.over is not None
    over: Any = held.over
    states: dict[str, list[Expr]] = {}
    for e in walk(tuple(ends)):
        if e.digest in known:
            continue
        args = tuple(known[a.digest] for a in e.args if a.op != "reduce")
        if e.op == "reduce":
            assert isinstance(e.value, MonoidGraph)
            elements = [Elements(a, over.shape, over.dims) for a in args]
            states[e.digest] = [s.expr for s in held.over.fold(e.value, elements, e.where)]
            continue
        if e.op == "result":
            found = states[e.args[0].digest][e.value]  # type: ignore[call-overload]
        elif e.op == "iota":
            found = held.over.index(e.dtype).expr
        elif e.op == "count":
            found = held.over.count(e.dtype).expr
        elif e.op == "const":
            found = e
        else:
            found = replace(e, args=args, space=union(held.over.dims.space(a.space) for a in args))
        known[e.digest] = found
    return [known[e.digest] for e in ends]


def _like(symbol: Sym, e: Expr, held: Scope) -> Sym:
    """A result of the reduction, which has its kept axes."""
    over: Any = held.over
    return Elements(e, over.kept, over.dims, symbol.dtype)
