"""Stages between CTAs that take their work by tickets: a CTA waits only for work with smaller tickets.

A *ticket* is the next number of a counter. What a CTA waits for has a smaller ticket, so a CTA has taken it, and waits
itself only for smaller ones. A *counter* is a word of global memory that is zero when the kernel begins and when it
ends.
"""

from typing import Any

from ...mlir import ext
from ..base import GLOBAL, Fold, check_index, check_pointer, coded, expect


class TicketOp(Fold.Operation, name="ticket"):  # type: ignore[misc]
    """Takes a ticket: how many were taken before.

    ``number = fold.ticket counter, count``: the first thread of the CTA gets the number; in the other threads it is
    zero. The last of ``count`` tickets sets the counter back to zero.
    """

    counter: ext.Operand[Any]
    count: ext.Operand[Any]
    number: ext.Result[Any]

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_pointer(op, 0, GLOBAL)
        check_index(op, 1)
        _check_same(op, 1)


class ShareOp(Fold.Operation, name="share"):  # type: ignore[misc]
    """Gives a number of the first thread of the CTA to all of its threads.

    ``shared = fold.share number``: all threads of the CTA execute the op, and wait for each other. They do so once more
    before they execute it again.
    """

    number: ext.Operand[Any]
    shared: ext.Result[Any]

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_index(op, 0)
        _check_same(op, 0)


class ArriveOp(Fold.Operation, name="arrive"):  # type: ignore[misc]
    """Adds one to a counter, and says whether ``count`` CTAs have arrived: the last one acquires what all wrote before.

    ``last = fold.arrive counter, number, count {[alone], [once]}``: of counter ``number`` of an array of counters. All
    threads of the CTA execute the op, and get the truth value. With ``alone`` one warp of the CTA executes the op, for
    what came before a barrier. With ``alone`` or ``once`` nothing waits for the counter: the last CTA sets it back to
    zero.
    """

    counter: ext.Operand[Any]
    number: ext.Operand[Any]
    count: ext.Operand[Any]
    last: ext.Result[Any]

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_pointer(op, 0, GLOBAL)
        check_index(op, 1, 2)
        expect(str(op.results[0].type) == "i1", op, "a result of type i1", str(op.results[0].type))


class SignalOp(Fold.Operation, name="signal"):  # type: ignore[misc]
    """Releases what the threads of the CTA wrote to those that wait for a counter.

    ``fold.signal counter, number, count``: the last of ``count`` CTAs that arrive at counter ``number`` signals once;
    with ``all``, each of ``count`` CTAs does, and none arrives. All threads of a CTA execute the op.
    """

    counter: ext.Operand[Any]
    number: ext.Operand[Any]
    count: ext.Operand[Any]

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_pointer(op, 0, GLOBAL)
        check_index(op, 1, 2)


class AwaitOp(Fold.Operation, name="await"):  # type: ignore[misc]
    """Waits for the signal of a counter, and acquires what was written before it.

    ``fold.await counter, number, count``: of counter ``number``, as in ``fold.arrive``; with ``all``, for the signals
    of ``count`` CTAs, all of which run at a time. The last of ``count`` waits sets the counter back to zero. All
    threads of the CTA execute the op.
    """

    counter: ext.Operand[Any]
    number: ext.Operand[Any]
    count: ext.Operand[Any]

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_pointer(op, 0, GLOBAL)
        check_index(op, 1, 2)


def _check_same(op: Any, operand: int) -> None:
    """Checks that the result has the type of an operand."""
    found, wanted = str(op.results[0].type), str(op.operands[operand].type)
    expect(found == wanted, op, f"a result of type {wanted}", found)
