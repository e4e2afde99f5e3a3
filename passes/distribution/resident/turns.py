"""Loops over groups of a thread's accesses that wait in slots, which a loop can address: their code is there once.

So the size of a kernel, and the time to compile it, do not grow with the accesses that wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, ir, llvm, scf
from ....compiler.plan.layout import layout_of

if TYPE_CHECKING:
    from ..kernel import Kernel
    from .held_accesses import HeldAccesses

R = TypeVar("R", bound="HeldAccesses")

AT_ONCE = 4
"""Accesses in slots whose results a turn of a loop makes."""
FOLDED = 8
"""The least accesses that a turn folds: it does not read ahead of the next turn, and smaller ones wait longer for that
than their code is worth."""

WORD = 32
"""Bits of a word."""


class Turn(NamedTuple):
    """A turn of a loop over accesses, or groups of them, that have the same code.

    Attributes:
        number: the number of the turn's first access, a value of the kernel.
        alike: for each access of a turn the numbers of those that have its code.
    """

    number: Any
    alike: Sequence[Sequence[int]]


def turns_of(row: HeldAccesses, count: int) -> int:
    """How many turns a loop over groups of ``count`` accesses of a row has; 0 where there is none.

    It has code for one group, in which one access at most may lie beyond the row: that one is masked in all turns.
    Where columns have weights, a last group of which more may do so has code of its own.
    """
    turns = 0 if row.turn or any(row.fragments) or not _is_worth_it(row) else len(row.starts) // count
    masked = _masked(row, turns, count)
    if masked > 1 and has_weights_of_columns(row.row.kernel):
        turns -= 1
        masked = _masked(row, turns, count)
    return turns if turns > 1 and masked <= 1 else 0


def has_weights_of_columns(kernel: Kernel) -> bool:
    """Whether columns of whole warps in shared memory have weights, which each access to their elements reads."""
    plan = kernel.plan
    return plan.fast == "kept" and plan.resident == "shared" and plan.lanes == 1 and "uniform" in kernel.facts.access


def _masked(row: HeldAccesses, turns: int, count: int) -> int:
    """The accesses of a group of ``count`` that may lie beyond the row in one of so many turns."""
    return sum(not all(map(row.is_whole, own)) for own in _alike(turns, count))


def _is_worth_it(row: HeldAccesses) -> bool:
    """Whether a loop's own instructions cost less than its code saves.

    A CTA alone that keeps halves is bound by instructions, of which a loop adds 8 in 100, and its code is short. Words
    leave time for twice as many, and the CTAs of a cluster have more code, in which the end of a row may lie anywhere.
    """
    kernel = row.row.kernel
    widths = (int(element(kernel.inputs[i].type).width) for i in row.slots)
    return bool(row.slots) and (kernel.plan.cluster > 1 or max(widths) >= WORD)


def in_turns(row: R, turns: int, count: int, make: Group[R], types: Sequence[Any] = ()) -> list[Any]:
    """Writes a loop over groups of accesses, and gives what its last turn carries on, values of ``types``.

    ``make`` writes a turn: by the group, whether it is the first one, and what the turn before has carried on.
    """
    kernel, step = row.row.kernel, layout_of(row.row.kernel.plan).step
    zero, end, each = (kernel.number(k) for k in (0, turns * count, count))
    loop = scf.ForOp(zero, end, each, [llvm.mlir_undef(t) for t in types])
    with ir.InsertionPoint(loop.body):
        number = loop.induction_variable
        begin = arith.addi(row.starts[0], arith.muli(number, kernel.number(step)))
        starts = (begin, *(arith.addi(begin, kernel.number(j * step)) for j in range(1, count)))
        own = replace(row.row, values=replace(row.row.values, kept=dict(row.row.values.kept)))
        turn = Turn(number, _alike(turns, count))
        fragments = tuple[dict[Any, Any], ...]({} for _ in starts)
        group = replace(row, row=own, starts=starts, fragments=fragments, turn=turn)
        is_first = arith.cmpi(arith.CmpIPredicate.eq, number, zero)
        scf.YieldOp(make(group, is_first, list(loop.inner_iter_args)))
    return list(loop.results)


def _alike(turns: int, count: int) -> list[range]:
    """For each access of a group of ``count`` the numbers of those that have its place in their groups."""
    return [range(j, turns * count, count) for j in range(count)]


Group = Callable[[R, Any, Sequence[Any]], Sequence[Any]]
"""Writes the code of a group of accesses, and gives what goes on to the next one."""
