"""The slots of shared memory in which accesses of threads wait: where they lie, and reads of them."""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import address, dynamic_shared, i32, integer, load
from ...compiler.ir.combine import elements, fragment, width, with_shape
from ...compiler.ir.dialect.access import ACCESS_BYTES, slot_bytes
from ...compiler.ir.dialect.base import element, int_attr
from ...compiler.ir.mlir import arith, ir


class Slots:
    """The slots of a thread, which begin at the byte ``start``.

    Attributes:
        place: the address of the thread's first slot.
        end_of_slots: bytes of dynamic shared memory up to the end of these slots.
    """

    def __init__(self, op: Any, thread: Any, start: int) -> None:
        self.op = op
        self.slots, self.threads, self.vector, self.item = (
            int_attr(op, name) for name in ("slots", "threads", "vector", "item")
        )
        self.parts, self.each = _parts(self.vector * self.item)
        self.pitch = _pitch(op, self.parts * self.each)
        self.place = moved(moved(dynamic_shared(op), 1, start), thread, self.each)
        self.end_of_slots = start + self.slots * self.threads * self.vector * self.item


def held(op: Any) -> Any:
    """The access in a slot."""
    t, (slots, number) = op.results[0].type, op.operands
    parts, each = _parts(slot_bytes(t))
    threads = int_attr(op, "threads")
    of_part = with_shape(element(t), width(t) // parts)
    first = moved(slots, number, _pitch(op, parts * each))
    read = [load(moved(first, p, each * threads), i32(0), of_part) for p in range(parts)]
    return read[0] if parts == 1 else fragment([x for part in read for x in elements(part)])


def _pitch(op: Any, nbytes: int) -> int:
    """Bytes from a slot of a thread to its next one, if a slot has ``nbytes``."""
    return int_attr(op, "pitch") if "pitch" in op.attributes else nbytes * int_attr(op, "threads")


def _parts(nbytes: int) -> tuple[int, int]:
    """How many parts an access of ``nbytes`` is copied in, and the bytes of a part."""
    each = min(nbytes, ACCESS_BYTES)
    return nbytes // each, each


def moved(pointer: Any, count: Any, nbytes: int) -> Any:
    """The pointer moved by ``count`` times as many bytes; a count known now may be an int."""
    if isinstance(count, int):
        distance = i32(count * nbytes) if count * nbytes else None
    else:
        distance = arith.muli(count, integer(count.type, nbytes))
    return pointer if distance is None else address(pointer, distance, ir.IntegerType.get_signless(8))
