"""Level 1: one op per stage, on states.

A *state* is one fragment (``access.py``) per value of the monoid; several values are one SSA value of a builtin
``tuple`` type, packed and unpacked by ``builtin.unrealized_conversion_cast``.
"""

from collections.abc import Sequence
from typing import Any

from ...plan.plan import LARGEST_CLUSTER
from ..combine import width
from ..mlir import ext
from .base import (
    GLOBAL,
    SHARED,
    Fold,
    bool_attr,
    check_combine,
    check_fragment,
    check_index,
    check_pointer,
    check_straight,
    check_yield,
    coded,
    element,
    expect,
    int_attr,
    power_of_two,
    state_type,
    str_attr,
    values,
)

METHODS = ("serial", "interleaved", "sequential", "warp_sync", "unrolled")
GRID_FINISHES = ("last_block", "two_kernels", "atomic")


@coded
def one_combine(op: Any) -> None:
    """The verifier of the regions of an op that has one, which combines two states like its result."""
    check_combine(op, op.regions[0], op.results[0].type)


class ThreadReduceOp(Fold.Operation, name="thread_reduce"):  # type: ignore[misc]
    """A thread's own elements.

    ``state = fold.thread_reduce begin, end, init, [period] {step, unroll, [once], [places], [numbers]} ({body},
    {combine})``.

    The body takes a reduced index r and yields a state of fragments; it runs for r = begin, begin + step, ... while
    r < end, ``unroll`` accesses at a time (``end`` is such that all of them are wanted). The fragments are combined
    into ``init``. A result that is a scalar where the fragment is a vector is the vector's elements combined. With a
    ``period`` the accesses lie ``step`` times as much apart. With ``once`` there is one step at most, from begin on,
    and it is made if begin < end. With ``places`` the number of an element leaves room for it in 32 bits. ``numbers``
    says that those of the elements of a lane go ``up`` along the walk, or ``down``.
    """

    begin: ext.Operand[Any]
    end: ext.Operand[Any]
    init: ext.Operand[Any]
    period: Sequence[ext.Operand[Any]]
    state: ext.Result[Any]
    step: Any
    unroll: Any
    body: ext.Region
    combine: ext.Region

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_index(op, 0, 1)
        expect(len(op.operands) <= 4, op, "one period at most", len(op.operands) - 3)
        check_index(op, *range(3, len(op.operands)))
        power_of_two(op, "step", 1 << 30)
        power_of_two(op, "unroll", 32)
        init, result = op.operands[2].type, op.results[0].type
        scalar = state_type([element(t) for t in values(init)])
        expect(result in (init, scalar), op, f"a result of type {init} or {scalar}", str(result))

    @coded
    def verify_region_invariants(op: Any) -> None:  # noqa: N805
        check_yield(op, op.regions[0], [str(op.operands[2].type)])
        check_straight(op, op.regions[0])
        check_combine(op, op.regions[1], op.operands[2].type)


class BlockReduceOp(Fold.Operation, name="block_reduce"):  # type: ignore[misc]
    """The elements of each of a thread's results, which follow each other in blocks, combined.

    ``state = fold.block_reduce accesses... {elements, columns} ({combine})``: the fragments of all accesses are one run
    of elements, of blocks of ``columns`` results with as many elements as ``elements`` each: first the first ones of
    all results of a block, then their second ones. The state's fragments have an element for each result.
    """

    accesses: Sequence[ext.Operand[Any]]
    state: ext.Result[Any]
    elements: Any
    columns: Any
    combine: ext.Region

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        each, columns = int_attr(op, "elements"), power_of_two(op, "columns", 16)
        expect(each > 0, op, "one element of a result at least", each)
        result = op.results[0].type
        wanted = ", ".join(str(element(t)) for t in values(result))
        for v in op.operands:
            kind = ", ".join(str(element(t)) for t in values(v.type))
            expect(kind == wanted, op, f"accesses of {wanted}", kind)
        results = width(values(result)[0])
        expect(results % columns == 0, op, f"a multiple of {columns} results", results)
        found = sum(width(values(v.type)[0]) for v in op.operands)
        expect(found == results * each, op, f"{results * each} elements", found)

    verify_region_invariants = one_combine


class WarpReduceOp(Fold.Operation, name="warp_reduce"):  # type: ignore[misc]
    """Combines the states of ``lanes`` lanes that lie ``stride`` apart.

    ``fold.warp_reduce state {lanes, stride, ordered} ({combine})``: all of those lanes get the result.
    ``ordered`` keeps lower lanes on the left.
    """

    state: ext.Operand[Any]
    result_: ext.Result[Any]
    lanes: Any
    stride: Any
    ordered: Any
    combine: ext.Region

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        state, result = op.operands[0].type, op.results[0].type
        expect(state == result, op, f"a result of type {state}", str(result))
        lanes, stride = power_of_two(op, "lanes", 32), power_of_two(op, "stride", 32)
        expect(lanes * stride <= 32, op, "lanes times stride of at most 32", lanes * stride)
        bool_attr(op, "ordered")

    verify_region_invariants = one_combine


class SharedStoreOp(Fold.Operation, name="shared_store"):  # type: ignore[misc]
    """Puts each warp's state into shared memory: ``buffers = fold.shared_store row, slot, on, state {rows, slots}``.

    Threads whose ``on`` is true write their state at (row, slot), which with ``{apart = true}`` may be any place; a
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
        expect(str(op.operands[2].type) == "i1", op, "an i1 as operand 2", str(op.operands[2].type))
        power_of_two(op, "rows", 32)
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
    of ``slot``. All threads get the result.
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
        power_of_two(op, "rows", 32)
        power_of_two(op, "lanes", 32)
        power_of_two(op, "stride", 32)
        int_attr(op, "slots")
        bool_attr(op, "ordered")

    verify_region_invariants = one_combine


class CtaReduceOp(Fold.Operation, name="cta_reduce"):  # type: ignore[misc]
    """Combines the states of all positions of a CTA in memory, in place of shuffles.

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
        state, result = op.operands[2].type, op.results[0].type
        expect(state == result, op, f"a result of type {state}", str(result))
        wanted, found = len(values(state)), len(op.operands) - 3
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
    """Combines the states that the threads of a CTA hold of the places of a period.

    ``state = fold.period_reduce thread, on, state, rows, columns, lead {threads} ({combine})``: a fragment holds the
    states of places that lie side by side, that of thread t from t times its length on; threads whose ``on`` is true
    have some. Places are ``columns`` to each of ``rows`` rows, and place p is of column p - ``lead``, modulo
    ``columns``. Thread c gets the state of column c, others that of any.
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
        expect(str(op.operands[1].type) == "i1", op, "an i1 as operand 1", str(op.operands[1].type))
        scalar = state_type([element(t) for t in values(op.operands[2].type)])
        found = op.results[0].type
        expect(found == scalar, op, f"a result of type {scalar}", str(found))
        power_of_two(op, "threads", 1024)

    verify_region_invariants = one_combine


class ClusterReduceOp(Fold.Operation, name="cluster_reduce"):  # type: ignore[misc]
    """Combines the states of the warps of all CTAs of a cluster in the shared memory of the first.

    ``state = fold.cluster_reduce rank, row, lane, slot, on, state {ctas, rows, slots, lanes, stride, ordered}
    ({combine})``: ``rows`` warps in each of ``ctas`` CTAs share a result; this is the warp ``row`` of the CTA ``rank``.
    Threads whose ``on`` is true leave its state for ``slot`` of a CTA's ``slots`` results. In the warps of row 0 of the
    first CTA the ``lanes`` lanes along the reduced axis, ``stride`` apart, each number ``lane``, share the states and
    get the result; other threads keep their own. It stands once in a kernel, where all threads come by.
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
        expect(str(op.operands[4].type) == "i1", op, "an i1 as operand 4", str(op.operands[4].type))
        state, result = op.operands[5].type, op.results[0].type
        expect(state == result, op, f"a result of type {state}", str(result))
        ctas = power_of_two(op, "ctas", LARGEST_CLUSTER)
        expect(ctas > 1, op, "a cluster of more than one CTA", ctas)
        power_of_two(op, "rows", 32)
        int_attr(op, "slots")
        lanes, stride = power_of_two(op, "lanes", 32), power_of_two(op, "stride", 32)
        expect(lanes * stride <= 32, op, "lanes times stride of at most 32", lanes * stride)
        bool_attr(op, "ordered")

    verify_region_invariants = one_combine


class GridFinishOp(Fold.Operation, name="grid_finish"):  # type: ignore[misc]
    """Brings the CTAs along the reduced axis together.

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
        expect(str(op.operands[4].type) == "i1", op, "an i1 as operand 4", str(op.operands[4].type))
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
