"""What ``fold``, ``index`` and ``count`` mean in a program of arrays: over which axes they go.

Inside a reduction the reduced axes stay, with size 1, so that results broadcast against elements. Its caller gets
results without these axes, unless it asks to keep them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ...dtypes import I32, DType
from ...errors import Location, error
from ..array_program import Fold
from ..complexes import Complex
from ..fold import current_scope
from ..frames import caller
from ..graph import SCALAR, Expr, MonoidGraph, union
from ..signatures import defined
from ..symbols import Sym, constant
from ..values import Value, cast
from .broadcasting import along
from .dims import Axes, Dims, bits
from .sym_array import Elements, SymArray
from .types import computed

MANY = 1 << 31
"""From this number of elements on, numbers of elements have 64 bits."""


@dataclass(frozen=True)
class Outside:
    """What ``fold``, ``index`` and ``count`` mean in a program of arrays outside of every reduction: nothing.

    Attributes:
        dims: the dims of the tracing.
    """

    dims: Dims
    reduces = False
    scans = False

    def operand(self, value: Value) -> Value:
        return value

    def fold(self, graph: MonoidGraph, _: Sequence[Sym], at: Location | None) -> list[Sym]:
        raise error("WF267", what=f"wf.fold of numbers with {graph.name}", where=at)

    def index(self, _: DType) -> Sym:
        raise error("WF267", what="wf.index", where=caller())

    def count(self, _: DType) -> Sym:
        raise error("WF267", what="wf.count", where=caller())


@dataclass(frozen=True)
class OverAxes:
    """What ``fold``, ``index`` and ``count`` mean in a reduction of arrays over axes.

    Attributes:
        dims: the dims of the tracing.
        shape: the axes of the arrays, which have one shape.
        reduced: the positions of the axes that the reduction takes away.
        function: the tensor program.
    """

    dims: Dims
    shape: Axes
    reduced: frozenset[int]
    function: Any = None
    reduces = True
    scans = False

    @property
    def over(self) -> tuple[int, ...]:
        """The dims that are reduced, in the order of the axes."""
        axes = self.dims.axes(self.shape)
        return tuple(p for i, d in enumerate(axes) if i in self.reduced for p in self.dims.parts(d))

    @property
    def kept(self) -> Axes:
        """The axes of a result, the reduced ones with size 1."""
        return tuple(None if i in self.reduced else d for i, d in enumerate(self.dims.axes(self.shape)))

    @property
    def elements(self) -> int:
        """How many elements are reduced, in this tracing."""
        return prod(self.dims.sizes[d] for d in self.over)

    def operand(self, value: Value) -> Value:
        """A value of each element, in the type in which it is computed."""
        if isinstance(value, Complex):
            return Complex(self.operand(value.real), self.operand(value.imag))  # type: ignore[arg-type]
        if isinstance(value, SymArray):
            if value.dims is not self.dims:
                raise error("WF253", name=current_scope().name, where=defined(self.function))
            expr = along(value, self.dims.axes(self.shape))
            return Elements(expr, self.dims.axes(self.shape), self.dims)
        return cast(value, computed(value.dtype))

    def fold(self, graph: MonoidGraph, flat: Sequence[Sym], at: Location | None) -> list[Sym]:
        """The values of the state that elements fold to; the elements themselves where there is one of each."""
        over, order = bits(self.over), () if graph.commutative else self.over
        exprs = tuple(s.expr for s in flat)
        if not over:
            return [Elements(e, self.kept, self.dims) for e in exprs]
        self.dims.vary(union(self.dims.space(e.space) for e in exprs) | over)
        space = union(self.dims.space(e.space) for e in exprs) & ~over
        made = Expr("fold", exprs, exprs[0].dtype, space, Fold(graph, over, order), at)
        results = [Expr("result", (made,), e.dtype, space, i) for i, e in enumerate(exprs)]
        return [Elements(e, self.kept, self.dims) for e in results]

    def index(self, t: DType) -> Sym:
        """The position of an element among the reduced ones, in row-major order."""
        over = self.over
        if t == I32:
            self.dims.serve_at_most(bits(over), MANY - 1)
        if not over:
            return Elements(constant(0, t).expr, self.dims.axes(self.shape), self.dims)
        return Elements(Expr("iota", (), t, bits(over), over), self.dims.axes(self.shape), self.dims)

    def count(self, t: DType) -> Sym:
        """How many elements are reduced."""
        over = bits(self.over)
        return Sym(Expr("count", (), t, SCALAR, over)) if over else constant(1, t)

    def result(self, value: Any, *, keepdims: bool) -> Any:
        """A result as the caller gets it."""
        if isinstance(value, Complex):
            return Complex(*(self.result(part, keepdims=keepdims) for part in (value.real, value.imag)))
        if not isinstance(value, SymArray):
            value = SymArray(value.expr, self.kept, self.dims)
        axes = tuple(d for i, d in enumerate(value.axes) if keepdims or i not in self.reduced)
        return SymArray(value.expr, axes, value.dims, value.dtype)
