"""Fields of a file's JSON, checked one by one: each has the type and the bounds that it should have.

Every function takes the name of the field, for the message, and raises ``UnsoundError``.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any, get_args

from ..dtypes import ALL, BIT, NUMBER, STORED, DType
from .artifact_checks import UnsoundError

LARGEST = 2**62
"""More than any number in a file: of elements, of operands, of dims."""
_TYPES = {t.name: t for t in (*ALL, *STORED, BIT, NUMBER)}


def of(name: str, value: Any, kind: type) -> Any:
    """``value``, if it is of this type and of no other that is like it."""
    if type(value) is not kind:
        raise UnsoundError(f"{name} is {shown(value)}: expected {_WORDS[kind]}")
    return value


def text(name: str, value: Any) -> str:
    """A line of text that can be printed."""
    if not of(name, value, str).isprintable():
        raise UnsoundError(f"{name} is {shown(value)}: expected a line of text")
    return value  # type: ignore[no-any-return]


def number(name: str, value: Any) -> int:
    if not 0 <= of(name, value, int) < LARGEST:
        raise UnsoundError(f"{name} is {shown(value)}: expected a number from 0 to {LARGEST - 1}")
    return value  # type: ignore[no-any-return]


def truth(name: str, value: Any) -> bool:
    return of(name, value, bool)  # type: ignore[no-any-return]


def dtype(name: str, value: Any) -> DType:
    found = _TYPES.get(of(name, value, str))
    if found is None:
        raise UnsoundError(f"{name} is {shown(value)}: expected one of {' '.join(_TYPES)}")
    return found


def choice(name: str, value: Any, choices: Any) -> Any:
    known = get_args(choices)
    if of(name, value, str) not in known:
        raise UnsoundError(f"{name} is {shown(value)}: expected one of {' '.join(known)}")
    return value


def code(name: str, value: Any) -> bytes:
    """Machine code, in base 85."""
    try:
        found = base64.b85decode(of(name, value, str))
    except ValueError:
        found = b""
    if not found.startswith(b"\x7fELF") or not re.fullmatch(r"cubins\.sm_\d+[af]?", name):
        raise UnsoundError(f"{name} is {shown(value)}: expected machine code for an architecture")
    return found


def many(name: str, value: Any, one: Callable[[str, Any], Any]) -> tuple[Any, ...]:
    return tuple(one(f"{name}[{i}]", v) for i, v in enumerate(of(name, value, list)))


def mapping(name: str, value: Any, one: Callable[[str, Any], Any]) -> Mapping[str, Any]:
    return {text(name, key): one(f"{name}.{key}", v) for key, v in of(name, value, dict).items()}


_WORDS = {
    str: "a text", int: "a whole number", bool: "true or false", list: "a list", dict: "an object"
}  # fmt: skip


def shown(value: Any) -> str:
    """A value in a message, cut where it is long."""
    if type(value) is int and abs(value) >= LARGEST:  # which Python may refuse to print
        return "too large a number"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
