"""PTX types as NumPy dtypes, and the operands an instruction can have.

Every register is kept as an unsigned integer array of its width (predicates as bool, 128 bits as complex128, which
NumPy moves without interpreting them). The type that an instruction names only decides how it views those bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

# type name -> (width in bits, dtype an instruction of that type computes in)
_TYPES: dict[str, tuple[int, str]] = {
    "pred": (1, "?"),
    "b8": (8, "u1"), "u8": (8, "u1"), "s8": (8, "i1"),
    "b16": (16, "u2"), "u16": (16, "u2"), "s16": (16, "i2"), "f16": (16, "u2"), "bf16": (16, "u2"),
    "b32": (32, "u4"), "u32": (32, "u4"), "s32": (32, "i4"), "f32": (32, "f4"), "tf32": (32, "u4"),
    "f16x2": (32, "u4"), "bf16x2": (32, "u4"), "u16x2": (32, "u4"), "s16x2": (32, "u4"),
    "e4m3x2": (16, "u2"), "e5m2x2": (16, "u2"), "e2m3x2": (16, "u2"), "e3m2x2": (16, "u2"), "e2m1x2": (8, "u1"),
    "b64": (64, "u8"), "u64": (64, "u8"), "s64": (64, "i8"), "f64": (64, "f8"), "f32x2": (64, "u8"),
    "b128": (128, "c16"),
}  # fmt: skip

WIDTH: dict[str, int] = {name: width for name, (width, _) in _TYPES.items()}
DTYPE: dict[str, np.dtype[Any]] = {name: np.dtype(code) for name, (_, code) in _TYPES.items()}
DTYPE["addr"] = np.dtype("i8")  # an address: 32-bit registers are zero-extended when read as one
STORAGE: dict[int, np.dtype[Any]] = {
    1: np.dtype("?"), 8: np.dtype("u1"), 16: np.dtype("u2"), 32: np.dtype("u4"), 64: np.dtype("u8"),
    128: np.dtype("c16"),
}  # fmt: skip


def nbytes(type_: str) -> int:
    """Bytes of one value of ``type_`` in memory."""
    return max(WIDTH[type_], 8) // 8


def is_float(type_: str) -> bool:
    """Whether arithmetic on ``type_`` is floating."""
    return type_ in ("f16", "bf16", "f32", "f64", "f16x2", "bf16x2", "f32x2")


def is_signed(type_: str) -> bool:
    """Whether ``type_`` is a signed integer type."""
    return type_ in ("s8", "s16", "s32", "s64", "s16x2")


@dataclass(unsafe_hash=True)  # a frozen one takes three times as long to make
class Reg:
    """A virtual register: its number in the function and its declared type."""

    index: int
    type: str
    name: str


@dataclass(frozen=True)
class Imm:
    """A literal: an int, or the bits of a float written ``0f``/``0d`` (``width`` 32 or 64) or in decimal (a float)."""

    value: int | float
    width: int = 0


@dataclass(frozen=True)
class Special:
    """A special register such as ``%tid.x``."""

    name: str


@dataclass(frozen=True, eq=False)
class Variable:
    """A declared variable; ``size`` in bytes, ``space`` one of global const shared local param.

    ``external`` marks dynamic shared memory, whose size comes with the launch; ``lacks`` says what makes the emulator
    refuse whoever uses it.
    """

    name: str
    space: str
    align: int
    size: int
    type: str
    init: bytes | None = None
    external: bool = False
    lacks: str = ""


@dataclass(frozen=True)
class Sym:
    """The address of a variable plus ``offset`` bytes; ``where`` is the offset in its space once laid out."""

    variable: Variable
    offset: int = 0
    where: int = -1


@dataclass(frozen=True)
class Mem:
    """``[base + offset]``."""

    base: Reg | Sym | Imm
    offset: int


@dataclass(frozen=True)
class Vec:
    """``{a, b, ...}``."""

    items: tuple[Operand, ...]


@dataclass(frozen=True)
class Pair:
    """``p|q``, two destinations."""

    first: Operand
    second: Operand


@dataclass(frozen=True)
class Not:
    """``!p`` as a source."""

    reg: Reg


@dataclass(frozen=True)
class Label:
    """A label in the code: ``scope`` is the chain of blocks around it, ``target`` its instruction index once known."""

    name: str
    scope: tuple[int, ...] = ()
    target: int = -1


@dataclass(frozen=True)
class Name:
    """A bare identifier that is a function's name."""

    name: str


@dataclass(frozen=True)
class Args:
    """The parenthesised operands of a call."""

    items: tuple[Operand, ...]


@dataclass(frozen=True)
class Sink:
    """``_``: a result that is discarded."""


Operand: TypeAlias = Reg | Imm | Special | Sym | Mem | Vec | Pair | Not | Label | Name | Args | Sink


@dataclass(unsafe_hash=True)  # a frozen one takes three times as long to make
class Instruction:
    """One PTX statement: ``ld.global.f32`` has opcode ``ld`` and modifiers ``(global, f32)``; ``line`` is 1-based.

    ``lacks`` is what the emulator lacks of it, in words: whoever comes to it is refused.
    """

    opcode: str
    mods: tuple[str, ...]
    operands: tuple[Operand, ...]
    line: int
    text: str
    guard: Reg | None = None
    negated: bool = False
    lacks: str = ""


CARRY = Reg(0, "pred", "carry flag")
"""The condition code register: register 0 of every function."""
