"""Tracing: running a Python function on symbolic values to get its expression graph.

A ``Sym`` stands for one value of a tensor program (or of a combine function). Arithmetic on it records nodes; nothing
is computed. Types follow NumPy's promotion, with Python numbers weak as in NumPy 2.
"""

from __future__ import annotations

import linecache
import math
import operator
import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from ..dtypes import BF16, BOOL, F16, F32, F64, I64, STORED, DType, dtype
from ..errors import Location, WarpfoldError, error
from .graph import Expr, widest

_ROOT = Path(__file__).parents[2]
_OURS = (*(str(_ROOT / part) + os.sep for part in ("compiler", "runtime")), str(_ROOT / "__init__.py"))
_COMMANDS = str(_ROOT / "commands") + os.sep
LIBRARY = str(_ROOT / "compiler" / "program" / "library.py")
"""Where the built-in reductions are defined, as a user's are in files of theirs."""


def caller() -> Location | None:
    """The innermost line of the running stack that defines a reduction: the user's, or that of a built-in function."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_machinery(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename.startswith(_COMMANDS):  # beyond lies the command line, not the user
        return None
    file, line = frame.f_code.co_filename, frame.f_lineno
    return Location(file, line, linecache.getline(file, line))


def _is_machinery(file: str) -> bool:
    return file.startswith(_OURS) and file != LIBRARY


def promote(a: DType, b: DType) -> DType:
    """The type of an operation on ``a`` and ``b``: NumPy's ``result_type``, extended to bf16.

    A bf16 meets f16 and 16-bit integers in f32, wider integers in f64, and any wider float in that float.
    """
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


def _no_entry(index: object, done: str) -> WarpfoldError:
    found = "a slice" if isinstance(index, slice) else "..." if index is ... else repr(index)
    return error("WF238", index=found, done=done, where=caller())


def _numpys(function: Any) -> WarpfoldError:
    """The error for a function of NumPy's that was called with a symbolic value."""
    from .spelling import instead

    return error("WF217", name=function.__name__, remedy=instead(function.__name__), where=caller())


class Symbolic:
    """What no symbolic value can do, a number or a pair of them: be looked at while a function is traced."""

    __slots__ = ()

    def __bool__(self) -> bool:
        raise error("WF201", where=caller())

    def __iter__(self) -> Any:
        raise error("WF202", where=caller())

    def __getitem__(self, index: object) -> Any:
        raise _no_entry(index, "asked for")

    def __setitem__(self, index: object, _: object) -> None:
        raise _no_entry(index, "assigned to")

    def __delitem__(self, index: object) -> None:
        raise _no_entry(index, "deleted")

    def __matmul__(self, other: object) -> Any:
        raise error("WF239", where=caller())

    __rmatmul__ = __matmul__

    def __format__(self, form: str) -> str:
        if form:
            raise error("WF240", form=form, where=caller())
        return repr(self)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __len__(self) -> int:
        raise error("WF202", where=caller())

    def __float__(self) -> float:
        raise error("WF203", conversion="float", where=caller())

    def __int__(self) -> int:
        raise error("WF203", conversion="int", where=caller())

    def __round__(self, digits: int | None = None) -> Any:
        from .functions import round

        if digits:
            raise error("WF243", digits=digits, where=caller())
        return round(self)

    __index__ = __trunc__ = __floor__ = __ceil__ = __int__

    def __complex__(self) -> complex:
        raise error("WF203", conversion="complex", where=caller())


class Sym(Symbolic):
    """A symbolic scalar of a tensor program; supports Python's operators and those of ``functions.py``."""

    __slots__ = ("expr",)

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    def __hash__(self) -> int:  # beside an __eq__ it is not inherited
        raise error("WF252", where=caller())

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.expr.dtype

    def __getattr__(self, name: str) -> Any:
        """Only what is not there is asked for here: users write ``x.sum()`` or ``x.T``; Python and NumPy look, too."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise error("WF229", name=name, where=caller())

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Operators with a NumPy scalar on the left come here; NumPy's own functions are no functions of symbols."""
        operation = getattr(operator, _OPERATORS.get(ufunc.__name__, ""), None)
        if operation is None or method != "__call__" or options:
            raise _numpys(ufunc)
        return operation(*(i if isinstance(i, Sym) else sym(i) for i in inputs))

    def __array_function__(self, function: Any, *_: Any) -> Any:
        raise _numpys(function)

    def __add__(self, other: Any) -> Sym:
        return _arithmetic("add", self, other)

    def __radd__(self, other: Any) -> Sym:
        return _arithmetic("add", other, self)

    def __sub__(self, other: Any) -> Sym:
        return _arithmetic("sub", self, other)

    def __rsub__(self, other: Any) -> Sym:
        return _arithmetic("sub", other, self)

    def __mul__(self, other: Any) -> Sym:
        return _arithmetic("mul", self, other)

    def __rmul__(self, other: Any) -> Sym:
        return _arithmetic("mul", other, self)

    def __truediv__(self, other: Any) -> Sym:
        return _divide(self, other)

    def __rtruediv__(self, other: Any) -> Sym:
        return _divide(other, self)

    def __floordiv__(self, other: Any) -> Sym:
        return _floordiv(self, other)

    def __rfloordiv__(self, other: Any) -> Sym:
        return _floordiv(other, self)

    def __mod__(self, other: Any) -> Sym:
        return _modulo(self, other)

    def __rmod__(self, other: Any) -> Sym:
        return _modulo(other, self)

    def __pow__(self, other: Any) -> Sym:
        return _power(self, other)

    def __rpow__(self, other: Any) -> Sym:
        return _power(other, self)

    def __and__(self, other: Any) -> Sym:
        return _bitwise("and", self, other)

    def __rand__(self, other: Any) -> Sym:
        return _bitwise("and", other, self)

    def __or__(self, other: Any) -> Sym:
        return _bitwise("or", self, other)

    def __ror__(self, other: Any) -> Sym:
        return _bitwise("or", other, self)

    def __xor__(self, other: Any) -> Sym:
        return _bitwise("xor", self, other)

    def __rxor__(self, other: Any) -> Sym:
        return _bitwise("xor", other, self)

    def __lshift__(self, other: Any) -> Sym:
        return _bitwise("shl", self, other)

    def __rlshift__(self, other: Any) -> Sym:
        return _bitwise("shl", other, self)

    def __rshift__(self, other: Any) -> Sym:
        return _bitwise("shr", self, other)

    def __rrshift__(self, other: Any) -> Sym:
        return _bitwise("shr", other, self)

    def __lt__(self, other: Any) -> Sym:
        return _compare("lt", self, other)

    def __le__(self, other: Any) -> Sym:
        return _compare("le", self, other)

    def __gt__(self, other: Any) -> Sym:
        return _compare("gt", self, other)

    def __ge__(self, other: Any) -> Sym:
        return _compare("ge", self, other)

    def __eq__(self, other: object) -> Sym:  # type: ignore[override]
        return _compare("eq", self, other)

    def __ne__(self, other: object) -> Sym:  # type: ignore[override]
        return _compare("ne", self, other)

    def __neg__(self) -> Sym:
        if self.dtype == BOOL:
            raise error("WF206", op="-", dtype="bool", where=caller())
        return node("neg", self.dtype, self)

    def __pos__(self) -> Sym:
        return self

    def __invert__(self) -> Sym:
        if self.dtype.is_float:
            raise error("WF206", op="~", dtype=self.dtype.name, where=caller())
        ones = True if self.dtype == BOOL else -1 if self.dtype.kind == "int" else self.dtype.highest
        return self ^ ones

    def __abs__(self) -> Sym:
        return self if self.dtype.kind in ("uint", "bool") else node("abs", self.dtype, self)

    def __repr__(self) -> str:
        return f"Sym({self.expr.op}: {self.dtype.name})"


_OPERATORS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "floor_divide": "floordiv",
    "remainder": "mod", "power": "pow", "bitwise_and": "and_", "bitwise_or": "or_", "bitwise_xor": "xor",
    "left_shift": "lshift", "right_shift": "rshift", "less": "lt", "less_equal": "le", "greater": "gt",
    "greater_equal": "ge", "equal": "eq", "not_equal": "ne",
}  # fmt: skip
"""NumPy's names of Python's operators."""


def constant(value: bool | int | float, t: DType, where: Location | None = None) -> Sym:
    """``value`` as a constant of type ``t``; a mistake is shown at ``where``, or else at the user's running line.

    Raises:
        TraceError: WF204 when an integer type cannot hold it.
    """
    if t.is_float:
        return Sym(Expr("const", (), t, "scalar", _float(value)))
    if t == BOOL:
        return Sym(Expr("const", (), t, "scalar", bool(value)))
    if (isinstance(value, float) and not value.is_integer()) or not t.lowest <= value <= t.highest:
        facts = {"value": value, "dtype": t.name, "lowest": t.lowest, "highest": t.highest}
        raise error("WF204", where=where or caller(), **facts)
    return Sym(Expr("const", (), t, "scalar", int(value)))


def _float(value: bool | int | float) -> float:
    """``value`` as a float; whole numbers beyond the range of floats are infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def foreign(*values: Any) -> bool:
    """Whether an operand is symbolic but no ``Sym`` (a complex number), whose own operators must be used."""
    return any(getattr(type(v), "symbolic", False) for v in values)


def sym(value: Any, like: DType | None = None) -> Sym:
    """``value`` as a Sym: itself, or a Python number as a constant in the weak type that ``like`` gives it."""
    if isinstance(value, Sym):
        return value
    if foreign(value):
        raise error("WF206", op="of this kind", dtype=value.dtype.name, where=caller())
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0 and hasattr(value, "item"):
        value, like = value.item(), dtype(value.dtype)
    if not isinstance(value, bool | int | float):
        raise error("WF205", kind=type(value).__name__, where=caller())
    if like is None:
        like = BOOL if isinstance(value, bool) else I64 if isinstance(value, int) else F64
    if isinstance(value, float) and not like.is_float:
        like = F64
    if like == BOOL and not isinstance(value, bool):
        like = I64
    return constant(value, like)


def node(op: str, t: DType, *args: Sym, value: object = None) -> Sym:
    exprs = tuple(a.expr for a in args)
    return Sym(Expr(op, exprs, t, widest(e.space for e in exprs), value, caller()))


def pair(a: Any, b: Any) -> tuple[Sym, Sym]:
    """Both operands in their common type."""
    x = sym(a, b.dtype if isinstance(b, Sym) else None)
    y = sym(b, x.dtype)
    t = promote(x.dtype, y.dtype)
    return cast(x, t), cast(y, t)


def _arithmetic(op: str, a: Any, b: Any) -> Sym:
    if foreign(a, b):
        return NotImplemented  # type: ignore[no-any-return]
    x, y = pair(a, b)
    if x.dtype == BOOL:
        if op == "sub":
            raise error("WF206", op="-", dtype="bool", where=caller())
        op = {"add": "or", "mul": "and"}[op]
    return node(op, x.dtype, x, y)


def _divide(a: Any, b: Any) -> Sym:
    if foreign(a, b):
        return NotImplemented  # type: ignore[no-any-return]
    x, y = pair(a, b)
    if not x.dtype.is_float:
        x, y = cast(x, F64), cast(y, F64)
    return node("div", x.dtype, x, y)


def _floordiv(a: Any, b: Any) -> Sym:
    x, y = pair(a, b)
    if x.dtype == BOOL:
        raise error("WF206", op="//", dtype="bool", where=caller())
    return node("floordiv", x.dtype, x, y)


def _modulo(a: Any, b: Any) -> Sym:
    x, y = pair(a, b)
    if x.dtype == BOOL:
        raise error("WF206", op="%", dtype="bool", where=caller())
    return node("mod", x.dtype, x, y)


def _power(a: Any, b: Any) -> Sym:
    """``a ** b``: small whole exponents, and constant ones of integers, by multiplication."""
    if isinstance(a, Sym) and a.dtype.is_integer and isinstance(b, int) and b < 0:
        raise error("WF214", exponent=b, dtype=a.dtype.name, where=caller())
    x, y = pair(a, b)
    if x.dtype == BOOL:
        raise error("WF206", op="**", dtype="bool", where=caller())
    n: Any = y.expr.value if y.expr.op == "const" else None
    if x.dtype.is_integer and n is not None:
        if n < 0:
            raise error("WF214", exponent=n, dtype=x.dtype.name, where=caller())
        return _repeated(x, n)
    if n in (0, 1, 2, 3, 4):  # at most two roundings
        return _repeated(x, int(n))
    return node("pow" if x.dtype.is_float else "ipow", x.dtype, x, y)


def _repeated(x: Sym, n: int) -> Sym:
    """The product of ``n`` factors ``x``, by squaring."""
    if n == 0:
        return constant(1, x.dtype)
    if n == 1:
        return x
    half = _repeated(x, n // 2)
    square = node("mul", x.dtype, half, half)
    return node("mul", x.dtype, square, x) if n % 2 else square


def _bitwise(op: str, a: Any, b: Any) -> Sym:
    x, y = pair(a, b)
    if x.dtype.is_float or (x.dtype == BOOL and op in ("shl", "shr")):
        sign = {"and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}[op]
        raise error("WF206", op=sign, dtype=x.dtype.name, where=caller())
    return node(op, x.dtype, x, y)


_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
"""What ``b`` is to ``a`` where ``a`` is this to ``b``."""


def _compare(op: str, a: Sym, b: Any) -> Sym:
    """The comparison of two values: exact where both are integers, and else in their common type."""
    if foreign(b):
        return NotImplemented  # type: ignore[no-any-return]
    if _beyond(b, a.dtype):
        return constant(op in (("lt", "le", "ne") if b > 0 else ("gt", "ge", "ne")), BOOL)
    x, y = a, sym(b, a.dtype)
    if {x.dtype.kind, y.dtype.kind} == {"int", "uint"} and promote(x.dtype, y.dtype).is_float:
        return _compare_signs(op, x, y) if x.dtype.kind == "uint" else _compare_signs(_MIRRORED[op], y, x)
    x, y = pair(x, y)
    return node(op, BOOL, x, y)


def _beyond(value: Any, t: DType) -> bool:
    """Whether ``value`` is a Python integer that no element of the integer type ``t`` is equal to."""
    low, high = (I64.lowest, I64.highest) if t == BOOL else (t.lowest, t.highest)
    return type(value) is int and not t.is_float and not low <= value <= high


def _compare_signs(op: str, x: Sym, y: Sym) -> Sym:
    """The comparison of u64 with signed integers: no integer type holds both, and below 0 there is no unsigned one."""
    same = node(op, BOOL, x, cast(y, x.dtype))
    negative = node("lt", BOOL, y, constant(0, y.dtype))
    return negative | same if op in ("gt", "ge", "ne") else ~negative & same


_ROUNDED = (F16, BF16, F32)
"""Types whose constants hold a Python float that emission rounds: widening one must not bring back what it loses."""


def cast(x: Any, t: object) -> Sym:
    """``x`` converted to type ``t``.

    Floats to integers truncate; beyond the range they become the nearest bound, and NaN becomes 0. Integers to narrower
    ones keep their low bits. Anything to bool tests for non-zero.
    """
    to = dtype(t)
    if to.kind == "complex" or foreign(x):
        from .complexes import convert

        return convert(x, to)  # type: ignore[no-any-return]
    if to in STORED:
        raise error("WF206", op="cast", dtype=to.name, where=caller())
    value = sym(x)
    if value.dtype == to:
        return value
    if value.expr.op == "const" and to.is_float and value.dtype not in _ROUNDED:
        return constant(value.expr.value, to)  # type: ignore[arg-type]
    if to == BOOL:
        return value != 0
    return node("cast", to, value)
