"""Results whose elements a CTA copies into shared memory, where its threads then read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ...compiler.ir.build import bytes_of, memory_type, repeat
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, gpu, ir
from ...compiler.plan import tiles
from ...compiler.plan.fields import IN_TILE
from .kernel import Kernel
from .place import Place, first_place
from .walk import ElementWalk


@contextmanager
def tile_walk(kernel: Kernel) -> Iterator[ElementWalk]:
    """A loop over the thread's results, which are ``Plan.slots`` apart: its body is made inside, with the walk there.

    A thread that shares none stops after its last one; lanes that meet take part until all of them are done.
    """
    tile, place = first_place(kernel)
    copies = _copies(kernel)
    count, slots, alone = kernel.arg("tile_results"), kernel.number(kernel.plan.slots), kernel.plan.lanes == 1
    begin = arith.muli(kernel.id(gpu.block_id(gpu.Dimension.x)), count)
    end = arith.minsi(arith.addi(begin, count), kernel.arg("n_kept"))
    with repeat(arith.addi(begin, place.slot) if alone else begin, end, slots) as kept:
        if alone:
            yes = kernel.yes()
            place = replace(place, kept=kept, start=kept, in_range=yes, owner=yes)
        else:
            place = Place.of(kernel, place.digits, arith.addi(kept, place.slot), end)
        yield ElementWalk.of(tile, place, copies)


def _copies(kernel: Kernel) -> list[Sequence[Any]]:
    """For each input that the CTA has its own elements of, their copy and where in it they begin; else nothing."""
    plan, inputs = kernel.plan, kernel.inputs
    tile, thread = kernel.id(gpu.block_id(gpu.Dimension.x)), kernel.id(gpu.thread_id(gpu.Dimension.x))
    sizes = [bytes_of(memory_type(element(v.type))) for v in inputs]
    copied = [access in IN_TILE for access in kernel.facts.access]
    found: list[Sequence[Any]] = [()] * len(inputs)
    for i in (i for i, own in enumerate(copied) if own):
        begin = arith.muli(tile, kernel.arg("tile_pitch", i))
        share = tiles.share(plan, sizes, copied, i)
        attributes = {"item": sizes[i], "bytes": share, "threads": plan.threads}
        if beyond := tiles.beyond(plan):
            attributes["beyond"] = beyond
        operands = [kernel.arg("input", i), begin, kernel.arg("tile_length", i), kernel.arg("tile_extent", i), thread]
        types = [ir.Type.parse("!llvm.ptr<3>"), kernel.index]
        found[i] = list(kernel.make_op("fold.tile_copy", types, operands, attributes).results)
    gpu.barrier()
    return found
