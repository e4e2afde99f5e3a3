"""The names of element types that public functions take: NumPy's, the Array API's, ml_dtypes', and MLIR's short ones.

MLIR's short names count bits and NumPy's count bytes. A name that is both, such as ``i8``, is refused. The command line
and the IR know MLIR's names alone and read them with ``dtypes.dtype``.
"""

from __future__ import annotations

from .. import dtypes
from ..dtypes import BY_NAME, DType
from ..errors import DTypeError, error
from .frames import caller

_OF_BYTES = {
    "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "u1": "uint8", "u2": "uint16", "u4": "uint32",
    "u8": "uint64", "f2": "float16", "f4": "float32", "f8": "float64", "f16": "longdouble", "c8": "complex64",
    "c16": "complex128",
}  # fmt: skip
"""NumPy's types by those short names that could also count bits."""
_OF_BITS = {"i1": "bool", "i8": "int8", "u8": "uint8", "f16": "float16"}
"""The types that these names mean if they count bits."""


def dtype(spec: object) -> DType:
    """The type that ``spec`` names: a ``DType``, a name, or a type of another library.

    >>> [dtype(name) for name in ("int8", "float", "f32", "bfloat16")]
    [i8, f64, f32, bf16]

    Raises:
        DTypeError: WF105 when there is no such element type, WF160 for a name that means one type here and another in
            NumPy.
    """
    try:
        if not isinstance(spec, str):
            return dtypes.dtype(spec)
        if spec in _OF_BYTES:
            raise _ambiguous(spec)
        return dtypes.dtype(spec if spec in BY_NAME else _of_numpy(spec))
    except DTypeError as e:
        e.locate(caller())
        raise


def _ambiguous(name: str) -> Exception:
    bits, ours, theirs = name[1:], _OF_BITS.get(name), _OF_BYTES[name]
    known = [repr(n) for n in (ours, theirs) if n in BY_NAME]
    ours, remedy = f" ({ours})" if ours else "", f"write {' or '.join(known)}"
    return error("WF160", name=name, bits=bits, ours=ours, theirs=theirs, remedy=remedy)


def _of_numpy(name: str) -> object:
    """NumPy's type of this name; the name where it has none."""
    import numpy as np

    try:
        return np.dtype(name)
    except (TypeError, ValueError, SyntaxError):
        return name
