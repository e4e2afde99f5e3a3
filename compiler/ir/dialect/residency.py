"""Level 1: elements that wait in shared memory for a later phase of the kernel.

A *slot* holds one access of one thread. Slot k of thread t lies at (k * threads + t) times the bytes of an access, so
that the threads of a warp use different banks. A thread reads only the slots that it wrote, so there is no barrier; or
slots of others, after ``fold.arrived``.
"""

from collections.abc import Sequence
from typing import Any

from ..build import bytes_of, memory_type
from ..combine import width
from ..mlir import ext
from .access import check_read
from .base import (
    SHARED,
    Fold,
    bool_attr,
    check_fragment,
    check_index,
    check_pointer,
    check_results,
    coded,
    element,
    expect,
    int_attr,
    power_of_two,
)
from .element_access import ELEMENT_AFTER_LAYOUT

HELD_ACCESS = ("aligned", "shifted", "unaligned", "strided")


class HoldOp(Fold.Operation, name="hold"):  # type: ignore[misc]
    """Copies a thread's accesses of an input into its slots of shared memory.

    ``slots = fold.hold base, kept, begin, first, end, thread, layout... {kept_rank, reduced_rank, axis, access, step,
    slots, threads, vector, item, whole}``: slot k gets the access of ``vector`` elements, of ``item`` bytes each, that
    begins at the reduced index ``begin + k * step``. Elements whose reduced index is not in [first, end) are undefined,
    and nothing is read for them that other threads write; with ``whole`` there are none. Only the first access may
    begin before ``first``. With ``walked`` there are only slots of accesses that begin before ``end``, and ``slots`` is
    the most. ``thread`` is the thread's number in its CTA of ``threads`` threads. The slots of all holds of a kernel,
    one behind another, are its dynamic shared memory. With ``start`` the slots begin at that byte of it, so that a
    later hold fills those of an earlier one. With ``pitch`` a thread's next slot lies so many bytes behind one, so that
    the slots of several holds alternate. With ``later`` they are read in the next turn of the loop that it is in. With
    ``once`` a loop over the slots stays one, since the kernel comes here once.
    """

    base: ext.Operand[Any]
    kept: ext.Operand[Any]
    begin: ext.Operand[Any]
    first: ext.Operand[Any]
    end: ext.Operand[Any]
    thread: ext.Operand[Any]
    layout: Sequence[ext.Operand[Any]]
    place: ext.Result[Any]
    kept_rank: Any
    reduced_rank: Any
    axis: Any
    access: Any
    step: Any
    slots: Any
    threads: Any
    vector: Any
    item: Any
    whole: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_read(op, HELD_ACCESS, 5, ELEMENT_AFTER_LAYOUT)
        check_results(op, [SHARED])
        if "start" in op.attributes:
            start = int_attr(op, "start")
            expect(start >= 0 and start % 16 == 0, op, "a start at a multiple of 16 bytes", start)
        check_pitch(op)
        power_of_two(op, "step", 1 << 30)
        _check_slots(op)
        bool_attr(op, "whole")


class HeldOp(Fold.Operation, name="held"):  # type: ignore[misc]
    """Reads one of a thread's slots: ``fragment = fold.held slots, number {threads}``.

    ``slots`` is what ``fold.hold`` gave, and the fragment is an access of it. The thread waits until its copies have
    arrived.
    """

    slots: ext.Operand[Any]
    number: ext.Operand[Any]
    fragment: ext.Result[Any]
    threads: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_pointer(op, 0, SHARED)
        check_index(op, 1)
        power_of_two(op, "threads", 1024)
        check_fragment(op, op.results[0].type)
        check_pitch(op)


def check_pitch(op: Any) -> None:
    """Refuses a distance between the slots of a thread that is no multiple of 16 bytes."""
    if "pitch" in op.attributes:
        pitch = int_attr(op, "pitch")
        expect(pitch > 0 and pitch % 16 == 0, op, "a pitch of a multiple of 16 bytes", pitch)


class SlotsOp(Fold.Operation, name="slots"):  # type: ignore[misc]
    """A thread's slots that nothing is copied into: ``place = fold.slots thread {slots, threads, vector, item}``.

    They are as those of ``fold.hold``, behind those of the holds before, in the same shared memory.
    """

    thread: ext.Operand[Any]
    place: ext.Result[Any]
    slots: Any
    threads: Any
    vector: Any
    item: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_index(op, 0)
        check_results(op, [SHARED])
        _check_slots(op)


class ArrivedOp(Fold.Operation, name="arrived"):  # type: ignore[misc]
    """Waits until the slots that all threads of the CTA fill by the holds before are full: ``fold.arrived``.

    So threads may read slots of each other.
    """

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_results(op, [])


def _check_slots(op: Any) -> None:
    """Checks the attributes of slots."""
    slots = int_attr(op, "slots")
    expect(slots > 0, op, "one slot at least", slots)
    power_of_two(op, "threads", 1024)
    power_of_two(op, "vector", 16)
    power_of_two(op, "item", 8)


def slot_bytes(t: Any) -> int:
    """Bytes of a slot for a fragment of type ``t``."""
    return width(t) * bytes_of(memory_type(element(t)))
