"""The elements of a symbolic array along its axes: an expression, and what shape and type it has."""

from __future__ import annotations

from ...dtypes import DType
from ..frames import is_built_in
from ..graph import Expr
from ..symbols import Sym
from . import types
from .dims import Axes, Dims, bits
from .sizes import Shape, Size, shape_of, size_of


class ArrayValue(Sym):
    """What a symbolic array is; ``SymArray`` adds what is done with one.

    Attributes:
        expr: its elements, in the type in which they are computed.
        axes: for each axis the dim along which it lies; None for an axis of size 1.
        dims: the dims of its tracing.
    """

    __slots__ = ("_axes", "_dtype", "dims")

    def __init__(self, expr: Expr, axes: Axes, dims: Dims, dtype: DType | None = None) -> None:
        super().__init__(types.in_computed(expr))
        self._axes, self.dims, self._dtype = axes, dims, dtype or expr.dtype
        dims.vary(bits(axes))

    @property
    def axes(self) -> Axes:
        return self.dims.axes(self._axes)

    @property
    def dtype(self) -> DType:
        """The element type; half types and 8-bit floats are computed in f32."""
        return self._dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._axes)

    @property
    def shape(self) -> Shape:
        """The size of each axis: a number that stays symbolic until a decision depends on it."""
        return shape_of(self.axes, self.dims)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the axes in this tracing, for messages and for what holds for all sizes of their kind."""
        return tuple(1 if d is None else self.dims.sizes[d] for d in self.axes)

    @property
    def size(self) -> Size | int:
        """The number of elements."""
        space = bits(self.axes)
        return size_of(space, self.dims) if space else 1

    def described(self) -> str:
        """What messages call it: the parameter of the function, or the user's line that made it."""
        names = [self.dims.name_of(self.dims.views[e.value][0]) for e in _leaves(self.expr)]  # type: ignore[call-overload]
        if len(names) == 1:
            return names[0]
        place = self.expr.where
        if place is None or not place.text or is_built_in(place):
            return "a value"
        return f"the value of {place.text.strip()!r}"


def _leaves(e: Expr) -> list[Expr]:
    """The ``input`` node of a value that only reads an array."""
    while e.op in ("bitcast", "cast", "variable"):
        (e,) = e.args
    return [e] if e.op == "input" else []
