"""Values in keys: what tells two of them apart where Python finds them equal, and which of them never change."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Set
from struct import Struct
from typing import Any

import numpy as np

from ..dtypes import DType

PACKAGE = __name__.partition(".")[0]
ARRAYS = frozenset({"numpy", "torch", "cupy", "jax", "jaxlib", PACKAGE})
"""Packages whose objects count by identity, apart from the elements of arrays."""
LIBRARIES = ARRAYS | sys.stdlib_module_names
"""Packages whose classes and functions do not change."""
FIXED = frozenset({bool, int, float, complex, str, type(None), DType})
"""Types whose values never change, and can have no attributes; a subclass may have some."""
IN_C = 1 << 8
"""Of ``type.__flags__``: a class that Python cannot change (Py_TPFLAGS_IMMUTABLETYPE), as those written in C."""
EQUAL = frozenset({bool, int, str, type(None), DType})
"""Those of which equal values are the same."""
_float_bits, _complex_bits = Struct("d").pack, Struct("2d").pack


class Identical:
    """An object in a key, equal to itself alone."""

    __slots__ = ("held",)

    def __init__(self, held: object) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return type(other) is Identical and self.held is other.held

    def __hash__(self) -> int:
        return id(self.held)


def exactly(value: Any) -> Hashable:
    """What is equal for values of the same type and the same bits alone, at every depth of tuples.

    1, 1.0 and True are equal, and so are 0.0 and -0.0, but they trace to different programs. It has a hash if the value
    has one. What an object holds is not looked into, see ``closures.py``.
    """
    kind = type(value)
    if kind in EQUAL:
        return kind, value
    if isinstance(value, tuple):
        types = tuple(map(type, value))
        return kind, types, value if EQUAL.issuperset(types) else tuple(map(exactly, value))
    if isinstance(value, float):
        return kind, _float_bits(value)
    if isinstance(value, complex):
        return kind, _complex_bits(value.real, value.imag)
    if isinstance(value, np.generic | np.ndarray) and not value.dtype.hasobject:
        return kind, value.dtype, value.shape, value.tobytes()
    return (Identical(value),) if isinstance(value, type) else (kind, value, repr(value))


def never_changes(value: object) -> bool:
    """Whether a parameter is a number of Python, a text, a type of a library, or a tuple of these."""
    kind = type(value)
    if kind is tuple:
        return all(map(never_changes, value))  # type: ignore[call-overload]
    if isinstance(value, type):
        return is_fixed_class(value)
    return kind in FIXED or isinstance(value, np.dtype) or is_torch_type(kind)


def is_fixed_class(value: type) -> bool:
    """Whether a class stays what it is, as one of C or of a library."""
    return bool(value.__flags__ & IN_C) or is_of(value, LIBRARIES)


def that_change(values: Iterable[Any]) -> tuple[Any, ...]:
    """Those of some parameters from which a function may read what changes: functions, objects, classes."""
    return tuple(v for v in values if not never_changes(v))


def is_of(thing: Any, packages: Set[str]) -> bool:
    """Whether a class or a function is defined in one of these packages."""
    return str(thing.__module__).partition(".")[0] in packages


def is_torch_type(kind: type) -> bool:
    """Whether a class is that of PyTorch's element types."""
    return (kind.__module__, kind.__name__) == ("torch", "dtype")
