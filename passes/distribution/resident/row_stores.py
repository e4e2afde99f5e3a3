"""How a thread writes the results of the row that it shares: those of its elements, and those of the row."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from typing import Any

from ....compiler.ir.build import bytes_of, memory_type
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, ir, scf
from ....compiler.plan.fields import OF_BITS
from ....compiler.plan.layout import layout_of
from ....compiler.plan.tiles import SECTOR
from ....compiler.postorder import postorder
from ....compiler.program.bit_arrays import WORD
from ...access.offsets import coordinates
from ..kernel import load_attributes
from ..reader import operands_of
from .held_accesses import has_weights_of_columns
from .row_accesses import RowAccesses, layout_of_operand, ranks_of, wide

NARROW = 2
"""Bytes of an element of narrow results. On an H100 an RMS norm of bf16 256 x 131072 took 46.8 us by a branch for each
store, and 44.7 by one for all; of f32 128 x 131072 45.6 and 46.4."""


def store_elements(row: RowAccesses, number: int, value: Any, r: Any, *, whole: bool) -> None:
    """Writes the elements of a result in the access at ``r``."""
    kernel, access = row.kernel, row.kernel.facts.stores[number]
    operand = len(kernel.inputs) + number
    if operand in row.starts:
        rank, (at, layout, bounds) = row.from_start(operand, r, access)
    else:
        rank = ranks_of(kernel, operand)
        at, bounds = [row.pointer("output", number), row.place.start, r], [row.chunk.first, row.chunk.limit]
        layout = layout_of_operand(kernel, operand)
    value = wide(value, kernel.plan.vector)
    if access in OF_BITS:
        value, access = _ballot(row, value, r, whole=whole), "bits"
    attributes = load_attributes(*rank, kernel.plan.fast, access) | {"whole": whole}
    attributes |= {"neighbours": kernel.plan.lanes} if access == "unaligned" else {}
    attributes |= {"own": kernel.plan.vector} if access == "bits" and kernel.plan.word == "byte" else {}
    here = _owns(row, operand, r, element(value.type)) if kernel.plan.overlap else row.place.in_range
    operands = [value, *at, *bounds, here, *layout]
    kernel.make_op("fold.element_store", [], operands, attributes)


@contextmanager
def where_row_is(row: RowAccesses, results: Sequence[tuple[int, Any]]) -> Iterator[RowAccesses]:
    """Where the row exists: the accesses to it, whose stores of ``results`` need not ask for that.

    One branch goes around all stores of a CTA that has one row, or columns with weights along them. With a branch
    around each of them, what an access reads for its results would be read behind the store of the access before. Of
    wide elements that hides as much, and takes fewer registers.
    """
    plan, place = row.kernel.plan, row.place
    together = not plan.overlap and (plan.slots == 1 or has_weights_of_columns(row.kernel))
    apart = not together or plan.walk == "blocked" or plan.fragments == "matrix"
    if apart or any(bytes_of(memory_type(element(v.type))) > NARROW for _, v in results):
        yield row
        return
    branch = scf.IfOp(place.in_range)
    with ir.InsertionPoint(branch.then_block):
        yield replace(row, place=replace(place, in_range=arith.constant(place.in_range.type, 1)))
        scf.YieldOp([])


def _lie_alike(row: RowAccesses, operand: int, t: Any) -> bool:
    """Whether sectors of a result of type ``t`` lie alike in all rows of a thread, which keeps these in registers.

    Elements that wait in shared memory are computed again: with one branch around all stores that is slower.
    """
    kernel = row.kernel
    whole = kernel.plan.vector if kernel.facts.stores[operand - len(kernel.inputs)] == "aligned" else 1
    step = layout_of(kernel.plan).step * whole * bytes_of(memory_type(t))
    return kernel.plan.resident == "registers" and kernel.facts.reduced_rank == 1 and step % SECTOR == 0


def _owns(row: RowAccesses, operand: int, r: Any, t: Any) -> Any:
    """Whether the thread writes its elements of a result of type ``t`` at ``r``.

    Their sector then begins among the CTA's own results, or before the row of results. Where the rows of a thread are
    so far apart that sectors lie alike in all of them, it is known of all by the first one.
    """
    kernel, place, item = row.kernel, row.place, bytes_of(memory_type(t))
    kept, reduced = range(kernel.facts.kept_rank), range(kernel.facts.reduced_rank)
    r = row.begin if _lie_alike(row, operand, t) else r
    along = coordinates(place.kept, kernel.dims("kept_size", 0, kept[1:]), len(kept))
    along += coordinates(r, kernel.dims("reduced_size", 0, reduced[1:]), len(reduced))
    strides = kernel.dims("kept_stride", operand, kept) + kernel.dims("reduced_stride", operand, reduced)
    at = reduce(arith.addi, (arith.muli(*pair) for pair in zip(along, strides, strict=True)))
    operands = [kernel.arg("output", operand - len(kernel.inputs)), at, kernel.number(1)]
    attributes = {"lanes": SECTOR // item, "bytes": item, "kept_rank": 1, "reduced_rank": 0}
    past = kernel.make("fold.lead", kernel.index, operands, attributes, 1)
    first = arith.subi(place.slot, arith.minsi(past, along[len(kept) - 1]))
    own = arith.cmpi(arith.CmpIPredicate.ult, first, kernel.number(kernel.plan.own))
    return arith.andi(own, place.in_range)


def _ballot(row: RowAccesses, mask: Any, r: Any, *, whole: bool) -> Any:
    """The words of truth values in the access at ``r``, with zeros for elements beyond the row."""
    if not whole:
        mask = arith.andi(mask, wide(row.live(r), row.kernel.plan.vector))
    word, plan = ir.IntegerType.get_signless(WORD), row.kernel.plan
    attributes: dict[str, Any] = {"word": plan.word} if plan.word else {}
    if plan.lanes * plan.vector < WORD:  # a row has no more elements
        attributes["lanes"] = plan.lanes
    return row.kernel.make_op("fold.ballot", [word], [mask], attributes).results[0]


def store_rows(row: RowAccesses, results: Sequence[tuple[int, Any]]) -> None:
    """Writes results that have a value for each row.

    One that needs arrays of which nothing was read yet is made by the thread that writes it, and by no other. So it
    may take the place of such an array.
    """
    for number, result in results:
        known = row.values.kept
        if any(isinstance(v, ir.BlockArgument) for v in postorder([result], operands_of, known)):
            branch = scf.IfOp(row.place.owner)
            with ir.InsertionPoint(branch.then_block):
                own = replace(row.values, kept=ChainMap({}, known))
                _store_kept(row, number, own.fragment(result, {}, None, None))
                scf.YieldOp([])
        else:
            _store_kept(row, number, row.values.fragment(result, {}, None, None))


def _store_kept(row: RowAccesses, number: int, value: Any) -> None:
    """Writes the value of a result for each row."""
    kernel, place, dims = row.kernel, row.place, range(row.kernel.facts.kept_rank)
    layout = kernel.dims("kept_size", 0, dims[1:]) + kernel.dims("kept_stride", len(kernel.inputs) + number, dims)
    attributes = {"kept_rank": len(dims), "reduced_rank": 0, "vector": kernel.facts.store_vector}
    value = wide(value, place.plan.vector_kept)
    operands = [value, kernel.arg("output", number), place.kept, place.owner, *layout]
    kernel.make_op("fold.store", [], operands, attributes)
