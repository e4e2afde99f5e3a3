"""Values that take no gradient, ``wf.stop_gradient``.

A program that is not differentiated has no such nodes: it computes the value alone, and shares its kernels.

Marks of nodes: which operand takes the gradient, where the operation alone does not say so.

A mark is the value of a node of an operation that needs none. It changes nothing about what the node computes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Literal

from ..graph import Expr, rewrite, walk
from ..symbols import Sym, node

Mark = Literal["bound", "correction", "right", "root"]
BOUND: Mark = "bound"
"""Of the greater, or the lesser, of a value and a bound: an equal bound takes no gradient."""
CORRECTION: Mark = "correction"
"""Of a value that takes the place of an operand, whose error it corrects: this operand takes the whole gradient. Of a
choice it is the last one, else the first."""
RIGHT: Mark = "right"
"""Of an absolute value in a function that has a derivative at 0, where the function takes what it has above 0."""
ROOT: Mark = "root"
"""Of a square root of a sum of squares, which is least where all of these are 0: there it takes no gradient."""


def marked(value: Any, mark: Mark) -> Any:
    """``value``, whose node has a mark; what is a constant, or an operand, has none."""
    e = value.expr
    return value.alike(replace(e, value=mark)) if e.op in _MARKED and e.value is None else value


_MARKED = ("max", "min", "where", "abs", "sqrt")
"""The operations whose nodes have marks."""


MOST = 1 << 16
"""More than the variables of one gradient."""
_DEPTH: ContextVar[int] = ContextVar("depth", default=0)


@contextmanager
def differentiating() -> Iterator[int]:
    """Makes ``stop_gradient`` mark values inside the ``with``; gives the number of its first variable."""
    depth = _DEPTH.get() + 1
    token = _DEPTH.set(depth)
    try:
        yield depth * MOST
    finally:
        _DEPTH.reset(token)


def nesting() -> int:
    """How many gradients are taken of each other here: what the innermost one computes has one less taken of it."""
    return _DEPTH.get()


def stop_gradient(x: Sym) -> Sym:
    """``x``, as a constant where a gradient is taken."""
    return node("detached", x.dtype, x) if _DEPTH.get() and x.dtype.is_float else x


def attached(roots: Sequence[Expr]) -> list[Expr]:
    """The expressions without marks, unless a gradient of them is taken, too."""
    if _DEPTH.get():
        return list(roots)
    return [without(r, {e.digest: e for e in walk((r,)) if e.op == "detached"}) for r in roots]


def without(root: Expr, marks: Mapping[str, Expr]) -> Expr:
    """``root`` with the arguments of some nodes, operands before users, in place of these."""
    swaps: dict[str, Expr] = {}
    for digest, e in marks.items():
        (swaps[digest],) = rewrite(e.args, swaps)
    return rewrite((root,), swaps)[0]
