"""Tagged words: states that CTAs leave for each other in global memory, each readable whenever it is looked at.

Each 32 bits of a state are the lower half of a word of 64 bits, whose upper half says what the state is: 0 where there
is none yet. A word is written and read as a whole. So accesses need no order, and no barrier.
"""

from typing import Any

from ...mlir import ext
from ..base import (
    GLOBAL,
    Fold,
    check_flag,
    check_fragment,
    check_index,
    check_pointer,
    coded,
    element,
    expect,
    int_attr,
    values,
)

AGGREGATE, PREFIX = 1, 2
"""The kinds of states: of a part of a row alone, and of all of a row up to the end of that part."""


class LeaveOp(Fold.Operation, name="leave"):  # type: ignore[misc]
    """Leaves a state in the words from number ``at`` on: ``fold.leave words, at, on, state {kind}``.

    Threads whose ``on`` is true do so. ``kind`` is 1 for an aggregate, 2 for a prefix.
    """

    words: ext.Operand[Any]
    at: ext.Operand[Any]
    on: ext.Operand[Any]
    state: ext.Operand[Any]
    kind: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_pointer(op, 0, GLOBAL)
        check_index(op, 1)
        check_flag(op, 2)
        _check_state(op, op.operands[3].type)
        kind = int_attr(op, "kind")
        expect(kind in (AGGREGATE, PREFIX), op, f"the kind {AGGREGATE} or {PREFIX}", kind)


class SeenOp(Fold.Operation, name="seen"):  # type: ignore[misc]
    """What was left in the words from number ``at`` on: ``kind, state = fold.seen words, at``.

    The kind is 0 where nothing was left, or where only some of the words of a state are there yet.
    """

    words: ext.Operand[Any]
    at: ext.Operand[Any]
    kind: ext.Result[Any]
    state: ext.Result[Any]

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_pointer(op, 0, GLOBAL)
        check_index(op, 1)
        kind = str(op.results[0].type)
        expect(kind == "i32", op, "a kind of type i32", kind)
        _check_state(op, op.results[1].type)


def _check_state(op: Any, t: Any) -> None:
    """Checks that a state is one of scalars."""
    for v in values(t):
        check_fragment(op, v)
        expect(v == element(v), op, "a state of scalars", str(v))
