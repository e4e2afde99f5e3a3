"""Arrays of bits in programs: ``pack`` makes them of truth values, ``unpack`` gives the truth values of such an array.

The graph has truth values alone. How they lie in memory is the type of an input or a result, as of 8-bit floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NoReturn

from ...dtypes import BIT, BOOL, I32, U32, DType
from ...errors import WarpfoldError, error
from ..bit_arrays import words_shape
from ..frames import caller
from ..graph import Expr
from ..symbols import Sym
from . import types
from .dims import Axes, Dims, dims_of
from .dims import bits as bits_of
from .sizes import Size, whole
from .sym_array import SymArray

WORDS = (U32, I32)
"""The element types of arrays of bits."""


class SymBits(SymArray):
    """A result of ``pack``: truth values, which are written as bits. Only ``unpack`` takes it.

    Attributes:
        flat: whether the bits lie in row-major order of all axes, and not of the last one.
    """

    __slots__ = ("flat",)

    def __init__(self, mask: SymArray, *, flat: bool) -> None:
        super().__init__(mask.expr, mask.axes, mask.dims, BIT)
        self.flat = flat

    def operand(self) -> NoReturn:
        raise error("WF288", found="bits", where=caller())

    def converted(self, t: DType) -> NoReturn:  # noqa: ARG002 - it has no other type
        raise error("WF288", found="bits", where=caller())

    def in_memory(self) -> Expr:
        return self.expr

    def alike(self, expr: Expr) -> SymBits:
        return SymBits(super().alike(expr), flat=self.flat)


def pack(mask: Any, *, flat: bool = False) -> Any:
    """The truth values of ``mask`` as bits, 32 in each word: an eighth of the memory.

    Bit k of word w is element 32 w + k along the last axis, as of NumPy's ``packbits(mask, axis=-1,
    bitorder="little")``, read as ``<u4``. The last word of a row is filled with zeros.

    Args:
        mask: an array of bools, of any shape with an axis.
        flat: whether the elements are numbered in row-major order of the whole array, and not of the last axis. Then
            no word but the last one is filled, and rows may begin inside of a word.

    Returns:
        An array of u32, or of i32 where the library has no u32: of shape (..., ceil(n / 32)) where n is the size of the
        last axis; with ``flat`` of shape (ceil(n / 32),) where n is the number of elements. In a program it is a
        result, or an argument of ``unpack``.

    Raises:
        TraceError: WF287 for elements that are no bools, or without an axis.
    """
    if not isinstance(mask, SymArray) or isinstance(mask, SymBits) or mask.dtype != BOOL or not mask.ndim:
        raise error("WF287", found=_described(mask), where=caller())
    return SymBits(mask, flat=flat)


def unpack(bits: Any, shape: Sequence[Any], *, flat: bool = False) -> Any:
    """The truth values that ``pack`` made ``bits`` of.

    Args:
        bits: an array of u32 or i32, as ``pack`` gives it. In a program it is an argument of the function.
        shape: the shape of the truth values; in a program the shape of an array, such as ``x.shape``. Bits beyond the
            last element of a row are ignored.
        flat: as for ``pack``.

    Returns:
        An array of bools.

    Raises:
        TraceError: WF288 for other elements, or for what is no argument of the program; WF289 for bits of another
            length.
    """
    if isinstance(bits, SymBits):
        return _unpacked_again(bits, shape, flat=flat)
    if not isinstance(bits, SymArray) or bits.dtype not in WORDS:
        raise error("WF288", found=_described(bits), where=caller())
    dims = bits.dims
    if bits.expr.op != "input" or bits.axes != dims.axes(dims.views[bits.expr.value][1]):  # type: ignore[call-overload]
        raise error("WF288", found="a computed array", where=caller())
    array = dims.views[bits.expr.value][0]  # type: ignore[call-overload]
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    expected = words_shape([_number(n) for n in sizes], flat=flat) if sizes else (1,)
    if bits.sizes != expected or not sizes:
        raise _wrong_shape(bits.sizes, expected, sizes)
    axes: Axes = ()
    for n in sizes:
        d = _dim(n, dims, len(axes))
        axes = (*axes, dims.copy(d) if d is not None and d in axes else d)
    e = Expr("input", (), BIT, bits_of(axes), dims.view(dims.bits_of(array, axes, flat=flat), axes), caller())
    return SymArray(types.read(e, BIT), axes, dims, BOOL)


def _unpacked_again(packed: SymBits, shape: Sequence[Any], *, flat: bool) -> SymArray:
    """The mask of which ``pack`` made bits."""
    sizes = tuple(_number(n) for n in shape)
    if sizes != packed.sizes or flat != packed.flat:
        own, expected = (words_shape(s, flat=f) for s, f in ((packed.sizes, packed.flat), (sizes, flat)))
        raise _wrong_shape(own, expected, sizes)
    return SymArray(packed.expr, packed.axes, packed.dims, BOOL)


def truths(mask: Any, x: SymArray) -> Any:
    """The truth values of a mask for the elements of ``x``: bools as they are, and those of words unpacked.

    Words of one axis hold the bits of all elements of ``x`` in row-major order (``flat``), and words of several axes
    those along the last axis. Of the axes before it, those of size 1 and missing ones are broadcast.

    Args:
        mask: an array of bools, or of words, which is then an argument of the program; or a number.
        x: the array whose elements the mask chooses.

    Raises:
        TraceError: WF288 for elements of another type and for words that the program computed, WF289 for words of
            another shape.
    """
    if not isinstance(mask, SymArray) or mask.dtype in (BOOL, BIT):
        return mask
    if mask.dtype not in WORDS:
        raise error("WF246", dtype=mask.dtype.name, where=caller())
    if mask.ndim < 2:
        return unpack(mask, x.shape, flat=True)
    outer = zip(mask.sizes, x.shape[-mask.ndim : -1], strict=False)
    return unpack(mask, (*(1 if m == 1 else n for m, n in outer), *x.shape[-1:]))


def with_kept(output: Any, mask: Any, keep: str | None) -> Any:
    """``output``, and beside it for ``keep="bits"`` the bits of ``mask``, in row-major order, for a backward program.

    Raises:
        ArgumentError: WF138 for another ``keep``.
    """
    return {"output": output, **kept(mask, keep)} if keep is not None else output


def kept(mask: Any, keep: str | None) -> dict[str, Any]:
    """The bits of ``mask`` as a result for ``keep="bits"``; none for None; arguments and errors as above."""
    if keep not in (None, "bits"):
        raise error("WF138", option="keep", value=keep, expected="None or 'bits'", default="None")
    return {} if keep is None else {"bits": pack(mask, flat=True)}


def _number(size: Any) -> int:
    """A size in this tracing."""
    return int(size.value) if isinstance(size, Size) else whole(size)


def _dim(size: Any, dims: Dims, axis: int) -> int | None:
    """The dim of an axis of truth values: that of the axis of an array, or a new one of constant size."""
    if isinstance(size, Size) and size.expr.op == "count" and len(found := dims_of(size.of)) == 1:
        return dims.find(found[0])
    n = whole(size)
    if n == 1:
        return None
    dim = dims.new(n, (-1 - len(dims.bits), axis))
    dims.looked_at.add(dim)
    return dim


def _wrong_shape(found: Sequence[int], expected: Sequence[int], shape: Sequence[Any]) -> WarpfoldError:
    of = tuple(_number(n) for n in shape)
    return error("WF289", found=tuple(found), expected=tuple(expected), shape=of, elements=prod(of), where=caller())


def _described(x: Any) -> str:
    """What was given in place of bools or bits."""
    if isinstance(x, SymBits):
        return "bits"
    if isinstance(x, SymArray):
        return f"{x.described()}, an array of {x.dtype} of rank {x.ndim}"
    return f"a number of type {x.dtype}" if isinstance(x, Sym) else f"a {type(x).__name__}"
