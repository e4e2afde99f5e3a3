"""Accesses to elements of a row of which some may lie beside it: none of these is touched.

Those beside the row may be another thread's, which writes them if a result lies where an input does. An aligned access
lies in the row as a whole or not at all. A shifted one may be cut by either end: its elements are then read one by one,
unless no thread writes what lies beside the row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ...compiler.ir.build import before, integer, load, replace, store
from ...compiler.ir.combine import elements, fragment, splat, width
from ...compiler.ir.dialect.access import ELEMENT_ACCESS
from ...compiler.ir.dialect.base import bool_attr, element, str_attr
from ...compiler.ir.mlir import arith, ir, scf
from ...compiler.plan.plan import OF_BITS
from .bits import begins_word, load_bits, store_word
from .offsets import offset

LOAD, STORE = 5, 7
"""Operands before the layout."""


def lower_element_load(op: Any) -> None:
    """Lowers a load to one vector load, to single loads, or to a branch between both."""
    base, kept, reduced, first, end = list(op.operands)[:LOAD]
    access, t = str_attr(op, "access", ELEMENT_ACCESS), op.results[0].type
    along = str_attr(op, "axis", ("kept", "reduced"))
    with before(op):
        if access == "shifted":
            at, readable = offset(op, kept, reduced, LOAD), op.operands[len(op.operands) - 1]
            whole = arith.ori(_inside(reduced, first, end, width(t)), is_readable(at, width(t), readable))
            value = _if_else(whole, [t], lambda: [load(base, at, t)], lambda: [fragment(_apart(op))])[0]
        elif access in ("aligned", "bits") or along == "kept":
            there = arith.cmpi(arith.CmpIPredicate.slt, reduced, end)
            read = partial(_at, op, base, kept, reduced, access, t)
            value = _if_else(there, [t], lambda: [read()], lambda: [_zeros(t)])[0]
        elif access == "uniform":
            value = splat(load(base, offset(op, kept, clamped(reduced, first, end), LOAD), element(t)), width(t))
        else:
            value = fragment(_apart(op))
        replace(op, [value])


def is_readable(at: Any, lanes: int, readable: Any) -> Any:
    """Whether ``lanes`` elements from offset ``at`` of an array on are among its first ``readable`` elements."""
    after = arith.addi(at, integer(at.type, lanes))
    early = arith.cmpi(arith.CmpIPredicate.sge, at, integer(at.type, 0))
    return arith.andi(early, arith.cmpi(arith.CmpIPredicate.sle, after, readable))


def _at(op: Any, base: Any, kept: Any, reduced: Any, access: str, t: Any) -> Any:
    """The fragment at indices that exist."""
    lanes, scalar = width(t), element(t)
    if access == "bits":
        return load_bits(base, offset(op, kept, reduced, LOAD), t)
    single = partial(load_bits if access == "bits_strided" else load, base)
    if access == "aligned" or lanes == 1:
        return single(offset(op, kept, reduced, LOAD), t)
    if access == "uniform":
        return splat(load(base, offset(op, kept, reduced, LOAD), scalar), lanes)
    columns = [arith.addi(kept, integer(kept.type, j)) if j else kept for j in range(lanes)]
    return fragment([single(offset(op, k, reduced, LOAD), scalar) for k in columns])


def _if_else(
    condition: Any, types: list[Any], there: Callable[[], list[Any]], else_: Callable[[], list[Any]]
) -> list[Any]:
    """Values of these types that one of two branches makes."""
    branch = scf.IfOp(condition, types, has_else=True)
    for block, make in ((branch.then_block, there), (branch.else_block, else_)):
        with ir.InsertionPoint(block):
            scf.YieldOp(make())
    return list(branch.results)


def _zeros(t: Any) -> Any:
    """Zeros of type ``t``, in place of elements that do not count."""
    scalar = element(t)
    zero = ir.IntegerAttr.get(scalar, 0) if isinstance(scalar, ir.IntegerType) else ir.FloatAttr.get(scalar, 0.0)
    return arith.constant(t, zero if width(t) == 1 else ir.DenseElementsAttr.get_splat(t, zero))


def _apart(op: Any) -> list[Any]:
    """The elements of a fragment, read one by one: those that lie in the row, and one of them for each other one.

    The branch gives single elements, so that no thread waits for them in it.
    """
    base, kept, reduced, first, end = list(op.operands)[:LOAD]
    t, index = op.results[0].type, reduced.type
    single = partial(load_bits if str_attr(op, "access", ELEMENT_ACCESS) in OF_BITS else load, base)
    low = arith.maxsi(reduced, first) if width(t) > 1 else reduced
    behind = arith.minsi(arith.addi(reduced, integer(index, width(t))), end)

    def read() -> list[Any]:
        high = arith.subi(behind, integer(index, 1))
        indices = [arith.addi(reduced, integer(index, j)) if j else reduced for j in range(width(t))]
        own = [arith.minsi(arith.maxsi(r, low), high) for r in indices] if width(t) > 1 else indices
        return [single(offset(op, kept, r, LOAD), element(t)) for r in own]

    some = arith.cmpi(arith.CmpIPredicate.slt, low, behind)
    return _if_else(some, [element(t)] * width(t), read, lambda: [_zeros(element(t))] * width(t))


def clamped(r: Any, first: Any, end: Any) -> Any:
    """The index in [first, end) that is nearest to ``r``."""
    return arith.minsi(arith.maxsi(r, first), arith.subi(end, integer(end.type, 1)))


def lower_element_store(op: Any) -> None:
    """Lowers a store to a branch around a vector store, or around stores of single elements."""
    value, base, kept, reduced, first, end, on = list(op.operands)[:STORE]
    access, along = str_attr(op, "access", ELEMENT_ACCESS), str_attr(op, "axis", ("kept", "reduced"))
    lanes, whole = width(value.type), bool_attr(op, "whole")
    with before(op):
        if access == "bits":
            at = offset(op, kept, reduced, STORE)
            here = arith.andi(on, begins_word(at))
            here = here if whole else arith.andi(here, _inside(reduced, first, end, 1))
            _if(here, lambda: store_word(value, base, at))
            replace(op, [])
            return
        at_once = access != "strided" or lanes == 1
        cut = not whole and along == "reduced" and access != "aligned" and lanes > 1
        here = on if whole else arith.andi(on, _inside(reduced, first, end, lanes if at_once and cut else 1))
        if at_once:
            _if(here, lambda: store(value, base, offset(op, kept, reduced, STORE)))
        if cut:
            beside = arith.xori(here, integer(on.type, 1)) if at_once else on
            _store_apart(op, arith.andi(on, beside) if at_once else on, cut=True)
        elif not at_once:
            _store_apart(op, here, cut=False)
        replace(op, [])


def _inside(r: Any, first: Any, end: Any, lanes: int) -> Any:
    """Whether ``lanes`` elements from ``r`` on are in [first, end)."""
    low = arith.cmpi(arith.CmpIPredicate.sge, r, first)
    last = arith.addi(r, integer(r.type, lanes - 1)) if lanes > 1 else r
    return arith.andi(low, arith.cmpi(arith.CmpIPredicate.slt, last, end))


def _if(condition: Any, write: Any) -> None:
    branch = scf.IfOp(condition)
    with ir.InsertionPoint(branch.then_block):
        write()
        scf.YieldOp([])


def _store_apart(op: Any, on: Any, *, cut: bool) -> None:
    """Stores a fragment element by element, inside one branch; if the row may cut it, those that lie in the row."""
    value, base, kept, reduced, first, end = list(op.operands)[: STORE - 1]
    along, one = str_attr(op, "axis", ("kept", "reduced")), reduced.type

    def write_all() -> None:
        for j, x in enumerate(elements(value)):
            step = integer(one, j)
            k = arith.addi(kept, step) if along == "kept" and j else kept
            r = arith.addi(reduced, step) if along == "reduced" and j else reduced

            def write(k: Any = k, r: Any = r, x: Any = x) -> None:
                store(x, base, offset(op, k, r, STORE))

            _if(_inside(r, first, end, 1), write) if cut else write()

    _if(on, write_all)
