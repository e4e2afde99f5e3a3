"""Complex values of a traced function: a pair of floats, which is how kernels hold them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..dtypes import BOOL, C64, C128, F32, DType, dtype
from ..errors import error
from .frames import caller
from .refusals import Symbolic
from .symbols import Sym, node, select, sym, to_real


def _refusing(operator: str) -> Callable[..., Any]:
    """The method for an operator that complex numbers do not have: it raises WF206."""

    def refuse(x: Complex, *_: object) -> Any:
        raise error("WF206", op=operator, dtype=x.dtype.name, where=caller())

    return refuse


class Complex(Symbolic):
    """A symbolic complex number; supports ``+ - * /``, ``==``, ``!=``, ``abs`` and ``conjugate``, but has no order."""

    __slots__ = ("imag", "real")
    __array_ufunc__ = None

    def __init__(self, real: Sym, imag: Sym) -> None:
        self.real, self.imag = real, imag

    def __hash__(self) -> int:
        raise error("WF252", where=caller())

    @property
    def dtype(self) -> DType:
        """``c64`` or ``c128``."""
        return C64 if self.real.dtype == F32 else C128

    def __add__(self, other: Any) -> Complex:
        a, b = _pair(self, other)
        return Complex(a.real + b.real, a.imag + b.imag)

    __radd__ = __add__

    def __pos__(self) -> Complex:
        return self

    def __neg__(self) -> Complex:
        return Complex(-self.real, -self.imag)

    def __sub__(self, other: Any) -> Complex:
        a, b = _pair(self, other)
        return Complex(a.real - b.real, a.imag - b.imag)

    def __rsub__(self, other: Any) -> Complex:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> Complex:
        a, b = _pair(self, other)
        return Complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Complex:
        if not isinstance(_plain(other)[0], Complex | complex):
            return Complex(self.real / other, self.imag / other)
        return _quotient(*_pair(self, other))

    def __rtruediv__(self, other: Any) -> Complex:
        b, a = _pair(self, other)
        return _quotient(a, b)

    def __eq__(self, other: object) -> Sym:  # type: ignore[override]
        a, b = _pair(self, other)
        return (a.real == b.real) & (a.imag == b.imag)

    def __ne__(self, other: object) -> Sym:  # type: ignore[override]
        a, b = _pair(self, other)
        return (a.real != b.real) | (a.imag != b.imag)

    def __abs__(self) -> Sym:
        """The modulus, scaled so that no square overflows."""
        a, b = abs(self.real), abs(self.imag)
        high, low = node("max", a.dtype, a, b), node("min", a.dtype, a, b)
        ratio = select(high == 0, 0.0, low / high)
        size = high * node("sqrt", a.dtype, ratio * ratio + 1.0)
        return select((a == math.inf) | (b == math.inf), math.inf, size)

    def conjugate(self) -> Complex:
        """The number mirrored at the real axis."""
        return Complex(self.real, -self.imag)

    __lt__ = __le__ = __gt__ = __ge__ = _refusing("<, <=, > or >=")
    __floordiv__ = __rfloordiv__ = _refusing("//")
    __mod__ = __rmod__ = _refusing("%")
    __pow__ = __rpow__ = _refusing("**")
    __and__ = __rand__ = _refusing("&")
    __or__ = __ror__ = _refusing("|")
    __xor__ = __rxor__ = _refusing("^")
    __lshift__ = __rlshift__ = _refusing("<<")
    __rshift__ = __rrshift__ = _refusing(">>")
    __invert__ = _refusing("~")
    __round__ = _refusing("round")

    def __repr__(self) -> str:
        return f"Complex({self.real!r}, {self.imag!r})"


def convert(x: Any, t: DType) -> Any:
    """``x`` as type ``t``, where one of them is complex: bool tests for non-zero, and no cast gives a real type."""
    if t.kind == "complex":
        return x if isinstance(x, Complex) and x.dtype == t else to_complex(x, t)
    if t == BOOL:
        return x != 0
    raise error("WF230", to=t.name, dtype=x.dtype.name, where=caller())


def choose(condition: Sym, a: Any, b: Any) -> Complex:
    """``where`` on complex values."""
    x, y = _pair(*((a, b) if isinstance(a, Complex) else (b, a)))
    x, y = (x, y) if isinstance(a, Complex) else (y, x)
    return Complex(select(condition, x.real, y.real), select(condition, x.imag, y.imag))


def to_complex(x: Any, t: DType) -> Complex:
    """``x``, a number or a symbolic value, as complex type ``t``."""
    part = t.part
    x, _ = _plain(x)
    if isinstance(x, Complex | complex):
        return Complex(to_real(x.real, part), to_real(x.imag, part))
    return Complex(to_real(x, part), to_real(0.0, part))


def _pair(a: Complex, b: Any) -> tuple[Complex, Complex]:
    """Both operands as complex numbers of their common type; Python numbers take the other's."""
    b, wide = _plain(b)
    t = C128 if C128 in (a.dtype, wide) or (wide is not None and not _fits(wide)) else C64
    return to_complex(a, t), to_complex(b, t)


def _plain(x: Any) -> tuple[Any, DType | None]:
    """``x`` with a NumPy number as a Python number, and its type: None for a Python number, which takes any."""
    if isinstance(x, Complex | Sym):
        return x, x.dtype
    if type(x).__module__ == "numpy" and getattr(x, "ndim", 1) == 0 and hasattr(x, "item"):
        return x.item(), dtype(x.dtype)
    return (x, None) if isinstance(x, complex | float | int) else (sym(x), None)  # which refuses all else


def _fits(t: DType) -> bool:
    """Whether NumPy computes ``t`` with c64 in c64."""
    return t == C64 or (t.bits <= 32 if t.is_float else t.bits <= 16)


def _quotient(a: Complex, b: Complex) -> Complex:
    """a / b by R. Smith's algorithm (1962): divides by the larger part first, so that no square overflows."""
    swap = abs(b.real) < abs(b.imag)
    high, low = select(swap, b.imag, b.real), select(swap, b.real, b.imag)
    ratio = low / high
    scale = high + low * ratio
    first, second = select(swap, a.imag, a.real), select(swap, a.real, a.imag)
    real, imag = first + second * ratio, second - first * ratio
    return Complex(real / scale, select(swap, -imag, imag) / scale)
