"""Symbolic numbers: running a Python function on them gives its expression graph.

A ``Sym`` stands for one value of a tensor program (or of a combine function). Arithmetic on it records nodes; nothing
is computed. Types follow NumPy's promotion, with Python numbers weak as in NumPy 2.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from typing import Any

from ..dtypes import BF16, BOOL, F16, F32, F64, I64, STORED, DType, promote
from ..errors import Location, WarpfoldError, error
from . import constants
from .frames import caller
from .graph import Expr, union
from .refusals import Symbolic
from .spelling import instead


def _foreign(library: str, function: Any, kind: type) -> WarpfoldError:
    """The error for a function of NumPy's or PyTorch's that was called with a symbolic value of this kind."""
    name = str(getattr(function, "__name__", function))
    return error("WF217", library=library, name=name, remedy=instead(name, arrays=kind is not Sym), where=caller())


class SymNumber(ABC):
    """A Python number that is symbolic, such as the size of an array; like a Python number it is weak."""

    __slots__ = ()

    @abstractmethod
    def symbolic(self, like: DType | None) -> Sym:
        """This number as a value, in the type that a Python number beside ``like`` takes."""


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

    def operand(self) -> Sym:
        """This value as operations take it."""
        return self

    def alike(self, expr: Expr) -> Sym:
        """A value of the shape of this one with another expression."""
        return Sym(expr)

    def made(self, op: str, t: DType, args: tuple[Sym, ...], value: object) -> Sym:
        """The elementwise node ``op`` of type ``t``, one of whose arguments this value is."""
        exprs = tuple(a.expr for a in args)
        return Sym(Expr(op, exprs, t, union(e.space for e in exprs), value, caller()))

    def converted(self, t: DType) -> Sym:
        """This value as real type ``t``, as ``values.cast`` describes."""
        if t in STORED:
            raise error("WF206", op="cast", dtype=t.name, where=caller())
        if self.dtype == t:
            return self
        if self.expr.op == "const" and t.is_float and self.dtype not in _ROUNDED:
            return constant(self.expr.value, t)  # type: ignore[arg-type]
        return self != 0 if t == BOOL else node("cast", t, self)

    def rounded(self) -> Sym:
        """This value with the precision of its type, which it has."""
        return self

    def __getattr__(self, name: str) -> Any:
        """Only what is not there is asked for here: users write ``x.sum()`` or ``x.T``; Python and NumPy look, too."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise error("WF229", name=name, where=caller())

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Operators with a NumPy scalar on the left come here; NumPy's own functions are no functions of symbols."""
        operation = getattr(operator, _OPERATORS.get(ufunc.__name__, ""), None)
        if operation is None or method != "__call__" or options:
            raise _foreign("numpy", ufunc, type(self))
        return operation(*(i if isinstance(i, Sym) else sym(i) for i in inputs))

    def __array_function__(self, function: Any, *_: Any) -> Any:
        raise _foreign("numpy", function, type(self))

    @classmethod
    def __torch_function__(cls, function: Any, *_: Any, **__: Any) -> Any:
        raise _foreign("torch", function, cls)

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

    def __round__(self, digits: int | None = None) -> Sym:
        if digits:
            raise error("WF243", digits=digits, where=caller())
        return node("round", self.dtype, self) if self.dtype.is_float else self

    def __repr__(self) -> str:
        return f"Sym({self.expr.op}: {self.dtype.name})"


_OPERATORS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "floor_divide": "floordiv",
    "remainder": "mod", "power": "pow", "bitwise_and": "and_", "bitwise_or": "or_", "bitwise_xor": "xor",
    "left_shift": "lshift", "right_shift": "rshift", "less": "lt", "less_equal": "le", "greater": "gt",
    "greater_equal": "ge", "equal": "eq", "not_equal": "ne",
}  # fmt: skip
"""NumPy's names of Python's operators."""


def is_array(x: object) -> bool:
    """Whether ``x`` is a symbolic array."""
    return isinstance(x, Sym) and type(x) is not Sym


def constant(value: bool | int | float, t: DType, where: Location | None = None) -> Sym:
    """``value`` as a constant of type ``t``, see ``constants.constant``."""
    return Sym(constants.constant(value, t, where))


def _is_complex(*values: Any) -> bool:
    """Whether an operand is complex, so that its own operators must be used."""
    return any(isinstance(v, Symbolic) and not isinstance(v, Sym) for v in values)


def sym(value: Any, like: DType | None = None) -> Sym:
    """``value`` as a Sym: itself, or a Python number as a constant in the weak type that ``like`` gives it."""
    if isinstance(value, Sym):
        return value.operand()
    if isinstance(value, SymNumber):
        return value.symbolic(like)
    if _is_complex(value):
        raise error("WF206", op="for real numbers", dtype=value.dtype.name, where=caller())
    return Sym(constants.weak(value, like))


def node(op: str, t: DType, *args: Sym, value: object = None) -> Sym:
    """An elementwise node; where an argument is an array, an array."""
    kind = next((a for a in args if type(a) is not Sym), args[0])
    return kind.made(op, t, args, value)


def pair(a: Any, b: Any) -> tuple[Sym, Sym]:
    """Both operands in their common type."""
    x = sym(a, b.dtype if isinstance(b, Sym) else None)
    y = sym(b, x.dtype)
    t = promote(x.dtype, y.dtype)
    return to_real(x, t), to_real(y, t)


def _arithmetic(op: str, a: Any, b: Any) -> Sym:
    if _is_complex(a, b):
        return NotImplemented  # type: ignore[no-any-return]
    x, y = pair(a, b)
    if x.dtype == BOOL:
        if op == "sub":
            raise error("WF206", op="-", dtype="bool", where=caller())
        op = {"add": "or", "mul": "and"}[op]
    return node(op, x.dtype, x, y)


def _divide(a: Any, b: Any) -> Sym:
    if _is_complex(a, b):
        return NotImplemented  # type: ignore[no-any-return]
    x, y = pair(a, b)
    if not x.dtype.is_float:
        x, y = to_real(x, F64), to_real(y, F64)
    return node("div", x.dtype, x, y)


def divide_counts(part: Any, whole: Any) -> Sym:
    """``part / whole`` of counts, ``whole`` from 1 to 2^64: the same number as by ``/``, without a branch."""
    x, y = pair(part, whole)
    return node("div", x.dtype, x, y, value="counts")


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
        return x.alike(constant(1, x.dtype).expr)
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
    if _is_complex(b):
        return NotImplemented  # type: ignore[no-any-return]
    if _beyond(b, a.dtype):
        return a.alike(constant(op in (("lt", "le", "ne") if b > 0 else ("gt", "ge", "ne")), BOOL).expr)
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
    same = node(op, BOOL, x, to_real(y, x.dtype))
    negative = node("lt", BOOL, y, constant(0, y.dtype))
    return negative | same if op in ("gt", "ge", "ne") else ~negative & same


_ROUNDED = (F16, BF16, F32)
"""Types whose constants hold a Python float that emission rounds: widening one must not bring back what it loses."""


def to_real(x: Any, t: DType) -> Sym:
    """``x`` converted to the real type ``t``, as ``values.cast`` describes.

    Raises:
        TraceError: WF206 for a type that arrays have and kernels do not compute with.
    """
    return sym(x).converted(t)


def select(condition: Sym, a: Any, b: Any) -> Sym:
    """``a`` where ``condition`` holds, else ``b``, in their common type."""
    x, y = pair(a, b)
    return node("where", x.dtype, condition, x, y)
