"""Which parameters of a program may be a part of the key under which a call is remembered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...compiler.program.exact import never_changes
from ..arrays.fast_readers import READERS


def has_key(values: Iterable[Any]) -> bool:
    """Whether every argument of a call is an array with a kind, or a parameter that never changes."""
    return all(READERS[type(v)] or never_changes(v) for v in values)
