"""Stages of a scan: each level gives what comes before its parts, and the state of all of them.

What comes before the first part of a level is nothing: what an op gives there is no state, and is not used.
"""

from collections.abc import Sequence
from typing import Any

from ...mlir import ext
from ..base import (
    SHARED,
    Fold,
    check_index,
    check_lanes,
    check_pointer,
    check_result,
    check_results,
    coded,
    count_up_to,
    expect,
    one_combine,
    power_of_two,
    values,
)


class ThreadScanOp(Fold.Operation, name="thread_scan"):  # type: ignore[misc]
    """The states of the elements of an access up to each: ``prefixes = fold.thread_scan begins, state ({combine})``.

    The access begins with element number ``begins``, which is at most 0 if all of its elements are there.
    """

    begins: ext.Operand[Any]
    state: ext.Operand[Any]
    prefixes: ext.Result[Any]
    combine: ext.Region

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_index(op, 0)
        check_result(op, op.operands[1].type)

    verify_region_invariants = one_combine


class WarpScanOp(Fold.Operation, name="warp_scan"):  # type: ignore[misc]
    """The states of the lanes before each, and of all: ``before, total = fold.warp_scan lane, state {lanes, stride}``.

    ``lanes`` lanes that are ``stride`` apart are combined in order; each has the number ``lane`` among them. All of
    them get the total.
    """

    lane: ext.Operand[Any]
    state: ext.Operand[Any]
    before: ext.Result[Any]
    total: ext.Result[Any]
    lanes: Any
    stride: Any
    combine: ext.Region

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_index(op, 0)
        check_results(op, [str(op.operands[1].type)] * 2)
        check_lanes(op)

    verify_region_invariants = one_combine


class InterwarpScanOp(Fold.Operation, name="interwarp_scan"):  # type: ignore[misc]
    """The states of the warps before each, and of all, which warps left in shared memory.

    ``before, total = fold.interwarp_scan warp, slot, buffers... {rows, slots} ({combine})``: the states of ``slot`` in
    the ``rows`` of the buffers that ``fold.shared_store`` filled.
    """

    warp: ext.Operand[Any]
    slot: ext.Operand[Any]
    buffers: Sequence[ext.Operand[Any]]
    before: ext.Result[Any]
    total: ext.Result[Any]
    rows: Any
    slots: Any
    combine: ext.Region

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_index(op, 0, 1)
        power_of_two(op, "rows", 32)
        count_up_to(op, "slots", 1 << 10)
        check_results(op, [str(op.results[0].type)] * 2)
        state = values(op.results[0].type)
        expect(len(op.operands) == 2 + len(state), op, f"{len(state)} buffer(s)", len(op.operands) - 2)
        for i in range(2, len(op.operands)):
            check_pointer(op, i, SHARED)

    verify_region_invariants = one_combine
