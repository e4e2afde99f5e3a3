"""The states of the sections of a row, which a later step combines: lanes that share a section meet by shuffles.

Section s of a row is its elements from ``s * section`` on, ``section`` of them. The states of all sections of all rows
lie one behind another in an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....compiler.ir.combine import pack, unpack
from ....compiler.ir.dialect.base import state_type
from ....compiler.ir.mlir import arith
from .row_accesses import RowAccesses, wide


def store_sections(row: RowAccesses, elements: Sequence[Any], r: Any) -> None:
    """Combines the elements of each section in the access at ``r``, and has its first lane write the state."""
    kernel, place, plan, section = row.kernel.of_sections, row.place, row.kernel.plan, row.kernel.facts.section
    with kernel.reduce.location:
        own = pack([wide(v, plan.vector) for v in elements])
        attributes: dict[str, Any] = {"elements": plan.vector, "columns": 1}
        state = kernel.stage("fold.block_reduce", [state_type(kernel.states)], [own], attributes).results[0]
        lanes = section // plan.vector
        if lanes > 1:
            attributes = {"lanes": lanes, "stride": 1, "ordered": True}
            state = kernel.stage("fold.warp_reduce", [state.type], [state], attributes).results[0]
    first = kernel.is_first(kernel.modulo(place.position, lanes))
    on = arith.andi(arith.andi(first, place.in_range), kernel.less(r, row.chunk.limit))
    sections = kernel.divide(kernel.arg("n_reduced"), section)
    at = arith.addi(arith.muli(place.kept, sections), kernel.divide(r, section))
    for number, value in zip(kernel.section_results, unpack(state), strict=True):
        operands = [value, kernel.arg("output", number), at, on, kernel.number(1)]
        kernel.make_op("fold.store", [], operands, {"kept_rank": 1, "reduced_rank": 0, "vector": False})
