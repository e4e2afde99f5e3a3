"""The slots in shared memory into which a thread copies what it keeps of its row."""

from __future__ import annotations

from typing import Any

from ....compiler.ir.build import bytes_of, memory_type
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, gpu, ir
from ....compiler.plan.layout import layout_of
from ..kernel import load_attributes
from .row_accesses import RowAccesses, after_layout, layout_of_operand


def hold(
    row: RowAccesses, operand: int, t: Any, *,
    walked: bool = False, start: int | None = None, later: bool = False, moved: Any = None,
    zeros: bool = False, once: bool = False,
) -> Any:  # fmt: skip
    """The slots in shared memory into which the thread copies its accesses of an input: all, or those there are.

    They begin at the byte ``start``, or where the slots of other inputs end. With ``start`` there may be no row. Those
    that are read ``later`` are in a loop whose next turn reads them. They may be ``moved`` by so many threads. Where
    no ``cp.async`` copies them, ``zeros`` may lie beside the row. What the kernel does ``once`` is short code.
    """
    kernel, plan, facts = row.kernel, row.kernel.plan, row.kernel.facts
    layout = layout_of_operand(kernel, operand) + after_layout(kernel, operand)
    attributes: dict[str, Any] = load_attributes(facts.kept_rank, facts.reduced_rank, plan.fast, facts.access[operand])
    attributes |= {"step": layout_of(plan).step, "slots": plan.held, "threads": plan.threads}
    attributes |= {"vector": plan.vector, "item": bytes_of(memory_type(t)), "whole": facts.full}
    attributes |= {"walked": True, **alternating(row, operand)} if walked else {}
    attributes |= {} if start is None else {"start": start, "whole": False}
    attributes |= {"later": True} if later else {}
    attributes |= {"zeros": True} if zeros else {}
    attributes |= {"once": True} if once else {}
    thread = kernel.id(gpu.thread_id(gpu.Dimension.x))
    thread = thread if moved is None else arith.addi(thread, moved)
    operands = [
        row.pointer("input", operand),
        row.place.start,
        row.begin,
        row.chunk.first,
        row.chunk.limit,
        thread,
    ]
    pointer = ir.Type.parse("!llvm.ptr<3>")
    return kernel.make_op("fold.hold", [pointer], [*operands, *layout], attributes).results[0]


def alternating(row: RowAccesses, operand: int) -> dict[str, int]:
    """Where the slots of an input lie that a loop walks, if several inputs wait: those of all inputs alternate.

    So the bytes of all slots follow from the accesses of the launch.
    """
    kernel, waiting = row.kernel, row.kernel.facts.waiting
    if len(waiting) == 1:
        return {}
    each = kernel.plan.threads * kernel.plan.vector
    nbytes = {i: each * bytes_of(memory_type(element(kernel.inputs[i].type))) for i in waiting}
    return {"start": sum(n for i, n in nbytes.items() if i < operand), "pitch": sum(nbytes.values())}
