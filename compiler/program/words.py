"""Words: an element's rank above its number, as one integer, the least of which is that of the first extreme element.

A rank grows with the element, or falls. A ``word`` node has the element and its number as operands. So what looks for
the element of a word (``rewrites/ranked_states.py``, ``passes/words/narrow_argmin.py``) reads it there. ``expanded``
gives the arithmetic that a word stands for.

A word has 64 bits, or 32 where the rank of a narrow element leaves room for the number: the ranks of a type of 8 or 16
bits are consecutive integers, and the upper half of a bf16's rank determines the rank. All 32 bits of the rank of an
f16 matter.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..dtypes import BF16, BOOL, F32, I8, I16, I32, I64, U8, U16, U32, DType, compute
from .functions import bitcast
from .graph import SCALAR, Expr, walk
from .symbols import Sym, node
from .values import cast

WIDE = 32
"""The bits of a rank, and of a number, in a word of 64."""
SIGN = -(1 << WIDE - 1)
_NARROW = {(F32, BF16): 16, (I32, I8): 8, (I32, I16): 16, (U32, U8): 8, (U32, U16): 16}
"""The bits of a rank that determine it, by the type of an element as it is compared and by its own."""


def ordered(x: Sym) -> Sym:
    """``x`` in a type whose values have an order in the IR's terms: a bool as a byte, else a whole register."""
    return cast(x, U8 if x.dtype == BOOL else compute(x.dtype))


def word(x: Sym, number: Sym, falls: bool) -> Sym:
    """The rank of ``x``, a value as ``ordered`` gives it of 32 bits or fewer, above its number in 32 bits."""
    return node("word", I64, x, number, value=falls)


def narrow(e: Expr) -> Expr | None:
    """The word ``e`` in 32 bits; None of what is no word of 64 bits, or of an element that is not narrow."""
    if e.op != "word" or e.dtype != I64 or e.args[1].op != "iota" or rank_bits(e.args[0]) == WIDE:
        return None
    return Expr("word", e.args, I32, e.space, e.value, e.where)


def is_word(e: Expr) -> bool:
    """Whether ``e`` is a word, or one where a mask holds."""
    while e.op == "where":
        e = e.args[1]
    return e.op == "word"


def rank_bits(x: Expr) -> int:
    """How many bits determine the rank of an element."""
    return 8 if x.dtype == U8 else _NARROW.get((x.dtype, x.args[0].dtype), WIDE) if x.op == "cast" else WIDE


def word_bits(e: Expr) -> int:
    """How many bits a word has of the rank."""
    return WIDE if e.dtype == I64 else rank_bits(e.args[0])


def of_word(best: Sym, t: DType, falls: bool) -> tuple[Sym, Sym]:
    """The element of type ``t``, as ``ordered`` gives it, and its number in 64 bits."""
    return _element(cast(best >> WIDE, I32), t, falls), cast(cast(best, U32), I64)


def widened(least: Sym, e: Expr) -> Sym:
    """The word ``least`` of 64 bits, from one of 32 bits that is like ``e``; a bf16's rank ends with its sign."""
    x, bits = e.args[0], rank_bits(e.args[0])
    if x.dtype == F32:
        rank = least & (-1 << bits) | least >> WIDE - 1 & (1 << bits) - 1
    else:
        middle = -SIGN - (1 << bits - 1)  # that of the type, which is the rank 0 of an unsigned element
        zero = 0 if x.dtype == I32 else middle if e.value else -middle
        rank = (least >> WIDE - bits) + zero
    return cast(rank, I64) << WIDE | cast(least & (1 << WIDE - bits) - 1, I64)


# --- what a word stands for ------------------------------------------------------------------------------------------
def expanded(roots: Sequence[Expr]) -> tuple[Expr, ...]:
    """``roots`` with arithmetic in place of words."""
    found: dict[str, Expr] = {}
    for e in walk(tuple(roots)):
        args = tuple(found[a.digest] for a in e.args)
        if e.op == "word":
            found[e.digest] = formula(Sym(args[0]), Sym(args[1]), bool(e.value), word_bits(e)).expr
        else:
            found[e.digest] = e if args == e.args else Expr(e.op, args, e.dtype, e.space, e.value, e.where)
    return tuple(found[r.digest] for r in roots)


def arithmetic(e: Expr) -> Expr:
    """What the word ``e`` is of two parameters, its operands."""
    x, number = (Sym(Expr("param", (), a.dtype, SCALAR, i)) for i, a in enumerate(e.args))
    return formula(x, number, bool(e.value), word_bits(e)).expr


def formula(x: Sym, number: Sym, falls: bool, bits: int) -> Sym:
    """The word of ``x`` and its number; ``bits`` of its rank are in one of 32 bits, all ``WIDE`` in one of 64."""
    if bits == WIDE:
        return cast(_rank(x, falls), I64) << WIDE | cast(bitcast(number, U32), I64)
    if x.dtype.is_float:
        return _rank(x, falls) & (-1 << bits) | number
    biased = x.dtype.kind == "uint"
    wide = cast(x, compute(x.dtype))
    shifted = (bitcast(wide, I32) if biased else wide) << WIDE - bits | number
    turned = (-1 << WIDE - bits if falls else 0) ^ (SIGN if biased else 0)
    return shifted ^ turned if turned else shifted  # inverted at the end: one instruction does both


def _rank(x: Sym, falls: bool) -> Sym:
    """A 32-bit integer in the order of ``x``, or against it; the least for NaN, one for both zeros."""
    if x.dtype.is_float:
        bits = bitcast(x + 0.0 if falls else 0.0 - x, I32)  # of a sum: never -0 here, and 0x7fffffff for any NaN
        return bits ^ (~(bits >> 31) | SIGN)  # from a sign and a magnitude to a complement
    wide = cast(x, compute(x.dtype))
    bits = bitcast(wide, I32) ^ SIGN if x.dtype.kind == "uint" else wide
    return ~bits if falls else bits


def _element(rank: Sym, t: DType, falls: bool) -> Sym:
    """The element of type ``t`` with this rank."""
    if t.is_float:
        x = bitcast(rank ^ (rank >> 31 | SIGN), F32)
        return x if falls else 0.0 - x
    bits = ~rank if falls else rank
    return cast(bitcast(bits ^ SIGN, U32), t) if t.kind == "uint" else bits
