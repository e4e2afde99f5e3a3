"""The operations of a layout's formula, which is written once for integers and for values of a kernel."""

from __future__ import annotations

from typing import Any


class Arithmetic:
    """The operations that the formula needs, on Python's integers and on NumPy's arrays of integers.

    ``passes/distribution`` has them on values of a kernel. Every ``extent`` is a power of two.
    """

    def number(self, value: int) -> Any:
        """A number that the plan knows."""
        return value

    def add(self, x: Any, y: Any) -> Any:
        """``x + y``."""
        return x + y

    def multiply(self, x: Any, y: Any) -> Any:
        """``x * y``, where the launch knows ``y``."""
        return x * y

    def scaled(self, x: Any, factor: int, plus: Any = None) -> Any:
        """``x * factor + plus``."""
        return x * factor if plus is None else x * factor + plus

    def modulo(self, x: Any, extent: int) -> Any:
        """``x`` modulo ``extent``."""
        return x % extent

    def divide(self, x: Any, extent: int) -> Any:
        """``x`` divided by ``extent``, rounded down."""
        return x // extent

    def ceil(self, x: Any, by: Any) -> Any:
        """``x`` divided by any number, rounded up."""
        return -(-x // by)

    def at_least(self, x: Any, least: int) -> Any:
        """``x``, or ``least`` if that is more."""
        return max(x, least)

    def rounded(self, x: Any, extent: int) -> Any:
        """``x`` rounded up to a multiple of ``extent``."""
        return -(-x // extent) * extent


INTEGERS = Arithmetic()
