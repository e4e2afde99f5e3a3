"""Running error analysis: a bound on a device's error, computed beside each value.

A rounding adds at most ``u |v|`` (``u`` is the unit roundoff of the type of ``v``), and an operation propagates the
errors of its operands: J. H. Wilkinson, "Error analysis revisited", IMA Bulletin 22
(1986); N. J. Higham, "Accuracy and Stability of Numerical Algorithms", section 3.3. So the bound follows
the condition of each operation, for any program, and is zero where nothing rounds.

Errors add up in one of two ways. For given data the bound is the worst case, in which all roundings have one direction:
errors are summed. For random data roundings are independent: squares are summed, as in N. J. Higham and T. Mary, "A new
approach to probabilistic rounding error analysis", SIAM J. Sci. Comput. 41 (2019): ``LIKELY`` times
the root exceeds five standard deviations of errors that are uniform between two neighbours.

An error is None where the device computes the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from ...compiler.dtypes import DType
from ...compiler.program.function_table import TABLE
from ...compiler.program.graph import Expr
from ...compiler.program.numeric import Array, apply

Error = Array | None

LIKELY = 3.0
"""Allowed multiple of the root of the sum of squares of random roundings."""
DRIFT = 1 / 12
"""Bias of the roundings of a long chain: about twice that of chains of 2^14 to 2^22 numbers of one sign."""
FUNCTION = 6.0
"""Error of a function that no instruction computes, in units of roundoff: a device is within 2 ulp; the value computed
here is within 1, or within 4 for f64, for which NumPy has no wider type."""
_TWICE = {False: 2.0, True: 2.0**0.5}
"""Factor for f64, in which NumPy's value is rounded as the device's is."""
_SQUARES = (2.0**-480, 2.0**480)
"""Range of errors whose squares neither overflow nor underflow; other errors are summed."""
APPROXIMATE = 2.0**-20
"""Relative error of an approximate instruction that the user asked for."""
BITS = {"f8e4m3fn": 4, "f8e5m2": 3, "f16": 11, "bf16": 8, "f32": 24, "f64": 53}
TINY = {
    "f8e4m3fn": 2.0**-6,
    "f8e5m2": 2.0**-14,
    "f16": 2.0**-14,
    "bf16": 2.0**-126,
    "f32": 2.0**-126,
    "f64": 2.0**-1022,
}
HUGE = {
    "f8e4m3fn": 448.0,
    "f8e5m2": 57344.0,
    "f16": 65504.0,
    "bf16": 3.3895e38,
    "f32": 3.4028235e38,
    "f64": 1.7976931348623157e308,
}

ROUNDED = ("add", "sub", "mul", "div", "fma", "mod", "floordiv", *(row.name for row in TABLE if not row.ulps))
"""Operations on floats that round correctly."""
FUNCTIONS = tuple(row.name for row in TABLE if row.ulps)
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def unit(t: DType) -> float:
    """The unit roundoff of a float type: the greatest relative error of one rounding."""
    return 2.0 ** -BITS[t.name]


def tiny(t: DType) -> float:
    """The least normal value of a float type."""
    return TINY[t.name]


@dataclass(frozen=True)
class Known:
    """A value, and a bound on its distance from a device's value.

    Attributes:
        value, error: the elements, and their bounds.
        unsure: of words of truth values the bits that a device may have otherwise, since rounding decides them.
    """

    value: Array
    error: Error = None
    unsure: Array | None = None

    def __getitem__(self, key: Any) -> Known:
        return Known(self.value[key], None if self.error is None else self.error[key])


@dataclass(frozen=True)
class Analysis:
    """How errors add up.

    Attributes:
        random: whether roundings are independent, as for random data.
        scale: factor of each rounding.
    """

    random: bool = False
    scale: float = 1.0

    def fewer(self) -> Analysis:
        """The worst case, which the few operations after a fold use."""
        return Analysis()

    def weighted(self, levels: int, least: int, t: DType) -> float:
        """The factor by which errors in ``t`` grow in a tree of ``levels``, if the evaluated tree has ``least`` levels.

        Roundings of random data are independent while each addend is large beside an ulp of the sum. In a long chain
        it is not, and roundings are biased: by ``DRIFT`` at most, for densities no steeper at zero than that of a
        squared normal number, whose mass within one ulp grows with the square root of the ulp.
        """
        ratio = max(1.0, levels / max(1, least))
        if not self.random:
            return ratio
        return sqrt(ratio) * (1.0 + DRIFT * levels * sqrt(unit(t)) if t.is_float else 1.0)

    def join(self, *errors: Error) -> Error:
        """The error of a sum of values with these errors."""
        found = [e for e in errors if e is not None]
        if not found:
            return None
        if not self.random or len(found) == 1:
            return np.asarray(sum(found[1:], found[0]))
        total: Array = np.sqrt(sum((e * e for e in found[1:]), found[0] * found[0]))
        inside = (total > _SQUARES[0]) & (total < _SQUARES[1])
        return total if inside.all() else np.where(inside, total, sum(found[1:], found[0]))

    def rounding(self, size: Array, t: DType, units: float = 1.0) -> Array:
        """The error of ``units`` roundings of a value of magnitude ``size``."""
        factor = self.scale * units * (_TWICE[self.random] if t.bits == 64 else 1.0)
        return (factor * unit(t)) * (size + tiny(t))  # subnormal numbers round as the least normal one does

    def result(self, e: Expr, args: Sequence[Known], value: Array, *, same_code: bool = False) -> Known:
        """The value of ``e`` with its error.

        Args:
            e: an elementwise operation.
            args: its operands.
            value: its value.
            same_code: whether NumPy computes in the operation's own type, so that equal operands give equal bits.
        """
        passed = _passed(e, args, value, self)
        own = (
            None
            if same_code and passed is None and e.op not in FUNCTIONS and e.value != "fast"
            else self.own(e, args, value)
        )
        return Known(value, settled(self.join(passed, own), args, value))

    def own(self, e: Expr, args: Sequence[Known], value: Array) -> Error:
        """The error that the operation's own rounding adds."""
        if not e.dtype.is_float or not rounds(e):
            return None
        if e.op == "cast" and e.args[0].dtype.is_integer:
            whole = np.abs(np.asarray(args[0].value, np.float64))
            size = np.where(whole <= 2.0 ** BITS[e.dtype.name], 0.0, np.abs(value))
            return np.asarray(self.rounding(size, e.dtype) * (size != 0))
        units = FUNCTION if e.op in FUNCTIONS else 1.0
        own = self.rounding(np.abs(value), e.dtype, units)
        return own + APPROXIMATE * np.abs(value) if e.value == "fast" else own


def rounds(e: Expr) -> bool:
    """Whether an operation is arithmetic that rounds a float."""
    if not e.dtype.is_float:
        return False
    if e.op == "cast":
        source = e.args[0].dtype
        digits = source.bits - (source.kind == "int") if not source.is_float else BITS[source.name]
        return digits > BITS[e.dtype.name] and source.kind != "bool"
    return e.op in (*ROUNDED, *FUNCTIONS) and not _adds_nothing(e)


def _adds_nothing(e: Expr) -> bool:
    """Whether ``e`` is x + 0, x - 0, 0 - x or x - x, which rounds nothing; ranks and tests for infinity use it."""
    return e.op in ("add", "sub") and (_is_difference(e) or any(a.op == "const" and a.value == 0 for a in e.args))


def _is_difference(e: Expr) -> bool:
    """Whether ``e`` is x - x, which is 0 or NaN whatever error x has."""
    return e.op == "sub" and e.args[0] == e.args[1]


def settled(error: Error, args: Sequence[Known], value: Array) -> Error:
    """Errors without NaN, and zero for an infinity or NaN that exact operands gave: a device computes it, too."""
    if error is None:
        return None
    if np.isfinite(error).all() and (value.dtype.kind != "f" or np.isfinite(value).all()):
        return error
    lost = [np.isinf(a.error) for a in args if a.error is not None]
    unknown = np.logical_or.reduce(np.broadcast_arrays(*lost)) if lost else False
    if value.dtype.kind == "f":
        error = np.where(np.isfinite(value), error, np.where(unknown, np.inf, 0.0))
    return np.where(np.isnan(error), np.inf, error)


def _passed(e: Expr, args: Sequence[Known], value: Array, how: Analysis) -> Error:
    """The error of the result that the errors of the operands cause."""
    if all(a.error is None for a in args) or _is_difference(e):
        return None
    if e.op in ("add", "sub"):
        return how.join(*(a.error for a in args))
    if e.op in ("mul", "fma"):
        a, b = args[0], args[1]
        rest = args[2].error if e.op == "fma" else None
        return how.join(_times(a.error, b.value), _times(b.error, a.value), _times(a.error, b.error), rest)
    if e.op in ("neg", "abs"):
        return args[0].error
    if e.op in ("min", "max"):
        return _greatest(args[0].error, args[1].error)
    if e.op == "where":
        return _chosen(*args)
    if e.op in _COMPARISONS:
        return _compared(*args)
    if e.op == "cast" and e.dtype.is_float:
        return args[0].error
    if e.dtype.kind == "bool" and e.op in ("and", "or", "xor"):
        return _greatest(args[0].error, args[1].error)
    return _moved(e, args, value, how)


def _times(error: Error, factor: Error) -> Error:
    return None if error is None or factor is None else error * np.abs(np.asarray(factor, error.dtype))


def _greatest(a: Error, b: Error) -> Error:
    return b if a is None else a if b is None else np.maximum(a, b)


def _chosen(condition: Known, x: Known, y: Known) -> Error:
    """The error of ``where``: that of the chosen value; under an uncertain condition also the distance of the two."""
    zero = np.zeros(())
    own, other = (zero if k.error is None else k.error for k in (x, y))
    error = np.where(condition.value, own, other)
    if condition.error is None:
        return None if x.error is None and y.error is None else error
    apart = np.abs(np.asarray(x.value, np.float64) - np.asarray(y.value, np.float64))
    either = np.where(np.isnan(apart), np.inf, apart) + np.maximum(own, other)
    return np.where(condition.error > 0, np.where(x.value == y.value, np.maximum(own, other), either), error)


def _compared(a: Known, b: Known) -> Error:
    """1 where the errors of the operands leave a comparison uncertain, else 0."""
    reach = sum((k.error for k in (a, b) if k.error is not None), np.zeros(()))
    apart = np.abs(np.asarray(a.value, reach.dtype) - np.asarray(b.value, reach.dtype))
    return np.asarray((reach > 0) & (apart <= reach), np.float64)


def _moved(e: Expr, args: Sequence[Known], value: Array, how: Analysis) -> Error:
    """The error of any other operation: how far the result moves when an operand moves by its error."""
    if any(a.error is not None and a.value.dtype.kind != "f" for a in args):
        unsure = [np.where(a.error > 0, np.inf, 0.0) for a in args if a.error is not None]
        return how.join(*unsure)
    found: list[Error] = []
    plain = [np.asarray(a.value) for a in args]
    for i, a in enumerate(args):
        if a.error is None:
            continue
        far = [apply(e, [*plain[:i], plain[i] + s * a.error, *plain[i + 1 :]], value.dtype) for s in (1, -1)]
        apart = [np.abs(np.asarray(f, a.error.dtype) - np.asarray(value, a.error.dtype)) for f in far]
        found.append(np.where(a.error > 0, np.fmax(*apart), 0.0))
    return how.join(*found)


def overflowing(t: DType, size: Array) -> Array:
    """Where a magnitude exceeds the range of a float type."""
    return size > HUGE[t.name] if t.is_float else np.zeros(np.shape(size), bool)


def scaled(known: Known, factor: float) -> Known:
    """The value with ``factor`` times its error."""
    return known if known.error is None else replace(known, error=known.error * factor)
