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
"""

from __future__ import annotations

from dataclasses import replace

from ...dtypes import BOOL, I8, I16, I32, I64, U8, U16, U32, U64, DType
from ..analysis.atomic import operation
from ..graph import KEPT, SCALAR, Expr, MonoidGraph, Program, rewrite, walk
from .ranked_states import with_narrow_words, with_words

_NARROW: dict[DType, DType] = {I64: I32, U64: U32}
_SERVED: dict[DType, tuple[DType, ...]] = {I64: (BOOL, I8, U8, I16, U16), U64: (BOOL, U8, U16)}
"""The element types that each sum type serves; a negative element in an unsigned sum would widen wrongly."""
_NARROWEST: dict[DType, tuple[DType, ...]] = {I32: (I8, I16), U32: (U8, U16)}
"""The narrow element types of the extremes that are taken in each type."""


def narrowed(program: Program) -> tuple[Program, int | None]:
    """``program`` with a narrow state if it can have one, and the most elements a result may then have; None: any."""
    program = with_words(program)
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
