"""Accesses to bits: those of an access come with the byte, or the two, that hold them, and words go as a whole."""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import integer
from ...compiler.ir.combine import fragment, width
from ...compiler.ir.mlir import arith, ir, llvm
from ...compiler.program.bit_arrays import BYTE, WORD


def load_bits(base: Any, at: Any, t: Any, *, invariant: bool = False) -> Any:
    """Loads a fragment of truth values, from bit ``at`` on, a multiple of their number."""
    return _truths(load_word(base, at, width(t), invariant=invariant), width(t))


def load_word(base: Any, at: Any, lanes: int, *, invariant: bool = False) -> Any:
    """Loads ``lanes`` bits from bit ``at`` on, a multiple of their number, as the lowest ones of a word."""
    unit = ir.IntegerType.get_signless(max(BYTE, lanes))
    place = _address(base, at, BYTE, ir.IntegerType.get_signless(BYTE))
    flags = {"invariant": True} if invariant else {}
    found = llvm.load(unit, place, alignment=unit.width // BYTE, **flags)
    word = ir.IntegerType.get_signless(WORD)
    value = arith.extui(word, found)
    if lanes < BYTE:
        low = arith.andi(at, integer(at.type, BYTE - 1))
        value = arith.shrui(value, low if at.type == word else arith.trunci(word, low))
    return value


def load_bits_across(base: Any, at: Any, t: Any, first: Any = None, last: Any = None) -> Any:
    """Loads a fragment of truth values that begins at any bit ``at``, out of the two words that hold it.

    Bits before bit ``first`` and beyond bit ``last``, which lie in no element, are not asked for.
    """
    word, lanes = ir.IntegerType.get_signless(WORD), width(t)
    ends = [at, arith.addi(at, integer(at.type, lanes - 1))]
    ends = ends if first is None else [arith.maxsi(end, first) for end in ends]
    ends = ends if last is None else [arith.minsi(end, last) for end in ends]
    low, high = (
        llvm.load(word, _address(base, end, WORD, word), alignment=WORD // BYTE, invariant=True) for end in ends
    )
    value = llvm.intr_fshr(high, low, at if at.type == word else arith.trunci(word, at))  # by ``at`` modulo 32
    return _truths(value, lanes)


def _truths(value: Any, lanes: int) -> Any:
    """The lowest bits of a word as a fragment: each is one test of the inverted word, where the bit is.

    LLVM makes two operations more of a test for a bit that is set: it shifts that bit down.
    """
    t, eq = value.type, arith.CmpIPredicate.eq
    other = arith.xori(value, integer(t, -1))
    return fragment([arith.cmpi(eq, arith.andi(other, integer(t, 1 << j)), integer(t, 0)) for j in range(lanes)])


def store_word(word: Any, base: Any, at: Any) -> None:
    """Writes the word whose first bit is bit ``at``."""
    llvm.store(word, _address(base, at, WORD, word.type), alignment=WORD // BYTE)


def store_bytes(word: Any, base: Any, at: Any, count: int) -> None:
    """Writes the ``count`` lowest bits of a word, which fill bytes, to bit ``at`` and those behind it."""
    t = ir.IntegerType.get_signless(count)
    llvm.store(arith.trunci(t, word), _address(base, at, count, t), alignment=count // BYTE)


def place_in_word(at: Any) -> Any:
    """The number of bit ``at`` in its word."""
    return arith.andi(at, integer(at.type, WORD - 1))


def begins_word(at: Any) -> Any:
    """Whether bit ``at`` is the first of a word."""
    return arith.cmpi(arith.CmpIPredicate.eq, place_in_word(at), integer(at.type, 0))


def _address(base: Any, at: Any, size: int, t: Any) -> Any:
    """The address of the unit of ``size`` bits, of type ``t``, in which bit ``at`` is."""
    index = arith.shrsi(at, integer(at.type, size.bit_length() - 1))
    return llvm.getelementptr(base.type, base, [index], [-(2**31)], t, no_wrap_flags=0)
