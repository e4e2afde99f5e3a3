"""Where the accesses of a thread to its row begin, and from where they are counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ....compiler.ir.build import address
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith
from ..kernel import Kernel
from ..place import Place, lanes_of, lead_of
from ..walk import Chunk
from .row_tiles import row_offset


def existing_block(kernel: Kernel, place: Place, begin: Any, chunk: Chunk) -> tuple[Any, Place]:
    """Where the block of a thread begins, and its place: a block beyond the chunk is the last one, and not written."""
    here = arith.andi(place.in_range, kernel.less(begin, chunk.limit))
    last = arith.subi(kernel.arg("n_reduced"), kernel.number(kernel.plan.held))
    return arith.minsi(begin, last), replace(place, in_range=here)


def is_shifted(kernel: Kernel) -> bool:
    """Whether accesses begin at the boundary before the row."""
    return "shifted" in (*kernel.facts.access, *kernel.facts.stores) and not kernel.plan.exchanges


def earlier(kernel: Kernel, chunk: Chunk, lead: Any) -> Chunk:
    """The elements that a CTA owns of a row that CTAs share, where all accesses begin ``lead`` elements early."""
    if kernel.phases and kernel.plan.cluster == 1 and not kernel.plan.is_far:
        return chunk
    first = arith.subi(chunk.first, lead)
    limit = arith.minsi(arith.addi(first, chunk.length), kernel.arg("n_reduced"))
    return chunk._replace(first=arith.maxsi(first, kernel.number(0)), limit=limit)


def first_of(kernel: Kernel, operand: int, begin: Any) -> Any:
    """From where in a row the accesses to an operand in a tile are counted: its elements may lie apart."""
    accesses = (*kernel.facts.access, *kernel.facts.stores)
    return counted_from(kernel, begin) if accesses[operand] == "tile" else kernel.number(0)


def counted_from(kernel: Kernel, begin: Any) -> Any:
    """From where accesses to dense rows are counted.

    Accesses that are values of the kernel are at constant distances from the thread's first one. A loop has the bounds
    of the row, so it counts from the row's first element.
    """
    return kernel.number(0) if kernel.plan.waits_in_tile else begin


def start_of(kernel: Kernel, place: Place, begin: Any, operand: int, base: Any, origin: Any = None) -> Any:
    """Where element ``begin`` of a thread's row is in an operand, in which element ``origin`` lies at ``base``."""
    index = arith.addi(row_offset(kernel, place.start, operand), begin)
    index = index if origin is None else arith.subi(index, origin)
    return address(base, index, element([*kernel.inputs, *kernel.results][operand].type))


def lead_of_row(kernel: Kernel, place: Place) -> Any:
    """How many elements the row begins after a boundary of all arrays with shifted rows.

    Of elements so wide that an access of the plan is several of memory, boundaries lie closer: those of the narrowest
    elements are boundaries of all.
    """
    names = (*kernel.facts.access, *kernel.facts.stores)
    tensors = [*kernel.inputs, *kernel.results]
    shifted = [i for i, name in enumerate(names) if name == "shifted"]
    operand = max(shifted, key=lambda i: lanes_of(kernel, element(tensors[i].type)))
    role, number = ("input", operand) if operand < len(kernel.inputs) else ("output", operand - len(kernel.inputs))
    dims = range(kernel.facts.kept_rank)
    layout = kernel.dims("kept_size", 0, dims[1:]) + kernel.dims("kept_stride", operand, dims)
    return lead_of(kernel, element(tensors[operand].type), kernel.arg(role, number), place.start, layout)
