"""Level 1: stages of a thread, a warp and a CTA: one op per stage, on states.

A *state* is one fragment (``access.py``) per value of the monoid; several values are one SSA value of a builtin
``tuple`` type, packed and unpacked by ``builtin.unrealized_conversion_cast``. The threads of a CTA exchange states in
memory, the lanes of a warp in registers.

Each level of a scan gives what comes before its parts, and the state of all of them. What comes before the first part
is nothing: what an op gives there is no state, and is not used.
"""

from collections.abc import Sequence
from typing import Any

from ..combine import width
from .access import ACCESS, ELEMENT_ACCESS
from .base import (
    GLOBAL,
    SHARED,
    check_straight,
    check_yield,
    element,
    expect,
    int_attr,
    scalars,
    str_attr,
    values,
)
from .fields import (
    LANES,
    Exact,
    Op,
    Optional,
    Several,
    anything,
    combines,
    combines_result,
    fields,
    flag,
    index,
    like,
    number,
    one_of,
    pointer,
    power,
    several,
    state,
    straight,
    truth,
    up_to,
    whole,
)

METHODS = ("serial", "interleaved", "sequential", "warp_sync", "unrolled")


def _yields_init(op: Any, region: Any) -> None:
    """The kind of the body of a walk, which yields what is combined into the operand ``init``."""
    check_yield(op, region, [str(op.operands[2].type)], scalars if "joined" in op.attributes else str)
    check_straight(op, region)


def _buffers(op: Any, types: Sequence[Any], position: int) -> None:
    """The kind of the buffers that ``fold.shared_store`` filled, one for each value of the state."""
    wanted = len(values(op.results[0].type))
    expect(len(types) == wanted, op, f"{wanted} buffer(s)", len(types))
    several(pointer(SHARED)).check(op, types, position)


def _scratch(op: Any, types: Sequence[Any], position: int) -> None:
    """The kind of arrays in global memory, one for each value of the state, or none."""
    wanted = len(values(op.operands[2].type))
    expect(len(types) in (0, wanted), op, f"no scratch, or {wanted} pointer(s)", len(types))
    several(pointer(GLOBAL)).check(op, types, position)


as_first = Exact(lambda op: op.results[0].type)
"""The kind of results that have one type."""


class ThreadReduceOp(Op, name="thread_reduce"):
    """Combines a thread's own elements.

    ``state = fold.thread_reduce begin, end, init, [period] {step, unroll, [once], [places], [numbers], [early],
    [uncut], [rolled], [summed], [joined], [warp]} ({body}, {combine})``.

    The body takes a reduced index r and yields a state of fragments; it runs for r = begin, begin + step, ... while
    r < end, ``unroll`` accesses at a time (``end`` is such that all of them are wanted). The fragments are combined
    into ``init``. A result that is a scalar where the fragment is a vector is the vector's elements combined. With a
    ``period`` neighbouring accesses are ``step * period`` elements apart. With ``once`` there is at most one step, at
    begin, if begin < end. With ``places`` the number of an element leaves room for it in 32 bits. ``numbers`` says that
    those of the elements of a lane go ``up`` along the walk, or ``down``. With ``early`` the accesses begin at the
    boundary before the row, as ``begin`` does, and the ends of the row, which ``fold.live`` knows, may cut them; with
    ``rolled`` a loop combines those, which is less code. With ``uncut`` no access reaches beyond ``end``. With
    ``summed`` the elements of so many neighbouring lanes are added to a state that all of these lanes get. All lanes of
    the warp take part, also those without accesses. With ``joined`` so many neighbouring lanes join in each step, in
    order, what they yield: all of them make the same steps, and get a state of scalars. With ``warp`` the state is the
    sorted list of a warp: all of its lanes get it, and take part, also those without accesses.
    """

    ins = fields(begin=index, end=index, init=anything, period=several(index))
    outs = fields(state=anything)
    attrs = fields(step=power(1 << 30), unroll=power(32), summed=Optional(power(4)), joined=Optional(power(32)))
    bodies = fields(body=_yields_init, combine=combines(lambda op: op.operands[2].type))

    def check(self) -> None:
        expect(len(self.operands) <= 4, self, "one period at most", len(self.operands) - 3)
        init, result = self.operands[2].type, self.results[0].type
        expect(result in (init, scalars(init)), self, f"a result of type {init} or {scalars(init)}", result)


class BlockReduceOp(Op, name="block_reduce"):
    """The elements of each of a thread's results, which follow each other in blocks, combined.

    ``state = fold.block_reduce accesses... {elements, columns} ({combine})``: the fragments of all accesses are one run
    of elements, of blocks of ``columns`` results with as many elements as ``elements`` each: first the first ones of
    all results of a block, then their second ones. The state's fragments have an element for each result.
    """

    ins = fields(accesses=several(anything))
    outs = fields(state=anything)
    attrs = fields(elements=number(lambda n: n > 0, "one element of a result at least"), columns=power(16))
    bodies = fields(combine=combines_result)

    def check(self) -> None:
        each, columns = int_attr(self, "elements"), int_attr(self, "columns")
        result = self.results[0].type
        wanted = ", ".join(str(element(t)) for t in values(result))
        for v in self.operands:
            kind = ", ".join(str(element(t)) for t in values(v.type))
            expect(kind == wanted, self, f"accesses of {wanted}", kind)
        results = width(values(result)[0])
        expect(results % columns == 0, self, f"a multiple of {columns} results", results)
        found = sum(width(values(v.type)[0]) for v in self.operands)
        expect(found == results * each, self, f"{results * each} elements", found)


class ThreadMapOp(Op, name="thread_map"):
    """Writes a thread's own elements: a walk that yields nothing.

    ``fold.thread_map begin, end, [first, [last]] {step, unroll, [rolled]} ({body})``: the body takes a reduced index r
    and runs for r = begin, begin + step, ... while r < end, ``unroll`` accesses at a time. Every access begins before
    ``end``, but the last one may reach beyond it. With ``first`` accesses begin at a boundary, so that the first one
    may begin before the row, which begins at ``first``. The row ends at ``last``, or at ``end``. With ``rolled`` the
    groups at the ends of a row are written by a loop.

    The elements are read by ``fold.load`` or ``fold.held`` and written by ``fold.element_store``, all at r. A load is
    of an access that ``fold.element_load`` has too, or reads what is the same for the whole row. The lowering decides
    which accesses are whole.
    """

    ins = fields(begin=index, end=index, ends_of_row=several(index))
    attrs = fields(step=power(1 << 30), unroll=power(32))
    bodies = fields(body=straight)

    def check(self) -> None:
        expect(len(self.operands) <= 4, self, "a first and a last index at most", len(self.operands) - 2)

    def check_bodies(self) -> None:
        (block,) = self.regions[0].blocks
        t, found = str(self.operands[0].type), [str(a.type) for a in block.arguments]
        expect(found == [t], self, f"a body that takes an {t}", ", ".join(found) or "nothing")
        body = [o.operation for o in block.operations]
        expect(any(o.name == "fold.element_store" for o in body), self, "a fold.element_store in the body", "none")
        for load in (o for o in body if o.name == "fold.load" and int_attr(o, "reduced_rank")):
            access = str_attr(load, "access", ACCESS)
            served = [a for a in ELEMENT_ACCESS if a not in ("unaligned", "split")]  # lanes leave the walk one by one
            expect(access in served, self, f"loads whose access is {' or '.join(served)}", access)


class WarpReduceOp(Op, name="warp_reduce"):
    """Combines the states of ``lanes`` lanes that are ``stride`` lanes apart.

    ``fold.warp_reduce state {lanes, stride, ordered} ({combine})``: all these lanes get the result.
    ``ordered`` keeps lower lanes on the left.
    """

    ins = fields(state=anything)
    outs = fields(result_=like(0))
    attrs = fields(**LANES, ordered=truth)
    bodies = fields(combine=combines_result)


class SharedStoreOp(Op, name="shared_store"):
    """Puts each warp's state into shared memory: ``buffers = fold.shared_store row, slot, on, state {rows, slots}``.

    Threads whose ``on`` is true write their state at (row, slot); with ``{apart = true}`` these need not be adjacent. A
    barrier follows. One buffer per value of the state, of ``rows`` (warps along the reduced axis) times ``slots``
    (results the CTA works on) elements.
    """

    ins = fields(row=index, slot=index, on=flag, state=state)
    outs = fields(buffers=several(anything))
    attrs = fields(rows=up_to(32), slots=whole)

    def check(self) -> None:
        wanted, found = [SHARED] * len(values(self.operands[3].type)), [str(r.type) for r in self.results]
        expect(found == wanted, self, f"results of type {', '.join(wanted)}", ", ".join(found) or "none")


class InterwarpAccumulateOp(Op, name="interwarp_accumulate"):
    """Combines the states that warps left in shared memory.

    ``state = fold.interwarp_accumulate lane, slot, buffers... {rows, slots, lanes, stride, ordered} ({combine})``: the
    ``lanes`` lanes of a warp along the reduced axis, ``stride`` apart, each number ``lane``, share the ``rows`` states
    of ``slot``; where these are no power of two, each lane takes all. All threads get the result. Of values that are
    constants of the kernel, ``constants`` says the numbers, and the buffers are empty.
    """

    ins = fields(lane=index, slot=index, buffers=Several(_buffers))
    outs = fields(state=anything)
    attrs = fields(rows=up_to(32), slots=whole, lanes=power(32), stride=power(32), ordered=truth)
    bodies = fields(combine=combines_result)

    def check(self) -> None:
        rows, lanes = int_attr(self, "rows"), int_attr(self, "lanes")
        uneven = rows & (rows - 1) and lanes > 1
        expect(not uneven, self, "one lane for rows that are no power of two", f"{rows} row(s) for {lanes} lanes")


class CtaReduceOp(Op, name="cta_reduce"):
    """Combines the states of all positions of a CTA in memory, without shuffles.

    ``state = fold.cta_reduce position, slot, state, scratch... {method, rows, lanes, slots, ordered} ({combine})``: the
    ``rows`` positions of the CTA, ``lanes`` to a warp, bring their states for ``slot`` of its ``slots`` results
    together. The ``method`` says which thread combines what and when, see ``passes/lower_cta_reduce.py``. Threads at
    position 0 get the result. States lie in shared memory, or in ``scratch`` in global memory, an array of
    [CTAs][rows][slots] per value. ``ordered`` keeps lower positions on the left.
    """

    ins = fields(position=index, slot=index, state=anything, scratch=Several(_scratch))
    outs = fields(result_=like(2))
    attrs = fields(method=one_of(*METHODS), rows=power(1024), lanes=power(32), slots=whole, ordered=truth)
    bodies = fields(combine=combines_result)

    def check(self) -> None:
        rows, lanes = int_attr(self, "rows"), int_attr(self, "lanes")
        expect(1 < rows >= lanes, self, "more than one row, and no fewer than lanes", f"{rows} for {lanes} lane(s)")


class PeriodReduceOp(Op, name="period_reduce"):
    """Combines the states that the threads of a CTA hold for the places of a period.

    ``state = fold.period_reduce thread, on, state, rows, columns, lead {threads} ({combine})``: a fragment holds the
    states of adjacent places; the fragment of thread t begins at place t times its length. Threads whose ``on`` is true
    have such places. A period has ``rows`` rows of ``columns`` places, and place p belongs to column p - ``lead``,
    modulo ``columns``. Thread c gets the state of column c; the other threads get an undefined state.
    """

    ins = fields(thread=index, on=flag, state=anything, rows=index, columns=index, lead=index)
    outs = fields(result_=Exact(lambda op: scalars(op.operands[2].type)))
    attrs = fields(threads=power(1024))
    bodies = fields(combine=combines_result)


class ThreadScanOp(Op, name="thread_scan"):
    """The states of the elements of an access up to each: ``prefixes = fold.thread_scan begins, state ({combine})``.

    The access begins with element number ``begins``, which is at most 0 if all of its elements are there.
    """

    ins = fields(begins=index, state=anything)
    outs = fields(prefixes=like(1))
    bodies = fields(combine=combines_result)


class WarpScanOp(Op, name="warp_scan"):
    """The states of the lanes before each, and of all: ``before, total = fold.warp_scan lane, state {lanes, stride}``.

    ``lanes`` lanes that are ``stride`` apart are combined in order; each has the number ``lane`` among them. All of
    them get the total.
    """

    ins = fields(lane=index, state=anything)
    outs = fields(before=like(1), total=like(1))
    attrs = LANES
    bodies = fields(combine=combines_result)


class InterwarpScanOp(Op, name="interwarp_scan"):
    """The states of the warps before each, and of all, which warps left in shared memory.

    ``before, total = fold.interwarp_scan warp, slot, buffers... {rows, slots} ({combine})``: the states of ``slot`` in
    the ``rows`` of the buffers that ``fold.shared_store`` filled.
    """

    ins = fields(warp=index, slot=index, buffers=Several(_buffers))
    outs = fields(before=as_first, total=as_first)
    attrs = fields(rows=power(32), slots=up_to(1 << 10))
    bodies = fields(combine=combines_result)
