"""Which parameters of a program may be a part of the key under which a call is remembered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..arrays.fast_readers import READERS
from ..calls.recall import FIXED


def has_key(values: Iterable[Any]) -> bool:
    """Whether every argument of a call is an array with a kind, or a parameter that its type and value tell apart."""
    return all(READERS[type(v)] or (_never_changes(v) and _is_told_apart(v)) for v in values)


def _never_changes(value: object) -> bool:
    """Whether a parameter is a number of Python, a text, a type, or a tuple of these."""
    if type(value) is tuple:
        return all(map(_never_changes, value))
    return (isinstance(value, FIXED) and not isinstance(value, np.generic)) or _is_torch_type(value)


def _is_torch_type(value: object) -> bool:
    return (type(value).__module__, type(value).__name__) == ("torch", "dtype")


def _is_told_apart(value: object) -> bool:
    """Whether no other value of the type of ``value`` is equal, as 0j and -0j are, or (1,) and (True,).

    A key has the text of a float that is zero.
    """
    if type(value) is tuple:
        return all(type(v) is int for v in value)
    return not isinstance(value, complex) or value != 0
