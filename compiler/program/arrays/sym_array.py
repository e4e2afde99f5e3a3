"""Symbolic arrays: running a function of whole arrays on them gives its expression graph.

Their methods, and the functions of the Array API standard, lie above them: ``methods.py`` attaches them.

Assignment to symbolic arrays by a mask, ``x[x < 0] = 0``.
"""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from ...dtypes import BOOL, F32, DType
from ...errors import error, near
from ..dtype_names import dtype as as_dtype
from ..frames import caller
from ..functions import where
from ..graph import Expr, union
from ..refusals import Symbolic
from ..spelling import attribute
from ..symbols import Sym, is_array, sym
from . import types
from .array_value import ArrayValue
from .broadcasting import broadcast
from .dims import Axes, Dims


def assigned(x: ArrayValue, index: Any, value: Any, *, shared: bool) -> ArrayValue:
    """``x`` after ``x[index] = value``: the value where a bool array of its shape is true.

    Raises:
        TraceError: WF259 for another index, for several values, and for an array that ``shared`` says others see.
    """
    mask = index if is_array(index) and index.dtype == BOOL and index.ndim == x.ndim else None
    number = sym(value, x.dtype)
    if shared:
        raise error("WF259", found="entries are assigned to a view or an argument of the function", where=caller())
    if mask is None:
        raise error("WF259", found=f"entries are assigned by index {spelled(index)}", where=caller())
    if is_array(number) and number.ndim:
        raise error("WF259", found="entries get a value each", where=caller())
    made: Any = where(mask, number, x)
    if made.axes != x.axes:
        raise error("WF259", found="entries are assigned by an index of another shape", where=caller())
    return made.converted(x.dtype)  # type: ignore[no-any-return]


def spelled(key: object) -> str:
    """An index as users write it."""
    if not isinstance(key, slice):
        return repr(key)
    parts = ["" if p is None else repr(p) for p in (key.start, key.stop, key.step)]
    return ":".join(parts if parts[2] else parts[:2])


class SymArray(ArrayValue):
    """A symbolic array: supports Python's operators and warpfold's functions, with NumPy's broadcasting and types."""

    __slots__ = ("_shared",)
    has_axes = True
    public: ClassVar[tuple[str, ...]] = ("T", "device", "dtype", "mT", "ndim", "shape", "size")
    """The attributes that arrays have for those who write programs."""

    def __init__(self, expr: Expr, axes: Axes, dims: Dims, dtype: DType | None = None) -> None:
        super().__init__(expr, axes, dims, dtype)
        self._shared = False

    @property
    def device(self) -> str:
        """Where a traced value is: nowhere; for functions of the Array API, which pass it on."""
        return "traced"

    # --- how nodes are made of it ---
    def new(self, expr: Expr, axes: Axes, dtype: DType | None = None) -> SymArray:
        """Another value of this tracing."""
        return SymArray(expr, axes, self.dims, dtype)

    def made(self, op: str, t: DType, args: tuple[Sym, ...], value: object) -> SymArray:
        """The elementwise node ``op`` of type ``t``, one of whose arguments this array is."""
        arrays = [a for a in args if isinstance(a, SymArray)]
        exprs, axes = broadcast(arrays)
        rest = iter(exprs)
        number = types.compared if op in types.COMPARISONS else types.in_computed
        operands = [next(rest) if isinstance(a, SymArray) else number(a.expr) for a in args]
        if op == "bitcast":
            return self._bitcast(t)
        t = F32 if t in types.BYTES else t
        space = union(self.dims.space(e.space) for e in operands)
        node = Expr(op, tuple(operands), types.computed(t), space, value, caller())
        return self.new(node, axes, t)

    def in_memory(self) -> Expr:
        """The elements as the bits of their type have them: rounded to a half, an 8-bit float as its byte."""
        return self.dims.bytes.get((self.expr.digest, self._dtype)) or types.stored(self.expr, self._dtype)

    def _bitcast(self, t: DType) -> SymArray:
        bits_of, to = self.in_memory(), types.memory_type(t)
        if bits_of.dtype != to:
            bits_of = Expr("bitcast", (bits_of,), to, bits_of.space, None, caller())
        return self.new(types.read(bits_of, t), self._axes, t)

    def operand(self) -> SymArray:
        """This array as operations take it: 8-bit floats as f32."""
        return self.converted(F32) if self._dtype in types.BYTES else self

    def alike(self, expr: Expr) -> SymArray:
        """An array of this shape with another expression."""
        keeps = expr.dtype == self.expr.dtype
        return self.new(expr, self._axes, self._dtype if keeps else None)

    def converted(self, t: DType) -> SymArray:
        """This array as type ``t``; its values are not rounded to a type that is computed in a wider one."""
        to = types.computed(t)
        if t.kind == "complex":
            raise error("WF268", array=self.described(), dtype=t.name, where=caller())
        if to == self.expr.dtype:
            return self if t == self._dtype else self.new(self.expr, self._axes, t)
        if t == BOOL:
            return self != 0  # type: ignore[return-value]
        return self.new(Expr("cast", (self.expr,), to, self.expr.space, None, caller()), self._axes, t)

    def rounded(self) -> SymArray:
        """This array with values that an array of its type holds."""
        if self._dtype not in types.HALVES and self._dtype not in types.BYTES:
            return self
        bits_of = self.in_memory()
        value = types.read(bits_of, self._dtype)
        if self._dtype in types.BYTES:
            self.dims.bytes[value.digest, self._dtype] = bits_of
        return self.new(value, self._axes, self._dtype)

    def relabeled(self, axes: Axes) -> SymArray:
        """The same values under other axes, which hold the same dims."""
        return SymArray(self.expr, axes, self.dims, self._dtype).sharing(self)

    def sharing(self, other: SymArray | None = None) -> SymArray:
        """This array, marked as one whose entries others see, as is ``other``: they are not assigned."""
        self._shared = True
        if other is not None:
            other._shared = True
        return self

    def astype(self, dtype: object, *, copy: bool = True) -> SymArray:  # noqa: ARG002 - a value has no memory
        """``wf.cast(x, dtype)``."""
        return self.converted(as_dtype(dtype)).rounded()

    # --- axes ---
    @property
    def T(self) -> SymArray:  # noqa: N802
        """The array with its axes in reverse."""
        return self.relabeled(self._axes[::-1])

    @property
    def mT(self) -> SymArray:  # noqa: N802
        """The array with its last two axes exchanged."""
        if self.ndim < 2:
            raise error("WF257", what="x.mT", rank=self.ndim, expected="at least 2", where=caller())
        return self.relabeled((*self._axes[:-2], self._axes[-1], self._axes[-2]))

    # --- what it cannot do ---
    def __iter__(self) -> NoReturn:
        raise error("WF258", what="it is not iterated or unpacked", where=caller())

    def __len__(self) -> int:
        if not self.ndim:
            raise error("WF257", what="len(x)", rank=0, expected="at least 1", where=caller())
        return int(self.shape[0])

    def __setitem__(self, index: object, value: object) -> None:
        found = assigned(self, index, value, shared=self._shared)
        self.expr, self._axes = found.expr, found._axes

    def __delitem__(self, index: object) -> NoReturn:
        raise error("WF258", what="its entries are not deleted", where=caller())

    def __matmul__(self, other: object) -> NoReturn:
        raise error("WF260", where=caller())

    __rmatmul__ = __matmul__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        known = sorted(self.public)
        remedy, similar = attribute(name), near(name, known)
        if not remedy:
            remedy = f"it has the functions of warpfold and of the standard, and these attributes: {' '.join(known)}"
        raise error("WF261", name=name, near="" if attribute(name) else similar, remedy=remedy, where=caller())

    def __repr__(self) -> str:
        sizes = ", ".join(str(n) for n in self.shape)
        return f"SymArray({self.expr.op}: {self.dtype.name}[{sizes}])"


class Elements(SymArray):
    """The elements of a reduction that runs, or what it made of them: operators and folds apply, and it has no axes."""

    __slots__ = ()
    has_axes = False

    def new(self, expr: Expr, axes: Axes, dtype: DType | None = None) -> Elements:
        """Another value of this reduction."""
        return Elements(expr, axes, self.dims, dtype)

    def __repr__(self) -> str:
        return f"Elements({self.expr.op}: {self.dtype.name})"

    def __getattribute__(self, name: str) -> Any:
        if name in HIDDEN:
            raise error("WF229", name=name, where=caller())
        return super().__getattribute__(name)

    __getattr__ = Sym.__getattr__
    __getitem__ = Symbolic.__getitem__
    __iter__ = Symbolic.__iter__
    __len__ = Symbolic.__len__
    __setitem__ = Symbolic.__setitem__
    __delitem__ = Symbolic.__delitem__  # type: ignore[assignment]
    __matmul__ = __rmatmul__ = Symbolic.__matmul__


HIDDEN = {"T", "mT", "device", "shape", "size"}
"""The attributes of arrays that elements have not; ``methods.py`` adds their methods."""
