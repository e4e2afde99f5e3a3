"""Symbolic sizes: ``x.shape[0]`` is a number that a program computes with, until a decision depends on it.

In arithmetic with arrays a size stays a run-time value. When Python needs the number, as in ``if``, ``range`` or
``math.sqrt``, the program is specialised to it, and ``ArrayProgram.sizes`` says so.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from math import prod
from typing import Any, Union

from ...dtypes import BOOL, F64, I64, DType
from ...errors import error
from ..frames import caller
from ..graph import SCALAR, Expr, Space
from ..symbols import Sym, SymNumber, to_real
from .dims import Axes, Dims, bits, dims_of
from .types import computed

Shape = tuple[Union["Size", int], ...]


def _operator(name: str, *, swapped: bool = False) -> Callable[[Size, object], Any]:
    """The method for an operator with another number, whose result stays symbolic."""
    compute = getattr(operator, name)

    def method(a: Size, b: object) -> Any:
        if not isinstance(b, Size | bool | int | float):
            return NotImplemented
        return _computed(compute, b, a, a.dims) if swapped else _computed(compute, a, b, a.dims)

    return method


def _comparison(name: str) -> Callable[[Size, object], Any]:
    """The method for a comparison with another number, which looks at the sizes behind both."""
    compare = getattr(operator, name)

    def method(a: Size, b: object) -> Any:
        if a.same(b):
            return compare(a.value, a.value)
        other = b.known() if isinstance(b, Size) else b
        return compare(a.known(), other) if isinstance(other, bool | int | float) else NotImplemented

    return method


class Size(SymNumber):
    """A size, or a number that was computed from sizes and Python numbers.

    Attributes:
        expr: its node, of type i64 or f64.
        value: the number in this tracing.
        of: the dims whose sizes it depends on.
        dims: the dims of its tracing.
    """

    __slots__ = ("dims", "expr", "of", "value")

    def __init__(self, expr: Expr, value: Any, of: Space, dims: Dims) -> None:
        self.expr, self.value, self.of, self.dims = expr, value, of, dims

    def symbolic(self, like: DType | None) -> Sym:
        """This number as a value, in the type that a Python number beside ``like`` takes."""
        own = self.expr.dtype
        t = own if like is None or like == BOOL or (own.is_float and not like.is_float) else computed(like)
        if self.expr.op == "count":
            return Sym(Expr("count", (), t, SCALAR, self.expr.value))
        return to_real(Sym(self.expr), t)

    def known(self) -> Any:
        """The number; from now on the program serves the sizes behind it alone."""
        self.dims.looked_at.update(dims_of(self.of))
        return self.value

    def same(self, other: object) -> bool:
        """Whether both are the same number for arrays of any sizes."""
        return isinstance(other, Size) and (
            self.expr == other.expr
            or (self.expr.op == other.expr.op == "count" and self.dims.space(self.of) == self.dims.space(other.of))
        )

    __add__, __radd__ = _operator("add"), _operator("add", swapped=True)
    __sub__, __rsub__ = _operator("sub"), _operator("sub", swapped=True)
    __mul__, __rmul__ = _operator("mul"), _operator("mul", swapped=True)
    __truediv__, __rtruediv__ = _operator("truediv"), _operator("truediv", swapped=True)
    __floordiv__, __rfloordiv__ = _operator("floordiv"), _operator("floordiv", swapped=True)
    __mod__, __rmod__ = _operator("mod"), _operator("mod", swapped=True)
    __pow__, __rpow__ = _operator("pow"), _operator("pow", swapped=True)
    __lt__, __le__, __gt__, __ge__ = map(_comparison, ("lt", "le", "gt", "ge"))
    __eq__, __ne__ = _comparison("eq"), _comparison("ne")

    def __neg__(self) -> Any:
        return 0 - self

    def __pos__(self) -> Size:
        return self

    def __index__(self) -> int:
        return operator.index(self.known())

    def __int__(self) -> int:
        return int(self.known())

    def __float__(self) -> float:
        return float(self.known())

    def __bool__(self) -> bool:
        return bool(self.known())

    def __hash__(self) -> int:
        return hash(self.known())

    def __round__(self, digits: int | None = None) -> Any:
        return builtins.round(self.known(), digits)

    def __repr__(self) -> str:
        return repr(self.value)


def whole(n: Any) -> int:
    """A size that the user gave, as a number; from now on the program serves it alone.

    Raises:
        TraceError: WF283 for what is no whole number.
    """
    if type(n) is bool or isinstance(n, Sym) or not hasattr(n, "__index__"):
        known = isinstance(n, float) and n.is_integer()
        remedy = (
            f"write {int(n)}" if known else "write whole numbers, as in x.reshape(2, -1); n // 2 is whole, n / 2 is not"
        )
        raise error(
            "WF283", found=f"a {type(n).__name__}" if isinstance(n, Sym) else repr(n), remedy=remedy, where=caller()
        )
    return operator.index(n)


def shape_of(axes: Axes, dims: Dims) -> Shape:
    """The sizes of axes: numbers for those of size 1, symbolic for all others."""
    return tuple(1 if d is None else size_of(1 << d, dims) for d in axes)


def size_of(space: Space, dims: Dims) -> Size:
    """The product of the sizes of some dims."""
    value = prod(dims.sizes[d] for d in dims_of(space))
    return Size(Expr("count", (), I64, SCALAR, space), value, space, dims)


def _computed(compute: Callable[[Any, Any], Any], a: Any, b: Any, dims: Dims) -> Any:
    """An operator on two numbers, at least one of them a size; a product of sizes counts the dims of both."""
    value = compute(*(x.value if isinstance(x, Size) else x for x in (a, b)))
    if not isinstance(value, int | float):  # a complex power
        return compute(*(x.known() if isinstance(x, Size) else x for x in (a, b)))
    spaces = [dims.space(x.of) if isinstance(x, Size) else 0 for x in (a, b)]
    counts = all(isinstance(x, Size) and x.expr.op == "count" for x in (a, b))
    if compute is operator.mul and counts and not spaces[0] & spaces[1]:
        return size_of(spaces[0] | spaces[1], dims)
    t = F64 if isinstance(value, float) else I64
    operands = [x.symbolic(t) if isinstance(x, Size) else x for x in (a, b)]
    return Size(to_real(compute(*operands), t).expr, value, bits(d for s in spaces for d in dims_of(s)), dims)
