"""What comes before some elements of a scan: a state, and whether there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...compiler.ir.combine import combine, splat, width
from ...compiler.ir.mlir import arith
from .kernel import Kernel


class Before(NamedTuple):
    """What comes before some elements.

    Attributes:
        state: the state; None where nothing comes before.
        exists: whether something does; None where it is known to.
    """

    state: Sequence[Any] | None = None
    exists: Any = None

    def then(self, kernel: Kernel, other: Before) -> Before:
        """What comes before, and after that ``other``."""
        if self.state is None or other.state is None:
            return self if other.state is None else other
        both = combine(kernel.combine, self.state, other.state)
        if other.exists is not None:
            both = chosen(other.exists, both, self.state)
        if self.exists is not None:
            both = chosen(self.exists, both, other.state)
        exists = None
        if self.exists is not None and other.exists is not None:
            exists = arith.ori(self.exists, other.exists)
        return Before(both, exists)

    def up_to(self, kernel: Kernel, own: Sequence[Any]) -> Sequence[Any]:
        """The states of elements, if ``own`` are those of them alone."""
        if self.state is None:
            return own
        return self.then(kernel, Before(own)).state or own


def chosen(on: Any, xs: Sequence[Any], ys: Sequence[Any]) -> list[Any]:
    """The values ``xs`` where ``on``, else ``ys``; a scalar stands for equal elements."""
    wide = [max(width(x.type), width(y.type)) for x, y in zip(xs, ys, strict=True)]
    return [arith.select(on, splat(x, n), splat(y, n)) for x, y, n in zip(xs, ys, wide, strict=True)]
