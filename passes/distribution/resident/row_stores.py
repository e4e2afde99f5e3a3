"""How a thread writes the results of the row that it shares: those of its elements, and those of the row.

The results of a row that waits on chip, written access by access, or as blocks when all elements are read.

The states of the sections of a row, which a later step combines: lanes that share a section meet by shuffles.

Section s of a row is its elements from ``s * section`` on, ``section`` of them. The states of all sections of all rows
lie one behind another in an array.

The code of accesses of a row: once for those that are alike, in a loop that is unrolled when its code is lowered.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from itertools import groupby
from typing import Any, TypeVar

from ....compiler.ir.build import bytes_of, memory_type, when
from ....compiler.ir.combine import pack, unpack, with_shape
from ....compiler.ir.dialect.base import element, state_type
from ....compiler.ir.mlir import arith, ir
from ....compiler.ir.unrolled_loops import REPEATED, unrolled
from ....compiler.plan.fields import OF_BITS, TRANSPOSED
from ....compiler.plan.layout import layout_of
from ....compiler.plan.tiles import SECTOR
from ....compiler.postorder import postorder
from ....compiler.program.bit_arrays import WORD
from ...access.offsets import coordinates
from ..kernel import load_attributes
from ..reader import operands_of
from .exchange import store_bits
from .held_accesses import AT_ONCE, HeldAccesses, Turn, has_weights_of_columns, in_turns, turns_of
from .row_accesses import RowAccesses, layout_of_operand, ranks_of, wide
from .transposed_blocks import store_transposed
from .values import Numbered

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
    with when(place.in_range):
        yield replace(row, place=replace(place, in_range=arith.constant(place.in_range.type, 1)))


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
            with when(row.place.owner):
                own = replace(row.values, kept=ChainMap({}, known))
                _store_kept(row, number, own.fragment(result, {}, None, None))
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


R = TypeVar("R", bound=HeldAccesses)


def each_access(
    row: R,
    tensors: Sequence[Any],
    types: Sequence[Any],
    make: Callable[[R, int], Sequence[Any]],
    later: Sequence[Any] = (),
    numbers: Sequence[int] | None = None,
    *,
    masked: bool = False,
) -> list[Sequence[Any]]:
    """What ``make`` gives of each access, or those of ``numbers``, values of ``types``.

    ``make`` writes the code of an access. For this it needs fragments of ``tensors``; those that ``later`` tensors need
    are known then. The first access has code of its own if it is ``masked``, since only that one may begin before the
    row, and if it makes what all accesses need.
    """
    numbers = range(len(row.starts)) if numbers is None else numbers
    if row.row.kernel.plan.walk == "blocked":  # several accesses at once
        return [make(row, j) for j in numbers]
    found: list[Sequence[Any]] = []
    values = row.row.values
    apart = masked or not all(map(values.varies, postorder(tensors, operands_of, values.kept)))
    for _, alike in groupby(numbers, lambda j: (row.is_whole(j), row.is_inside(j), apart and not j)):
        run = list(alike)
        if len(run) < REPEATED:
            found += [make(row, j) for j in run]
        else:
            found += _in_loop(row, run, tensors, types, make, later)
    return found


def _in_loop(
    row: R,
    run: Sequence[int],
    tensors: Sequence[Any],
    types: Sequence[Any],
    make: Callable[[R, int], Sequence[Any]],
    later: Sequence[Any],
) -> list[Sequence[Any]]:
    """What ``make`` gives of the accesses of a run: a loop over them, which is unrolled when its code is lowered.

    Fragments of all accesses go round: in a turn those of its access come first.
    """
    kernel, values = row.row.kernel, row.row.values
    values.prepare(tensors)
    known = row.fragments[run[0]]
    given = _first_known(tensors, {*known}, values.kept)
    made = [v for v in postorder(tensors, operands_of, {*known, *values.kept}) if values.varies(v)]
    carried = _first_known([v for v in later if values.varies(v)], {*made}, {*known, *values.kept})
    extra = [with_shape(element(v.type), kernel.plan.vector) for v in carried]

    def turn(number: Any, own: Sequence[Any], _: Any) -> tuple[list[Any], list[Any]]:
        own_row = replace(row.row, values=replace(values, kept=dict(values.kept)))
        fragments = dict(zip(given, own[1:], strict=True))
        number = arith.addi(row.turn.number, number) if row.turn else number
        alike = Turn(number, [row.like(run[0])])
        one = replace(row, row=own_row, starts=(own[0],), fragments=(fragments,), turn=alike)
        return [*make(one, 0), *(fragments[v] for v in carried)], []

    accesses = [[row.starts[j], *(row.fragments[j][v] for v in given)] for j in run]
    numbers = [kernel.number(k) for k in (run[0], run[-1] + 1, 1)]
    parts, _ = unrolled(accesses, [*types, *extra], turn, numbers)
    for j, part in zip(run, parts, strict=True):
        row.fragments[j].update(zip(carried, part[len(types) :], strict=True))
    return [part[: len(types)] for part in parts]


def _first_known(ends: Sequence[Any], found: Container[Any], known: Container[Any]) -> list[Any]:
    """The values in ``found`` from which ``ends`` are made; those in ``known`` are there anyway."""
    return [v for v in postorder(ends, lambda v: () if v in found else operands_of(v), known) if v in found]


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
