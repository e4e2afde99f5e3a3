"""Narrow states: sums in 32 bits where no result can leave them, which changes no result.

The sum of up to 2^24 signed bytes or 2^16 signed 16-bit integers fits into 32 bits, and so does a count of 2^31 - 1
truth values. Such a sum stays in 32 bits, and the program widens the result to the 64 bits that the types ask for. This
halves registers, shuffles and partial states.

The extreme of 8-bit and 16-bit integers is taken of 32-bit values, and its identity is the last 32-bit value. The last
value of the narrow type serves as well, and then a register has room for several values
(``passes/words/extremes.py``).

Range: a plain sum from 0 of elements that are a cast of a narrower integer or a truth value, or 0 outside masks, of as
many elements as ``narrowed`` returns; an unsigned sum has unsigned elements. An extreme of such casts, whose identity
is the last wide value; where a result may be of no elements, each use of it joins it with a number of the narrow type.

``argmin`` and ``argmax`` of narrow elements in 32 bits: an element's rank and its number in one word.

Both take the least of 64-bit words, a rank above a number (``program/library/extremes.py``). The ranks of a type of 8
or 16 bits are consecutive integers, and the upper half of a bf16's rank determines the rank. While the numbers fit
beside them in 32 bits, the least of the narrow words belongs to the same element, and the program widens that word.

Range: the word is node for node that of ``extremes.word``, of a value that is a cast of an element of 8 or 16 bits (no
f16, whose ranks of 32 bits are not determined by 16), and of its number in 32 bits; the numbers of a result's elements
fit beside the rank. Other words that a program makes of ranks and numbers stay 64 bits wide.
"""

from __future__ import annotations

from dataclasses import replace

from ...dtypes import BF16, BOOL, I8, I16, I32, I64, U8, U16, U32, U64, DType
from ..analysis.atomic import operation
from ..graph import KEPT, SCALAR, Expr, MonoidGraph, Program, rewrite, walk
from ..library.extremes import word
from ..symbols import Sym

WORD, SIGN = 32, -(1 << 31)
_SIGNED, _UNSIGNED = (I8, I16), (U8, U16)


def with_narrow_words(program: Program) -> tuple[Program, int] | None:
    """``program`` with narrow words, and the most elements a result may then have; None if it has no such words."""
    (reduce,) = program.reduces
    monoid = program.monoid
    if monoid.state != (I64,) or operation(monoid) != "min" or monoid.identity != (I64.highest,):
        return None
    element = _ranked_element(reduce.args[0])
    if element is None:
        return None
    word, bits, zero = element
    params = tuple(Expr("param", (), I32, SCALAR, i) for i in (0, 1))
    combine = Expr("min", params, I32, SCALAR, None, monoid.combine[0].where)
    graph = replace(monoid, state=(I32,), combine=(combine,), identity=(I32.highest,))
    least = Expr("result", (Expr("reduce", (word,), I32, KEPT, graph, reduce.where),), I32, KEPT, 0)
    old = Expr("result", (reduce,), I64, KEPT, 0)
    return replace(program, outputs=rewrite(program.outputs, {old.digest: _wide(least, bits, zero)})), 1 << WORD - bits


def _ranked_element(e: Expr) -> tuple[Expr, int, int | None] | None:
    """(the narrow word for ``e``, bits of its rank, the rank that is 0 in them: none of a bf16), or None."""
    if e.op != "or" or e.args[0].op != "shl" or e.args[0].args[1].value != WORD:
        return None
    rank, number = e.args[0].args[0].args[0], e.args[1]
    while number.op in ("cast", "bitcast"):
        number = number.args[0]
    if rank.dtype != I32 or number.op != "iota" or number.dtype != I32:
        return None
    casts = [x for x in walk((rank,)) if x.op == "cast" and x.args[0].dtype in (BF16, *_SIGNED, *_UNSIGNED)]
    value = casts[-1] if casts else None
    if value is None or all(word(Sym(value), Sym(number), falls).expr != e for falls in (False, True)):
        return None
    return _of_bf16(rank, number) if value.args[0].dtype == BF16 else _of_integer(rank, number)


def _of_bf16(rank: Expr, number: Expr) -> tuple[Expr, int, None]:
    """The upper half of a rank above the number."""
    return _op("or", _op("and", rank, _const(-1 << 16)), number), 16, None


def _of_integer(rank: Expr, number: Expr) -> tuple[Expr, int, int] | None:
    """The integer that is the rank, its bits inverted or not, above the number."""
    over = rank.op == "xor" and rank.args[1].value == -1
    x = rank.args[0] if over else rank
    biased = x.op == "xor" and x.args[1].value == SIGN and x.args[0].op == "bitcast"
    x = x.args[0] if biased else x
    cast = x.args[0] if biased else x
    t = cast.args[0].dtype if cast.op == "cast" else I64
    if t not in (_UNSIGNED if biased else _SIGNED):
        return None
    shift, zero = WORD - t.bits, -SIGN - (1 << t.bits - 1)
    turned = (-1 << shift if over else 0) ^ (SIGN if biased else 0)
    word = _op("or", _op("shl", x, _const(shift)), number)  # inverted at the end: one instruction does both
    return (_op("xor", word, _const(turned)) if turned else word), t.bits, (zero if over else -zero) if biased else 0


def _wide(least: Expr, bits: int, zero: int | None) -> Expr:
    """The 64-bit word of a narrow one; the lower half of a bf16's rank repeats its sign."""
    if zero is None:
        below = _op("and", _op("shr", least, _const(WORD - 1)), _const((1 << bits) - 1))
        rank = _op("or", _op("and", least, _const(-1 << bits)), below)
    else:
        rank = _op("add", _op("shr", least, _const(WORD - bits)), _const(zero))
    number = _op("and", least, _const((1 << WORD - bits) - 1))
    high = _op("shl", _op("cast", rank, t=I64), _const(WORD, I64), t=I64)
    return _op("or", high, _op("cast", number, t=I64), t=I64)


def _const(value: int, t: DType = I32) -> Expr:
    return Expr("const", (), t, SCALAR, value)


def _op(name: str, *args: Expr, t: DType = I32) -> Expr:
    return Expr(name, args, t, args[0].space)


_NARROW: dict[DType, DType] = {I64: I32, U64: U32}
_SERVED: dict[DType, tuple[DType, ...]] = {I64: (BOOL, I8, U8, I16, U16), U64: (BOOL, U8, U16)}
"""The element types that each sum type serves; a negative element in an unsigned sum would widen wrongly."""
_NARROWEST: dict[DType, tuple[DType, ...]] = {I32: (I8, I16), U32: (U8, U16)}
"""The narrow element types of the extremes that are taken in each type."""


def narrowed(program: Program) -> tuple[Program, int | None]:
    """``program`` with a narrow state if it can have one, and the most elements a result may then have; None: any."""
    if found := with_narrow_words(program):
        return found
    (reduce,) = program.reduces
    monoid = program.monoid
    if extreme := _extreme(program, reduce, monoid):
        return replace(program, outputs=rewrite(program.outputs, {reduce.digest: extreme})), None
    wide = monoid.state[0]
    if wide not in _NARROW or operation(monoid) != "add" or monoid.identity != (0,):
        return program, None
    element, t = _element(reduce.args[0]), _NARROW[wide]
    if element is None:
        return program, None
    params = tuple(Expr("param", (), t, SCALAR, i) for i in (0, 1))
    combine = Expr("add", params, t, SCALAR, None, monoid.combine[0].where)
    graph = replace(monoid, state=(t,), combine=(combine,))
    total = Expr("result", (Expr("reduce", (element,), t, KEPT, graph, reduce.where),), t, KEPT, 0)
    old = Expr("result", (reduce,), wide, KEPT, 0)
    outputs = rewrite(program.outputs, {old.digest: Expr("cast", (total,), wide, KEPT)})
    return replace(program, outputs=outputs), _most(element)


def _element(e: Expr) -> Expr | None:
    """``e`` in the narrower type if it is an element of few bits, or 0 outside a mask; else None."""
    t, masks = _NARROW[e.dtype], list[Expr]()
    while e.op == "where" and e.args[2].op == "const" and e.args[2].value == 0:
        masks.append(e)
        e = e.args[1]
    if e.op != "cast" or e.args[0].dtype not in _SERVED[e.dtype]:
        return None
    nothing = Expr("const", (), t, SCALAR, 0)
    found = Expr("cast", e.args, t, e.space, e.value, e.where)
    for m in reversed(masks):
        found = Expr("where", (m.args[0], found, nothing), t, m.space, m.value, m.where)
    return found


def _extreme(program: Program, reduce: Expr, monoid: MonoidGraph) -> Expr | None:
    """The ``reduce`` with the last narrow integer as its identity; None if it is no extreme of narrow integers."""
    wide, last = monoid.state[0], {"min": "highest", "max": "lowest"}.get(operation(monoid))
    if not last or monoid.identity != (getattr(wide, last),):
        return None
    masks, e = list[Expr](), reduce.args[0]
    while e.op == "where" and e.args[2].op == "const" and e.args[2].value == monoid.identity[0]:
        masks.append(e)
        e = e.args[1]
    narrow = e.args[0].dtype if e.op == "cast" else wide
    of_none = monoid.has_identity or masks
    if narrow not in _NARROWEST.get(wide, ()) or (of_none and not _joined(program, reduce, narrow)):
        return None
    identity = getattr(narrow, last)
    for mask in reversed(masks):
        other = replace(mask.args[2], value=identity)
        e = replace(mask, args=(mask.args[0], e, other))
    return replace(reduce, args=(e,), value=replace(monoid, identity=(identity,)))


def _joined(program: Program, reduce: Expr, narrow: DType) -> bool:
    """Whether every use of an extreme combines it with a number of the narrow type, such as an initial value.

    Otherwise a caller may see the extreme of no elements, which is a wider number.
    """
    result = Expr("result", (reduce,), reduce.dtype, KEPT, 0).digest
    users = [e for e in walk(program.outputs) if any(a.digest == result for a in e.args)]
    numbers = [a.value for e in users if e.op == operation(program.monoid) for a in e.args if a.op == "const"]
    read = len(numbers) < len(users) or any(o.digest == result for o in program.outputs)
    return not read and all(isinstance(x, int) and narrow.lowest <= x <= narrow.highest for x in numbers)


def _most(element: Expr) -> int:
    """The most elements, whatever their values, whose sum fits into the type of ``element``."""
    while element.op == "where":
        element = element.args[1]
    t, added = element.dtype, element.args[0].dtype
    return int(min(t.highest // added.highest, t.lowest // added.lowest if added.lowest else t.highest))
