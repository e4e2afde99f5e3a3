"""Element types: their names, their size in memory, and the types in which they accumulate.

Pure Python: NumPy is imported only where an actual ``numpy.dtype`` is asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .errors import DTypeError, error, near

if TYPE_CHECKING:
    import numpy

Kind = Literal["bool", "int", "uint", "float", "complex"]


@dataclass(frozen=True, eq=False)
class DType:
    """One element type.

    Attributes:
        name: warpfold's short name, ``f32``.
        numpy_name: the name NumPy (or ml_dtypes) knows it by, ``float32``.
        kind: ``bool``, ``int`` (signed), ``uint``, ``float`` or ``complex``.
        bits: the width of a value; a bool has 1.
    """

    name: str
    numpy_name: str
    kind: Kind
    bits: int

    @property
    def itemsize(self) -> int:
        """Bytes one element takes in memory."""
        return max(1, self.bits // 8)

    def nbytes(self, elements: int) -> int:
        """Bytes of so many elements side by side; of bits they are whole words."""
        return elements // 8 if self == BIT else elements * self.itemsize

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        """True for signed and unsigned integers, not for bool."""
        return self.kind in ("int", "uint")

    @property
    def part(self) -> DType:
        """The float type of a complex type's two parts."""
        return F32 if self.bits == 64 else F64

    @property
    def numpy(self) -> numpy.dtype[Any]:
        """The ``numpy.dtype`` of this type (bfloat16 and the 8-bit floats come from ml_dtypes)."""
        import numpy as np

        if self.name in _FROM_ML_DTYPES:
            import ml_dtypes

            found: numpy.dtype[Any] = np.dtype(getattr(ml_dtypes, self.numpy_name))
            return found
        return np.dtype(self.numpy_name)

    @property
    def lowest(self) -> float | int:
        """The least value: minus infinity for floats."""
        if self.is_float:
            return float("-inf")
        return -(1 << (self.bits - 1)) if self.kind == "int" else 0

    @property
    def highest(self) -> float | int:
        """The greatest value: infinity for floats."""
        if self.is_float:
            return float("inf")
        return (1 << (self.bits - (self.kind == "int"))) - 1

    def __eq__(self, other: object) -> bool:
        """Whether both are one type; other libraries' names of it are equal to it, too: ``x.dtype == np.float32``."""
        if isinstance(other, DType):
            return self is other or self.name == other.name
        try:
            return self == dtype(other)
        except DTypeError:
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name


BOOL = DType("bool", "bool", "bool", 1)
I8, I16, I32, I64 = (DType(f"i{b}", f"int{b}", "int", b) for b in (8, 16, 32, 64))
U8, U16, U32, U64 = (DType(f"u{b}", f"uint{b}", "uint", b) for b in (8, 16, 32, 64))
F16, F32, F64 = (DType(f"f{b}", f"float{b}", "float", b) for b in (16, 32, 64))
BF16 = DType("bf16", "bfloat16", "float", 16)
F8E4M3FN = DType("f8e4m3fn", "float8_e4m3fn", "float", 8)
F8E5M2 = DType("f8e5m2", "float8_e5m2", "float", 8)
C64, C128 = DType("c64", "complex64", "complex", 64), DType("c128", "complex128", "complex", 128)

BIT = DType("bit", "uint32", "bool", 1)
"""A truth value that takes one bit of memory: 32 of them are an element of an array of u32 or i32. Kernels read and
write it, and compute with BOOL."""

NUMBER = DType("number", "uint64", "uint", 64)
"""The word of a launch in which an array of rank 0 has its value, and not its address. Kernels compute with the element
that its low bits are."""

ALL = (BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64)
"""Types that kernels compute with."""
STORED = (F8E4M3FN, F8E5M2, C64, C128)
"""Types that arrays may have besides: traced as others, see ``program/storage.py``."""
BY_NAME = {t.name: t for t in (*ALL, *STORED)} | {t.numpy_name: t for t in (*ALL, *STORED)}
_KNOWN = " ".join(t.numpy_name for t in (*ALL, *STORED))  # "i8" means eight bytes to NumPy
_FROM_ML_DTYPES = ("bf16", "f8e4m3fn", "f8e5m2")


def dtype(spec: object) -> DType:
    """The ``DType`` meant by ``spec``: a ``DType``, a name (``"f32"``, ``"float32"``), NumPy's dtype or PyTorch's.

    Raises:
        DTypeError: WF105 when warpfold has no rule for the type (object, strings, dates, foreign byte order).
    """
    if isinstance(spec, DType):
        return spec
    if spec is bool:
        return BOOL
    name = spec if isinstance(spec, str) else getattr(spec, "name", None)
    if not getattr(spec, "isnative", True):
        name = str(spec)  # NumPy's name of a big-endian type is that of the native one
    if spec is None:
        name = "None"  # NumPy takes None for float64
    if name is None:
        import numpy as np

        try:
            name = np.dtype(spec).name  # type: ignore[call-overload]
        except (TypeError, ValueError):
            name = repr(spec).removeprefix("torch.")
    found = BY_NAME.get(str(name))
    if found is None:
        if getattr(spec, "kind", "") in ("S", "U", "V") and getattr(spec, "isbuiltin", 2) != 2:
            raise error("WF105", dtype=spec, known=_KNOWN)  # "<U1": NumPy's name of it is "str32"
        raise error("WF105", dtype=f"{name}{_meant(str(name))}", known=_KNOWN)
    return found


_BEYOND = {
    "f16": 65520.0 - 2.0**-9, "bf16": (2.0 - 2.0**-8 - 2.0**-24) * 2.0**127, "f32": (2.0 - 2.0**-24) * 2.0**127,
    "f64": math.inf,
}  # fmt: skip
"""The least number that rounds to the infinity of a float format: of halves by way of f32; f64 has that of Python."""


def holds(t: DType, number: Any) -> bool:
    """Whether ``t`` has ``number``: exactly if it is bool or an integer, and rounded if it is a float.

    A finite number that a float type rounds to infinity is not held; infinities and NaN are.
    """
    if t.kind == "complex":
        return all(holds(t.part, part) for part in (number.real, number.imag))
    if t.is_float:
        if isinstance(number, float) and not math.isfinite(number):
            return True
        return bool(abs(number) < _BEYOND[t.name] and abs(number) < 2**1024 - 2**970)
    if isinstance(number, float) and not number.is_integer():
        return False
    low, high = (0, 1) if t.kind == "bool" else (t.lowest, t.highest)
    return bool(low <= number <= high)


def _meant(name: str) -> str:
    """A hint for an unknown name: the type that NumPy calls so, or a similar name."""
    import numpy as np

    try:
        native = np.dtype(name).newbyteorder("=").name
    except (TypeError, ValueError, SyntaxError):
        native = ""
    if native not in BY_NAME:
        return near(name, BY_NAME)
    order = ": results have the machine's byte order" if name.startswith((">", "<", "=")) else ""
    return f" (write {native}{order})"


def promote(a: DType, b: DType) -> DType:
    """The type of an operation on ``a`` and ``b``: NumPy's ``result_type``, extended to bf16.

    A bf16 meets f16 and 16-bit integers in f32, wider integers in f64, and any wider float in that float. An 8-bit
    float counts as f32, in which it is computed.
    """
    a, b = (F32 if t.is_float and t.bits == 8 else t for t in (a, b))
    if a == b:
        return a
    if BF16 in (a, b):
        other = b if a == BF16 else a
        if other.bits <= 8:
            return BF16
        if other in (F32, F64):
            return other
        return F32 if other.bits == 16 else F64
    import numpy as np

    return dtype(np.result_type(a.numpy, b.numpy))


def accumulator(t: DType) -> DType:
    """The type in which sums and products of ``t`` are kept: half types in f32, integers as NumPy widens them."""
    if t.kind == "complex":
        return t
    if t.is_float:
        return F32 if t.bits <= 16 else t
    return U64 if t.kind == "uint" else I64


def compute(t: DType) -> DType:
    """The type in which values of ``t`` are compared and mapped: that of a whole register, in which each is exact.

    Half types go to f32 and integers of 8 and 16 bits to 32; all others, and bool, stay as they are.
    """
    if t.is_float:
        return F32 if t.bits <= 16 else t
    if t.kind in ("bool", "complex") or t.bits >= 32:
        return t
    return I32 if t.kind == "int" else U32


def floating(t: DType) -> DType:
    """The type of a mean, a variance or a norm of ``t``: its own if that has fractions, else f64 as in NumPy."""
    return t if t.is_float or t.kind == "complex" else F64
