"""Values of a traced function, real or complex: conversions between their types, and the real parts of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dtypes import DType, dtype
from .complexes import Complex, convert
from .symbols import Sym, to_real

Value = Sym | Complex


def cast(x: Any, t: object) -> Sym:
    """``x`` converted to type ``t``.

    Floats to integers truncate; beyond the range they become the nearest bound, and NaN becomes 0. Integers to narrower
    ones keep their low bits. Anything to bool tests for non-zero.
    """
    to = dtype(t)
    if to.kind == "complex" or isinstance(x, Complex):
        return convert(x, to)  # type: ignore[no-any-return]
    return to_real(x, to)


def split(value: Value) -> tuple[Sym, ...]:
    """The parts of a value."""
    return (value.real, value.imag) if isinstance(value, Complex) else (value,)


def join(types: Sequence[DType], symbols: Sequence[Sym]) -> list[Value]:
    """The values of these types that ``symbols``, all their parts in order, make."""
    rest = iter(symbols)
    return [Complex(next(rest), next(rest)) if t.kind == "complex" else next(rest) for t in types]
