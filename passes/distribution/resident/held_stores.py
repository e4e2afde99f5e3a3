"""The results of a row that waits on chip, written access by access, or as blocks when all elements are read."""

from __future__ import annotations

from typing import Any

from ....compiler.ir.dialect.base import element
from ....compiler.plan.fields import TRANSPOSED
from .alike_accesses import each_access
from .exchanged_bits import store_bits
from .held_accesses import HeldAccesses
from .row_stores import store_elements
from .sections import store_sections
from .transposed_blocks import store_transposed
from .turns import AT_ONCE, in_turns, turns_of
from .values import Numbered


def store_held(row: HeldAccesses, elements: Numbered) -> None:
    """Writes results that have a value for each element."""
    if row.row.kernel.plan.walk == "blocked":
        _store_blocks(row, elements)
        return
    sections = row.row.kernel.sections
    folded = sections.sources if sections else []

    def write(row: HeldAccesses, j: int) -> list[Any]:
        made = [(number, row.fragment(result, j)) for number, result in elements]
        for number, value in made:
            store_access(row, number, value, j)
        if folded:
            store_sections(row.row, [row.fragment(v, j) for v in folded], row.starts[j])
        return []

    tensors = [*(result for _, result in elements), *folded]
    turns = turns_of(row, AT_ONCE)
    if turns:
        row.row.values.prepare(tensors)
        in_turns(row, turns, AT_ONCE, lambda own, *_: each_access(own, tensors, [], write)[:0])
    each_access(row, tensors, [], write, (), range(turns * AT_ONCE, len(row.starts)))
    if row.tile:
        stores = row.row.kernel.facts.stores
        row.tile.write({n: element(v.type) for n, v in elements if stores[n] == "matrix"})


def store_access(row: HeldAccesses, number: int, value: Any, j: int) -> None:
    """Writes a result in access ``j``, or puts it where an input was in the tile."""
    kernel = row.row.kernel
    if row.tile and kernel.facts.stores[number] == "matrix":
        row.tile.put(number, value, row.number(j))
    else:
        store_elements(row.row, number, value, row.starts[j], whole=row.is_whole(j))


def _store_blocks(row: HeldAccesses, results: Numbered) -> None:
    """Writes the blocks of results, each along the axis of its array, when all elements are read."""
    kernel = row.row.kernel
    made = [(number, [row.fragment(result, j) for j in range(len(row.starts))]) for number, result in results]
    bits = [own for own in made if kernel.facts.stores[own[0]] == "bits_exchanged"]
    for number, values in made:
        if kernel.facts.stores[number] == "bits_exchanged":
            continue
        if row.row.kernel.facts.stores[number] in TRANSPOSED:
            store_transposed(row.row, number, values)
            continue
        for j, (r, value) in enumerate(zip(row.starts, values, strict=True)):
            if row.row.columns:
                row.row.columns.store(number, value, r)
            else:
                store_elements(row.row, number, value, r, whole=row.is_whole(j))
    store_bits(row.row, bits)
