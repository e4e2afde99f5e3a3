"""Straight-line code that repeats: written once, in a loop that a pass unrolls when all ops in it are lowered.

An op that Python makes takes some 10 us, and each pass of ours visits it; a copy that MLIR makes of it takes less than
1 us. What differs between the turns goes round through the values of the loop: in a turn its own come first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .mlir import ir, llvm, scf

UNROLLED = "fold.unrolled"
"""The attribute of such a loop: how many of its turns the pass makes one, most often all."""

REPEATED = 3
"""From how many accesses on the same code is written once, in a loop, which a pass unrolls."""

Turn = Callable[[Any, Sequence[Any], Sequence[Any]], tuple[Sequence[Any], Sequence[Any]]]
"""Writes a turn: by its number, its own values and those carried, it gives what it makes, and what it carries on."""


def unrolled(
    items: Sequence[Sequence[Any]],
    types: Sequence[Any],
    turn: Turn,
    numbers: Sequence[Any],
    carried: Sequence[Any] = (),
) -> tuple[list[list[Any]], list[Any]]:
    """A loop with a turn for each of ``items``, which a pass unrolls.

    Args:
        items: the values of each turn, alike in number and types.
        types: the types of what a turn makes.
        turn: writes the turn.
        numbers: the number of the first turn, that after the last one, and 1.
        carried: what the first turn is given.

    Returns:
        What each turn makes, and what the last one carries on.
    """
    loop, found = rolled(items, types, turn, numbers, carried)
    if loop is not None:
        unroll_later(loop, len(items))
    return found


def unroll_later(loop: Any, turns: int) -> None:
    """Marks a loop, of which the pass makes so many turns one."""
    loop.attributes[UNROLLED] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), turns)


def rolled(
    items: Sequence[Sequence[Any]],
    types: Sequence[Any],
    turn: Turn,
    numbers: Sequence[Any],
    carried: Sequence[Any] = (),
) -> tuple[Any, tuple[list[list[Any]], list[Any]]]:
    """The op of a loop that stays one, None where turns make no ops, and what ``unrolled`` returns.

    Its values move from register to register in each turn: it is for code that few threads reach.
    """
    count, n, k = len(items), len(items[0]), len(types)
    empty = [llvm.mlir_undef(t) for t in types]
    begin = [*carried, *(v for own in items for v in own), *(e for _ in items for e in empty)]
    loop = scf.ForOp(*numbers, begin)
    first = len(carried)
    with ir.InsertionPoint(loop.body):
        given, own = list(loop.inner_iter_args)[:first], list(loop.inner_iter_args)[first:]
        made, on = turn(loop.induction_variable, own[:n], given)
        for v in made:
            _move_before(v, loop)  # a constant is the same in all turns, and known to be
        scf.YieldOp([*on, *own[n : count * n], *own[:n], *own[count * n + k :], *made])
    if len(loop.body.operations) == 1:  # MLIR does not unroll a loop without ops
        loop.operation.erase()
        return None, _passed_on(items, turn, numbers[0], carried)
    found = list(loop.results)
    outside = {i: v for i, v in enumerate(made) if _block_of(v) != loop.body}  # the same in all turns
    results = found[first + count * n :]
    parts = [[outside.get(i, results[j * k + i]) for i in range(k)] for j in range(count)]
    return loop.operation, (parts, found[:first])


def _passed_on(
    items: Sequence[Sequence[Any]], turn: Turn, number: Any, carried: Sequence[Any]
) -> tuple[list[list[Any]], list[Any]]:
    """What turns that make no ops, and so do not need their ``number``, pass on."""
    parts = []
    for own in items:
        made, carried = turn(number, own, carried)
        parts.append(list(made))
    return parts, list(carried)


def _move_before(value: Any, loop: Any) -> bool:
    """Moves what makes a constant, or a vector of it, before a loop; False for other values that the loop makes."""
    if not isinstance(value, ir.OpResult) or _block_of(value) != loop.body:
        return not isinstance(value, ir.BlockArgument)
    op = value.owner
    if op.name not in ("arith.constant", "vector.broadcast") or not all(_move_before(v, loop) for v in op.operands):
        return False
    op.move_before(loop.operation)
    return True


def _block_of(value: Any) -> Any:
    """The block in which a value is made."""
    return value.owner if isinstance(value, ir.BlockArgument) else value.owner.operation.block
