"""Accesses to elements of a row of which some may lie beside it: none of these is touched.

An aligned access lies in the row as a whole or not at all: one beyond the end reads the last access of the row instead,
which another thread reads anyway. A shifted one may be cut by either end. It is read whole where it lies in the array,
and else element by element, at indices in the row.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import before, integer, load, replace, store
from ...compiler.ir.combine import elements, fragment, splat, width
from ...compiler.ir.dialect.access import ELEMENT_ACCESS
from ...compiler.ir.dialect.base import bool_attr, element, str_attr
from ...compiler.ir.mlir import arith, ir, scf
from .offsets import offset

LOAD, STORE = 5, 7
"""Operands before the layout."""


def lower_element_load(op: Any) -> None:
    """Lowers a load to one vector load, to single loads, or to a branch between both."""
    base, kept, reduced, first, end = list(op.operands)[:LOAD]
    access, t = str_attr(op, "access", ELEMENT_ACCESS), op.results[0].type
    lanes, along = _width_along(op, t), str_attr(op, "axis", ("kept", "reduced"))
    with before(op):
        if access == "shifted":
            value = _shifted(op, base, kept, reduced)
        elif access == "aligned" or along == "kept":
            last = arith.subi(end, integer(end.type, lanes if access == "aligned" else 1))
            value = _at(op, base, kept, arith.minsi(arith.maxsi(reduced, first), last), access, t)
        elif access == "uniform":
            value = splat(load(base, offset(op, kept, clamped(reduced, first, end), LOAD), element(t)), width(t))
        else:
            value = _apart(op, base, kept, reduced)
        replace(op, [value])


def _width_along(op: Any, t: Any) -> int:
    """Elements of a fragment along the reduced axis."""
    return width(t) if str_attr(op, "axis", ("kept", "reduced")) == "reduced" else 1


def _at(op: Any, base: Any, kept: Any, reduced: Any, access: str, t: Any) -> Any:
    """The fragment at indices that exist."""
    lanes, scalar = width(t), element(t)
    if access == "aligned" or lanes == 1:
        return load(base, offset(op, kept, reduced, LOAD), t)
    if access == "uniform":
        return splat(load(base, offset(op, kept, reduced, LOAD), scalar), lanes)
    columns = [arith.addi(kept, integer(kept.type, j)) if j else kept for j in range(lanes)]
    return fragment([load(base, offset(op, k, reduced, LOAD), scalar) for k in columns])


def _shifted(op: Any, base: Any, kept: Any, reduced: Any) -> Any:
    """A fragment that begins at a boundary: whole where it lies in the array."""
    t, index = op.results[0].type, reduced.type
    at, extent = offset(op, kept, reduced, LOAD), op.operands[len(op.operands) - 1]
    after = arith.addi(at, integer(index, width(t)))
    inside = arith.andi(
        arith.cmpi(arith.CmpIPredicate.sge, at, integer(index, 0)), arith.cmpi(arith.CmpIPredicate.sle, after, extent)
    )
    branch = scf.IfOp(inside, [t], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        scf.YieldOp([load(base, at, t)])
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp([_apart(op, base, kept, reduced)])
    return branch.results[0]


def _apart(op: Any, base: Any, kept: Any, reduced: Any) -> Any:
    """A fragment whose elements are read one by one, at indices in the row."""
    first, end = list(op.operands)[3:LOAD]
    t = op.results[0].type
    indices = [arith.addi(reduced, integer(reduced.type, j)) if j else reduced for j in range(width(t))]
    where = [offset(op, kept, clamped(r, first, end), LOAD) for r in indices]
    return fragment([load(base, w, element(t)) for w in where])


def clamped(r: Any, first: Any, end: Any) -> Any:
    """The index in [first, end) that is nearest to ``r``."""
    return arith.minsi(arith.maxsi(r, first), arith.subi(end, integer(end.type, 1)))


def lower_element_store(op: Any) -> None:
    """Lowers a store to a branch around a vector store, or around stores of single elements."""
    value, base, kept, reduced, first, end, on = list(op.operands)[:STORE]
    access, along = str_attr(op, "access", ELEMENT_ACCESS), str_attr(op, "axis", ("kept", "reduced"))
    lanes, whole = width(value.type), bool_attr(op, "whole")
    with before(op):
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
