"""Parses shapes, axes, dtypes and parameters, and reads arrays from ``.npy`` files."""

from __future__ import annotations

import ast
import re
from math import prod
from typing import Any

import numpy as np

from ...compiler.dtypes import BY_NAME, DType, dtype
from ...compiler.errors import error
from ...runtime.backends.kernel_calls import ALIGN
from ..checking.random_inputs import elements
from .operation import What, input_count, label

DEFAULT_SHAPE = "1024x1024"
SCALAR = "scalar"
"""The shape of an array without axes."""
MOST_SIZES = 64
"""Greatest rank of a NumPy array."""
MOST_DIGITS = 19
"""Digits of 2^63; ``int`` raises for texts of thousands of digits."""
UNNAMED = {1: "f8e4m3fn or f8e5m2", 2: "bf16"}
"""By size in bytes, the types that a .npy file cannot name: it gives only the size of an element."""
UNITS = {"": 1, "b": 1} | {f"{k}{end}": 1024**n for n, k in enumerate("kmgt", 1) for end in ("", "b", "ib")}
"""What a number of bytes may end in, and how many bytes that is; all of them are powers of 1024, as in the output."""
Array = np.ndarray[Any, Any]


def shape_of(text: str) -> tuple[int, ...]:
    """``4096x1024`` as sizes; ``scalar`` as none.

    Raises:
        ArgumentError: WF802 for a malformed shape, or one that no array can have.
    """
    if text == SCALAR:
        return ()
    words = [s.strip() for s in text.lower().split("x")]
    if not all(s.isdecimal() for s in words):
        raise error("WF802", text=text, reason="")
    if len(words) > MOST_SIZES:
        raise error("WF802", text=text, reason=f": it has {len(words)} sizes, expected at most {MOST_SIZES}")
    if max(map(len, words)) > MOST_DIGITS or elements(tuple(map(int, words))) >= 2**63:
        raise error("WF802", text=text, reason=": expected fewer than 2^63 elements")
    return tuple(int(s) for s in words)


def shape_text(shape: tuple[int, ...]) -> str:
    """Sizes as ``--shape`` takes them."""
    return "x".join(map(str, shape)) or SCALAR


def axis_of(text: str | None) -> tuple[int, ...] | None:
    """``1`` or ``0,2`` as axes; None for all.

    Raises:
        ArgumentError: WF803.
    """
    if text is None:
        return None
    try:
        return tuple(int(a) for a in text.split(","))
    except ValueError:
        raise error("WF803", text=text) from None


def bytes_of(text: str) -> int:
    """``256MiB`` or ``1e9`` as a number of bytes, at least 1.

    Raises:
        ArgumentError: WF851.
    """
    words = re.fullmatch(r"([0-9.e+]+) *([a-z]*)", text.strip().lower())
    try:
        found = int(float(words[1]) * UNITS[words[2]]) if words else 0
    except (KeyError, ValueError, OverflowError):
        found = 0
    if not 0 < found < 2**63:
        raise error("WF851", text=text)
    return found


_WORDS = {"inf": float("inf"), "-inf": float("-inf"), "true": True, "false": False}
"""Values that are no Python literals, as they are written."""


def params_of(texts: tuple[str, ...]) -> dict[str, Any]:
    """Parameters from texts ``key=value``.

    A value is a Python literal, ``true`` or ``false``, an element type, or else the text itself.

    Raises:
        ArgumentError: WF815 without a key, WF817 for a key given twice.
    """
    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.isidentifier():
            raise error("WF815", text=text)
        if key in found:
            raise error("WF817", key=key, first=found[key], second=value)
        try:
            found[key] = _WORDS[value] if value in _WORDS else ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[key] = BY_NAME.get(value, value) if key in ("dtype", "accumulate") else value
    return found


def dtypes_of(text: str, count: int) -> tuple[DType, ...]:
    """``f32``, or ``f32,i64`` with one type per input, as element types.

    Raises:
        ArgumentError: WF808 unless there are one or ``count`` types.
        DTypeError: WF105.
    """
    found = tuple(dtype(t.strip()) for t in text.split(","))
    if len(found) not in (1, count):
        raise error("WF808", text=text, found=len(found), count=count)
    return found * count if len(found) == 1 else found


def from_files(paths: tuple[str, ...], what: What, types: str | None = None) -> list[Array]:
    """The arrays of ``--input``; ``types``, from ``--dtype``, apply to files that do not name their type.

    Raises:
        FileError: WF506 to WF509.
        ArgumentError: WF819 for too few or too many files, WF809 for different shapes; WF808, WF838 and WF839 as in
            ``dtypes_of`` and ``typed``.
    """
    count = input_count(what, len(paths))
    if len(paths) != count:
        raise error("WF819", name=label(what), expected=count, found=len(paths))
    asked = (None,) * count if types is None else dtypes_of(types, count)
    found = [from_file(p, t) for p, t in zip(paths, asked, strict=True)]
    for path, x in zip(paths, found, strict=True):
        if x.shape != found[0].shape:
            raise error("WF809", path=path, found=x.shape, first=paths[0], expected=found[0].shape)
    return found


def from_file(path: str, asked: DType | None) -> Array:
    """The array of a file in native byte order; ``asked`` is its type, for a file that does not name it.

    Raises:
        FileError: WF506 to WF509.
        DTypeError, ArgumentError: as in ``typed``.
    """
    from ...runtime.arrays.conversion import load_npy

    return typed(path, _native(load_npy(path)), asked)


def typed(path: str, x: Array, asked: DType | None) -> Array:
    """The array of a file, read as the requested type if the file holds unnamed bytes, as for bf16.

    Raises:
        DTypeError: WF105 for elements of other types.
        ArgumentError: WF838 for unnamed bytes without a requested type, WF839 for a type that is not the file's.
    """
    size = x.dtype.itemsize
    if x.dtype.type is not np.void or x.dtype.names is not None or size not in UNNAMED:
        own = dtype(x.dtype)
        if asked not in (None, own):
            raise error(
                "WF839", path=path, held=own.name, asked=asked, remedy="leave --dtype out: the file says its type"
            )
        return x
    if asked is None:
        raise error("WF838", path=path, size=size, types=UNNAMED[size])
    if asked.itemsize != size or asked.kind == "bool":
        raise error("WF839", path=path, held=f"elements of {size} byte(s) without a type", asked=asked,
                    remedy=f"give one of so many bytes, such as {UNNAMED[size]}")  # fmt: skip
    return x.view(asked.numpy)


def _native(x: Array) -> Array:
    """The array in native byte order."""
    return x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))


def aligned(x: Array) -> Array:
    """A copy of ``x`` aligned as by a GPU's allocator, since sectors are counted by address."""
    copy = empty(x.shape, x.dtype)
    copy[...] = x
    return copy


def empty(shape: tuple[int, ...], t: np.dtype[Any]) -> Array:
    """A new array that begins at a multiple of ``ALIGN`` bytes."""
    nbytes = prod(shape) * t.itemsize
    held = np.empty(nbytes + ALIGN, np.uint8)
    return held[-held.ctypes.data % ALIGN :][:nbytes].view(t).reshape(shape)
