"""Stages of a CTA: its threads exchange states in memory."""

from collections.abc import Sequence
from typing import Any

from ...mlir import ext
from ..base import (
    GLOBAL,
    SHARED,
    Fold,
    bool_attr,
    check_flag,
    check_fragment,
    check_index,
    check_pointer,
    check_result,
    coded,
    count_up_to,
    element,
    expect,
    int_attr,
    one_combine,
    power_of_two,
    state_type,
    str_attr,
    values,
)

METHODS = ("serial", "interleaved", "sequential", "warp_sync", "unrolled")


class SharedStoreOp(Fold.Operation, name="shared_store"):  # type: ignore[misc]
    """Puts each warp's state into shared memory: ``buffers = fold.shared_store row, slot, on, state {rows, slots}``.

    Threads whose ``on`` is true write their state at (row, slot); with ``{apart = true}`` these need not be adjacent. A
    barrier follows. One buffer per value of the state, of ``rows`` (warps along the reduced axis) times ``slots``
    (results the CTA works on) elements.
    """

    row: ext.Operand[Any]
    slot: ext.Operand[Any]
    on: ext.Operand[Any]
    state: ext.Operand[Any]
    buffers: Sequence[ext.Result[Any]]
    rows: Any
    slots: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_index(op, 0, 1)
        check_flag(op, 2)
        count_up_to(op, "rows", 32)
        int_attr(op, "slots")
        for t in values(op.operands[3].type):
            check_fragment(op, t)
        wanted = [SHARED] * len(values(op.operands[3].type))
        found = [str(r.type) for r in op.results]
        expect(found == wanted, op, f"results of type {', '.join(wanted)}", ", ".join(found) or "none")


class InterwarpAccumulateOp(Fold.Operation, name="interwarp_accumulate"):  # type: ignore[misc]
    """Combines the states that warps left in shared memory.

    ``state = fold.interwarp_accumulate lane, slot, buffers... {rows, slots, lanes, stride, ordered} ({combine})``: the
    ``lanes`` lanes of a warp along the reduced axis, ``stride`` apart, each number ``lane``, share the ``rows`` states
    of ``slot``; where these are no power of two, each lane takes all. All threads get the result. Of values that are
    constants of the kernel, ``constants`` says the numbers, and the buffers are empty.
    """

    lane: ext.Operand[Any]
    slot: ext.Operand[Any]
    buffers: Sequence[ext.Operand[Any]]
    state: ext.Result[Any]
    rows: Any
    slots: Any
    lanes: Any
    stride: Any
    ordered: Any
    combine: ext.Region

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_index(op, 0, 1)
        count = len(values(op.results[0].type))
        expect(len(op.operands) == 2 + count, op, f"{count} buffer(s)", len(op.operands) - 2)
        for p in range(2, 2 + count):
            check_pointer(op, p, SHARED)
        rows, lanes = count_up_to(op, "rows", 32), power_of_two(op, "lanes", 32)
        uneven = rows & (rows - 1) and lanes > 1
        expect(not uneven, op, "one lane for rows that are no power of two", f"{rows} row(s) for {lanes} lanes")
        power_of_two(op, "stride", 32)
        int_attr(op, "slots")
        bool_attr(op, "ordered")

    verify_region_invariants = one_combine


class CtaReduceOp(Fold.Operation, name="cta_reduce"):  # type: ignore[misc]
    """Combines the states of all positions of a CTA in memory, without shuffles.

    ``state = fold.cta_reduce position, slot, state, scratch... {method, rows, lanes, slots, ordered} ({combine})``: the
    ``rows`` positions of the CTA, ``lanes`` to a warp, bring their states for ``slot`` of its ``slots`` results
    together. The ``method`` says which thread combines what and when, see ``passes/lower_cta_reduce.py``. Threads at
    position 0 get the result. States lie in shared memory, or in ``scratch`` in global memory, an array of
    [CTAs][rows][slots] per value. ``ordered`` keeps lower positions on the left.
    """

    position: ext.Operand[Any]
    slot: ext.Operand[Any]
    state: ext.Operand[Any]
    scratch: Sequence[ext.Operand[Any]]
    result_: ext.Result[Any]
    method: Any
    rows: Any
    lanes: Any
    slots: Any
    ordered: Any
    combine: ext.Region

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_index(op, 0, 1)
        check_result(op, op.operands[2].type)
        wanted, found = len(values(op.operands[2].type)), len(op.operands) - 3
        expect(found in (0, wanted), op, f"no scratch, or {wanted} pointer(s)", found)
        for p in range(3, 3 + found):
            check_pointer(op, p, GLOBAL)
        str_attr(op, "method", METHODS)
        rows, lanes = power_of_two(op, "rows", 1024), power_of_two(op, "lanes", 32)
        expect(1 < rows >= lanes, op, "more than one row, and no fewer than lanes", f"{rows} for {lanes} lane(s)")
        int_attr(op, "slots")
        bool_attr(op, "ordered")

    verify_region_invariants = one_combine


class PeriodReduceOp(Fold.Operation, name="period_reduce"):  # type: ignore[misc]
    """Combines the states that the threads of a CTA hold for the places of a period.

    ``state = fold.period_reduce thread, on, state, rows, columns, lead {threads} ({combine})``: a fragment holds the
    states of adjacent places; the fragment of thread t begins at place t times its length. Threads whose ``on`` is true
    have such places. A period has ``rows`` rows of ``columns`` places, and place p belongs to column p - ``lead``,
    modulo ``columns``. Thread c gets the state of column c; the other threads get an undefined state.
    """

    thread: ext.Operand[Any]
    on: ext.Operand[Any]
    state: ext.Operand[Any]
    rows: ext.Operand[Any]
    columns: ext.Operand[Any]
    lead: ext.Operand[Any]
    result_: ext.Result[Any]
    threads: Any
    combine: ext.Region

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_index(op, 0, 3, 4, 5)
        check_flag(op, 1)
        check_result(op, state_type([element(t) for t in values(op.operands[2].type)]))
        power_of_two(op, "threads", 1024)

    verify_region_invariants = one_combine
