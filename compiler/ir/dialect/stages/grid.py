"""Stages beyond a CTA: the CTAs of a cluster meet, and the CTAs of the grid meet."""

from collections.abc import Sequence
from typing import Any

from ....plan.shared_memory import COUNTED
from ....target import LARGEST_CLUSTER
from ...build import bytes_of
from ...mlir import ext
from ..base import (
    GLOBAL,
    Fold,
    bool_attr,
    check_combine,
    check_flag,
    check_index,
    check_lanes,
    check_pointer,
    check_result,
    check_yield,
    coded,
    element,
    expect,
    int_attr,
    one_combine,
    power_of_two,
    str_attr,
    values,
)

GRID_FINISHES = ("last_block", "two_kernels", "atomic")
LOOPS = ("scf.for", "scf.while")


class ClusterReduceOp(Fold.Operation, name="cluster_reduce"):  # type: ignore[misc]
    """Combines the states of the warps of all CTAs of a cluster, in the shared memory of the first or of each.

    ``state = fold.cluster_reduce rank, row, lane, slot, on, state {ctas, rows, slots, lanes, stride, ordered,
    [everywhere], [met], [counted]} ({combine})``: ``rows`` warps in each of ``ctas`` CTAs share a result; this is the
    warp ``row`` of the CTA ``rank``. Threads whose ``on`` is true leave its state for ``slot`` of a CTA's ``slots``
    results. In the warps of row 0 of the first CTA the ``lanes`` lanes along the reduced axis, ``stride`` apart, each
    number ``lane``, share the states and get the result; other threads keep their own. With ``{everywhere = true}`` all
    threads get the result, and all lanes of a warp must hold its state; with ``{met = true}`` all warps of a CTA hold
    the same one, and those whose ``on`` is true leave it. With ``counted`` a CTA waits for the bytes of the states that
    come to it, and not for all threads: so many results' states come from each row of each CTA, and values have 4 or 8
    bytes. All threads of the cluster execute the op once, as they do each other one of the kernel.
    """

    rank: ext.Operand[Any]
    row: ext.Operand[Any]
    lane: ext.Operand[Any]
    slot: ext.Operand[Any]
    on: ext.Operand[Any]
    state: ext.Operand[Any]
    result_: ext.Result[Any]
    ctas: Any
    rows: Any
    slots: Any
    lanes: Any
    stride: Any
    ordered: Any
    combine: ext.Region

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_index(op, 0, 1, 2, 3)
        check_flag(op, 4)
        check_result(op, op.operands[5].type)
        ctas = power_of_two(op, "ctas", LARGEST_CLUSTER)
        expect(ctas > 1, op, "a cluster of more than one CTA", ctas)
        power_of_two(op, "rows", 32)
        int_attr(op, "slots")
        check_lanes(op)
        bool_attr(op, "ordered")
        for name in ("everywhere", "met"):
            if name in op.attributes:
                bool_attr(op, name)
        if "counted" in op.attributes:
            slots, counted = int_attr(op, "slots"), int_attr(op, "counted")
            expect(0 < counted <= slots, op, f"1 to {slots} states that are counted", counted)
            sizes = {bytes_of(element(t)) for t in values(op.operands[5].type)}
            expect(sizes <= set(COUNTED), op, "counted values of 4 or 8 bytes", f"{min(sizes)}")
            loop = _loop_around(op)
            expect(not loop, op, "states that are counted once", f"a {loop} around it")

    verify_region_invariants = one_combine


class GridFinishOp(Fold.Operation, name="grid_finish"):  # type: ignore[misc]
    """Combines the states of the CTAs along the reduced axis.

    ``fold.grid_finish part, parts, kept, n_kept, on, state, partials..., [counter] {finish} ({combine}, {last})``:
    this CTA is number ``part`` of ``parts``; threads whose ``on`` is true hold its state for the results from ``kept``
    on. ``two_kernels`` leaves the states in the partials, [parts][n_kept], for the next kernel; ``atomic`` combines
    them there, [n_kept]; ``last_block`` leaves them there and lets the CTA that comes last run the region ``last``,
    which is empty (only a ``fold.yield``) for the other two.
    """

    part: ext.Operand[Any]
    parts: ext.Operand[Any]
    kept: ext.Operand[Any]
    n_kept: ext.Operand[Any]
    on: ext.Operand[Any]
    state: ext.Operand[Any]
    pointers: Sequence[ext.Operand[Any]]
    finish: Any
    combine: ext.Region
    last: ext.Region

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_index(op, 0, 1, 2, 3)
        check_flag(op, 4)
        finish = str_attr(op, "finish", GRID_FINISHES)
        wanted = len(values(op.operands[5].type)) + (finish == "last_block")
        found = len(op.operands) - 6
        expect(found == wanted, op, f"{wanted} pointer(s) for finish={finish}", found)
        for p in range(6, 6 + wanted):
            check_pointer(op, p, GLOBAL)

    @coded
    def verify_region_invariants(op: Any) -> None:  # noqa: N805
        check_combine(op, op.regions[0], op.operands[5].type)
        check_yield(op, op.regions[1], [])


def _loop_around(op: Any) -> str:
    """The name of the innermost loop around an op; empty without one."""
    outer = op.operation.parent
    while outer is not None:
        if (name := outer.operation.name) in LOOPS:
            return str(name)
        outer = outer.operation.parent
    return ""
