"""Marks of nodes: which operand takes the gradient, where the operation alone does not say so.

A mark is the value of a node of an operation that needs none. It changes nothing about what the node computes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

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
