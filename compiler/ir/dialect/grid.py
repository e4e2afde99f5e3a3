"""Level 1: stages beyond a CTA: the CTAs of a cluster meet, those of the grid meet, and all add to counters.

- *Tickets.* A ticket is the next number of a counter. What a CTA waits for has a smaller ticket, so a CTA has taken it,
  and waits itself only for smaller ones. A *counter* is a word of global memory that is zero when the kernel begins and
  when it ends.
- *Tagged words* are states that CTAs leave for each other in global memory, each readable whenever it is looked at.
  Each 32 bits of a state are the lower half of a word of 64 bits, whose upper half says what the state is: 0 where
  there is none yet. A word is written and read as a whole. So accesses need no order, and no barrier.
- *Scattered sums*: elements are added to the counters that they choose, in shared memory of a CTA.
"""

from collections.abc import Sequence
from typing import Any

from ...plan.shared_memory import COUNTED
from ...target import LARGEST_CLUSTER
from ..build import bytes_of
from ..combine import width, with_shape
from ..mlir import ir
from .base import GLOBAL, SHARED, check_fragment, element, expect, int_attr, str_attr, values
from .fields import (
    LANES,
    STEPS,
    Exact,
    Op,
    Optional,
    Several,
    anything,
    combines,
    combines_result,
    elements,
    ends,
    fields,
    flag,
    index,
    like,
    number,
    one_of,
    pointer,
    power,
    several,
    truth,
    typed,
    whole,
)

GRID_FINISHES = ("last_block", "two_kernels", "atomic")
LOOPS = ("scf.for", "scf.while")
AGGREGATE, PREFIX = 1, 2
"""The kinds of tagged states: of a part of a row alone, and of all of a row up to the end of that part."""
COUNTED_BY = fields(counter=pointer(GLOBAL), number=index, count=index)
"""The operands of an op on a counter of an array of counters."""
COUNTERS = fields(
    count=power(1 << 16), copies=power(32), bits=number(lambda n: n in (32, 64), "counters of 32 or 64 bits")
)
"""The attributes of an op that knows how many counters of scattered sums there are."""


def _partials(op: Any, types: Sequence[Any], position: int) -> None:
    """The kind of the partial results, one array for each value of the state, and of a counter."""
    finish = str_attr(op, "finish", GRID_FINISHES)
    wanted = len(values(op.operands[5].type)) + (finish == "last_block")
    expect(len(types) == wanted, op, f"{wanted} pointer(s) for finish={finish}", len(types))
    several(pointer(GLOBAL)).check(op, types, position)


def _tagged(op: Any, t: Any, _: int) -> None:
    """The kind of a state of scalars."""
    for v in values(t):
        check_fragment(op, v)
        expect(v == element(v), op, "a state of scalars", v)


def _loop_around(op: Any) -> str:
    """The name of the innermost loop around an op; empty without one."""
    outer = op.operation.parent
    while outer is not None:
        if (name := outer.operation.name) in LOOPS:
            return str(name)
        outer = outer.operation.parent
    return ""


element_of_x = Exact(lambda op: element(op.operands[0].type))
"""The kind of a scalar of the type of the elements."""


class ClusterReduceOp(Op, name="cluster_reduce"):
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

    ins = fields(rank=index, row=index, lane=index, slot=index, on=flag, state=anything)
    outs = fields(result_=like(5))
    attrs = fields(
        ctas=power(LARGEST_CLUSTER),
        rows=power(32),
        slots=whole,
        **LANES,
        ordered=truth,
        everywhere=Optional(truth),
        met=Optional(truth),
    )
    bodies = fields(combine=combines_result)

    def check(self) -> None:
        ctas = int_attr(self, "ctas")
        expect(ctas > 1, self, "a cluster of more than one CTA", ctas)
        if "counted" in self.attributes:
            slots, counted = int_attr(self, "slots"), int_attr(self, "counted")
            expect(0 < counted <= slots, self, f"1 to {slots} states that are counted", counted)
            sizes = {bytes_of(element(t)) for t in values(self.operands[5].type)}
            expect(sizes <= set(COUNTED), self, "counted values of 4 or 8 bytes", min(sizes))
            loop = _loop_around(self)
            expect(not loop, self, "states that are counted once", f"a {loop} around it")


class GridFinishOp(Op, name="grid_finish"):
    """Combines the states of the CTAs along the reduced axis.

    ``fold.grid_finish part, parts, kept, n_kept, on, state, partials..., [counter] {finish} ({combine}, {last})``:
    this CTA is number ``part`` of ``parts``; threads whose ``on`` is true hold its state for the results from ``kept``
    on. ``two_kernels`` leaves the states in the partials, [parts][n_kept], for the next kernel; ``atomic`` combines
    them there, [n_kept]; ``last_block`` leaves them there and lets the CTA that comes last run the region ``last``,
    which is empty (only a ``fold.yield``) for the other two.
    """

    ins = fields(
        part=index,
        parts=index,
        kept=index,
        n_kept=index,
        on=flag,
        state=anything,
        pointers=Several(_partials),
    )
    attrs = fields(finish=one_of(*GRID_FINISHES))
    bodies = fields(combine=combines(lambda op: op.operands[5].type), last=ends)


class TicketOp(Op, name="ticket"):
    """Takes a ticket: how many were taken before.

    ``number = fold.ticket counter, count``: the first thread of the CTA gets the number; in the other threads it is
    zero. The last of ``count`` tickets sets the counter back to zero.
    """

    ins = fields(counter=pointer(GLOBAL), count=index)
    outs = fields(number=like(1))


class ShareOp(Op, name="share"):
    """Gives a number of the first thread of the CTA to all of its threads.

    ``shared = fold.share number``: all threads of the CTA execute the op, and wait for each other. They do so once more
    before they execute it again.
    """

    ins = fields(number=index)
    outs = fields(shared=like(0))


class ArriveOp(Op, name="arrive"):
    """Adds one to a counter, and says whether ``count`` CTAs have arrived: the last one acquires what all wrote before.

    ``last = fold.arrive counter, number, count {[alone], [once]}``: of counter ``number`` of an array of counters. All
    threads of the CTA execute the op, and get the truth value. With ``alone`` one warp of the CTA executes the op, for
    what came before a barrier. With ``alone`` or ``once`` nothing waits for the counter: the last CTA sets it back to
    zero.
    """

    ins = COUNTED_BY
    outs = fields(last=typed("i1"))


class SignalOp(Op, name="signal"):
    """Releases what the threads of the CTA wrote to those that wait for a counter.

    ``fold.signal counter, number, count``: the last of ``count`` CTAs that arrive at counter ``number`` signals once;
    with ``all``, each of ``count`` CTAs does, and none arrives. All threads of a CTA execute the op.
    """

    ins = COUNTED_BY


class AwaitOp(Op, name="await"):
    """Waits for the signal of a counter, and acquires what was written before it.

    ``fold.await counter, number, count``: of counter ``number``, as in ``fold.arrive``; with ``all``, for the signals
    of ``count`` CTAs, all of which run at a time. The last of ``count`` waits sets the counter back to zero. All
    threads of the CTA execute the op.
    """

    ins = COUNTED_BY


class LeaveOp(Op, name="leave"):
    """Leaves a state in the words from number ``at`` on: ``fold.leave words, at, on, state {kind}``.

    Threads whose ``on`` is true do so. ``kind`` is 1 for an aggregate, 2 for a prefix.
    """

    ins = fields(words=pointer(GLOBAL), at=index, on=flag, state=_tagged)
    attrs = fields(kind=number(lambda n: n in (AGGREGATE, PREFIX), f"the kind {AGGREGATE} or {PREFIX}"))


class SeenOp(Op, name="seen"):
    """What was left in the words from number ``at`` on: ``kind, state = fold.seen words, at``.

    The kind is 0 where nothing was left, or where only some of the words of a state are there yet.
    """

    ins = fields(words=pointer(GLOBAL), at=index)
    outs = fields(kind=typed("i32"), state=_tagged)


class CountersOp(Op, name="counters"):
    """Counters of the CTA, which are zero: ``buffer = fold.counters {count, copies, bits}``.

    There are ``copies`` of ``count`` integers of ``bits`` bits, one copy behind another. All threads of the CTA execute
    the op, and wait for each other.
    """

    outs = fields(buffer=typed(SHARED))
    attrs = COUNTERS


class BinOfOp(Op, name="bin_of"):
    """The bins of the elements of a fragment: ``index = fold.bin_of x, lower, upper, first, last, scale, limit``.

    Attributes ``uniform`` and ``steps``. ``lower`` and ``upper`` are the arrays of the edges of ``limit`` bins,
    ``first`` and ``last`` the outermost of these, and ``scale`` is the number of bins over their distance.
    """

    ins = fields(
        x=elements("elements", "f32", "f64"),
        lower=pointer(GLOBAL),
        upper=pointer(GLOBAL),
        first=element_of_x,
        last=element_of_x,
        scale=element_of_x,
        limit=index,
    )
    outs = fields(index=Exact(lambda op: with_shape(ir.IntegerType.get_signless(32), width(op.operands[0].type))))
    attrs = fields(uniform=truth, steps=STEPS)


class TallyOp(Op, name="tally"):
    """Adds elements to the counters that they choose: ``zero = fold.tally value, index, live, buffer, start, limit``.

    Element by element of fragments: where ``live`` holds, and the index is from 0 to ``limit`` - 1, the value is added
    to counter ``start`` plus the index of ``buffer``. What is left for the thread to combine is a fragment of zeros.
    """

    ins = fields(
        value=elements("values", "i32", "i64"),
        index=elements("indices", "i32"),
        live=elements("truth values", "i1"),
        buffer=pointer(SHARED, GLOBAL),
        start=index,
        limit=index,
    )
    outs = fields(zero=anything)

    def check(self) -> None:
        sizes = [width(v.type) for v in (*list(self.operands)[:3], self.results[0])]
        expect(len({*sizes}) == 1, self, f"fragments of {sizes[0]} elements", ", ".join(map(str, sizes)))


class SpillOp(Op, name="spill"):
    """Adds the counters of the CTA to those of the grid: ``fold.spill buffer, cells, limit {count, copies, bits}``.

    All threads of the CTA execute the op, and wait for each other first. The cells are integers of 64 bits; the first
    ``limit`` are added to.
    """

    ins = fields(buffer=pointer(SHARED), cells=pointer(GLOBAL), limit=index)
    attrs = COUNTERS
