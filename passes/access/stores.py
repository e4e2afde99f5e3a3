"""Single stores of a fragment, none of which goes past the kept axis."""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import before, integer, replace, store
from ...compiler.ir.combine import elements, width
from ...compiler.ir.dialect.base import bool_attr, int_attr
from ...compiler.ir.mlir import arith, ir, scf
from .offsets import offset
from .pairs import store_in_pairs


def lower_store(op: Any) -> None:
    """Lowers a store to a branch around vector stores of up to 16 bytes, or around one store an element.

    A fragment never goes past the innermost dim. One that may reach beyond the kept axis (``bounded``) is stored whole
    where it does not. ``paired`` lanes store their results two lanes at a time.
    """
    value, base, kept, on = list(op.operands)[:4]
    with before(op):
        if "paired" in op.attributes:
            store_in_pairs(value, base, offset(op, kept, kept, 4), on)
        else:
            branch = scf.IfOp(on)
            with ir.InsertionPoint(branch.then_block):
                _store(op, value, base, kept)
                scf.YieldOp([])
        replace(op, [])


def _store(op: Any, value: Any, base: Any, kept: Any) -> None:
    """Writes the stores of one thread's fragment."""
    if not bool_attr(op, "vector"):
        return _store_elements(op, value, base, kept)
    if "bounded" not in op.attributes:
        return store(value, base, offset(op, kept, kept, 4))
    fits = scf.IfOp(_fits(op, width(value.type) - 1), has_else=True)
    with ir.InsertionPoint(fits.then_block):
        store(value, base, offset(op, kept, kept, 4))
        scf.YieldOp([])
    with ir.InsertionPoint(fits.else_block):
        _store_elements(op, value, base, kept)
        scf.YieldOp([])
    return None


def _fits(op: Any, last: int) -> Any:
    """Whether the elements 0 to ``last`` of a store's fragment lie on the kept axis."""
    found = _is_kept(op, last)
    return arith.andi(_is_kept(op, 0), found) if "early" in op.attributes else found


def _is_kept(op: Any, j: int) -> Any:
    """Whether element ``j`` of a store's fragment lies on the kept axis; with ``early`` it may also be before it."""
    kept, n_kept = op.operands[2], op.operands[len(op.operands) - 1]
    less = arith.CmpIPredicate.ult if "early" in op.attributes else arith.CmpIPredicate.slt
    return arith.cmpi(less, arith.addi(kept, integer(kept.type, j)) if j else kept, n_kept)


def _store_elements(op: Any, value: Any, base: Any, kept: Any) -> None:
    """Stores the elements one by one, leaving out those beyond the kept axis if the store is ``bounded``."""
    rank, bounded = int_attr(op, "kept_rank"), "bounded" in op.attributes
    first, inner = offset(op, kept, kept, 4), op.operands[4 + 2 * rank - 2]
    for j, x in enumerate(elements(value)):
        along = arith.muli(integer(kept.type, j), inner) if j else None
        at = arith.addi(first, along) if j else first
        if not bounded or (not j and "early" not in op.attributes):
            store(x, base, at)
            continue
        branch = scf.IfOp(_is_kept(op, j))
        with ir.InsertionPoint(branch.then_block):
            store(x, base, at)
            scf.YieldOp([])
