"""The error of a combine's result from its derivatives, for values that reach the result along several paths.

Forward propagation counts the error of ``a`` in ``a + w (b - a)`` twice, and twice again at the next level of the
tree. A backward sweep gives each value one derivative, by which its error and its rounding enter the result.
M. Iri, "Simultaneous computation of functions, partial derivatives and estimates of rounding errors", Japan Journal of
Applied Mathematics 1 (1984).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace

import numpy as np

from ...compiler.program.function_table import TABLE, Rule
from ...compiler.program.graph import Expr, MonoidGraph, walk
from ...compiler.program.numeric import FUNCTIONS, Array
from .running_error import Analysis, Error, Known

Local = Callable[[Sequence[Array], Array], Sequence[Array | float | None]]
"""The derivatives of an operation by its operands, from these and its value; None if it has none."""

_NUMPY = SimpleNamespace(**FUNCTIONS)


def _slope(gradient: Rule) -> Local:
    """The derivatives of a function of the table."""
    return lambda a, v: gradient(_NUMPY, 1.0, v, *a)


LOCAL: dict[str, Local] = {
    "add": lambda _a, _v: (1.0, 1.0),
    "sub": lambda _a, _v: (1.0, -1.0),
    "mul": lambda a, _v: (a[1], a[0]),
    "fma": lambda a, _v: (a[1], a[0], 1.0),
    "div": lambda a, v: (1.0 / a[1], -v / a[1]),
    "neg": lambda _a, _v: (-1.0,),
    "abs": lambda a, _v: (np.sign(a[0]),),
    "min": lambda a, v: (a[0] == v, a[0] != v),
    "max": lambda a, v: (a[0] == v, a[0] != v),
    "where": lambda a, _v: (None, a[0], ~np.asarray(a[0])),
    "cast": lambda _a, _v: (1.0,),
    **{row.name: _slope(row.gradient) for row in TABLE if row.gradient},
}


def tangled(graph: MonoidGraph, position: int) -> frozenset[int]:
    """The parameters that reach the combined value along several paths, if all of these have derivatives."""
    ways: dict[str, dict[int, int]] = {}
    for e in walk((graph.combine[position],)):
        found: dict[int, int] = {e.value: 1} if e.op == "param" else {}  # type: ignore[dict-item]
        for a in e.args:
            if not e.dtype.is_float and e.dtype != a.dtype:
                continue  # a comparison or an integer, which has an error of its own kind
            for param, count in ways[a.digest].items():
                found[param] = found.get(param, 0) + count
        if found and e.op != "param" and e.dtype.is_float and e.op not in LOCAL:
            return frozenset()
        ways[e.digest] = found
    return frozenset(p for p, count in ways[graph.combine[position].digest].items() if count > 1)


def error(out: Expr, nodes: Sequence[Expr], memo: dict[str, Known], how: Analysis) -> Error:
    """The error of ``out``, one of the topologically sorted ``nodes``; ``memo`` holds all values with their errors.

    None if a condition is uncertain, so that derivatives say nothing.
    """
    felt: dict[str, Array | float] = {out.digest: 1.0}
    errors: list[Error] = []
    for e in reversed(nodes):
        if e.digest not in felt:
            continue
        slope, known = np.abs(felt[e.digest]), memo[e.digest]
        if e.op == "param":
            errors.append(None if known.error is None else slope * known.error)
            continue
        if e.op == "const" or not e.dtype.is_float:
            continue
        args = [memo[a.digest] for a in e.args]
        if e.op == "where" and args[0].error is not None and np.any(args[0].error):
            return None
        own = how.own(e, args, known.value)
        errors.append(None if own is None else slope * own)
        for a, local in zip(e.args, LOCAL[e.op]([k.value for k in args], known.value), strict=True):
            if local is not None and a.op != "const":
                felt[a.digest] = felt.get(a.digest, 0.0) + felt[e.digest] * local
    return how.join(*errors)
