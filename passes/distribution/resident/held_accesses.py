"""The accesses of a row that a thread makes once, and what is known of each: its fragments, and whether it is whole.

Loops over groups of a thread's accesses that wait in slots, which a loop can address: their code is there once.

So the size of a kernel, and the time to compile it, do not grow with the accesses that wait.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, ir, llvm, scf
from ....compiler.plan.fields import PARTS_OF, TRANSPOSED
from ....compiler.plan.layout import layout_of
from ....compiler.postorder import postorder
from ..reader import operands_of
from .row_accesses import RowAccesses, is_shifted
from .transposed_blocks import MatrixTile, load_transposed

if TYPE_CHECKING:
    from ..kernel import Kernel


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


@dataclass(frozen=True, eq=False)
class HeldAccesses:
    """The accesses of a row that a thread keeps.

    Attributes:
        row: the thread's accesses.
        starts: the reduced index at which each of them begins.
        fragments: for each access the fragments of the program's tensors that are known.
        slots: for each input that waits in shared memory its slots there.
        whole: whether all accesses are known to lie in the row.
        turn: the turn of a loop over accesses, in which the row has those of a turn; None outside of such loops.
        tile: the tile of the CTA that warps read in turned blocks, by a plan that has one.
    """

    row: RowAccesses
    starts: tuple[Any, ...]
    fragments: tuple[dict[Any, Any], ...]
    slots: Mapping[int, Any]
    whole: bool = False
    turn: Turn | None = None
    tile: MatrixTile | None = None

    @classmethod
    def known(cls, row: RowAccesses, slots: Mapping[int, Any]) -> Self:
        """The row of a thread for which nothing is asked: what waits is in ``slots``, or is copied there."""
        starts = starts_of(row, row.kernel.plan.held)
        return cls(row, starts, tuple({} for _ in starts), slots)

    def is_whole(self, j: int) -> bool:
        """Whether access ``j`` lies in the part of the row that the CTA owns, in every thread."""
        return all(map(self._is_whole, self.like(j)))

    def _is_whole(self, j: int) -> bool:
        """The same of access ``j`` of the thread."""
        kernel, plan = self.row.kernel, self.row.kernel.plan
        if kernel.facts.full or self.whole or plan.walk == "blocked":
            return True
        if plan.is_far or not kernel.phases or kernel.facts.spare:
            return False
        if plan.fast == "reduced":
            return self._is_middle(j)
        # A CTA owns an equal part of the column, and the last one up to ``cluster - 1`` elements less.
        span = layout_of(plan).step
        return (j + 1) * span <= (plan.held - 1) * span + 2 - plan.cluster

    def like(self, j: int) -> Sequence[int]:
        """The numbers of the accesses of the thread that have the code of access ``j``."""
        return self.turn.alike[j] if self.turn else (j,)

    def _is_middle(self, j: int, *, beside: int = 0) -> bool:
        """Whether access ``j``, and ``beside`` further ones of the thread before and after it, lie in the row.

        An end of the row may cut the first access of rows that begin anywhere, which may have one fewer than others.
        The last CTA of a cluster may lack up to PARTS_OF accesses for each of the others.
        """
        plan, cut = self.row.kernel.plan, is_shifted(self.row.kernel)
        lacking = 1 + -(-PARTS_OF * (plan.cluster - 1) // plan.positions)
        return not self.row.kernel.facts.spare and cut + beside <= j < plan.held - lacking - cut - beside

    def fragment(self, tensor: Any, j: int) -> Any:
        """The fragment of a tensor in access ``j``."""
        return self.row.values.fragment(tensor, self.fragments[j], self.starts[j], lambda i, t: self._load(i, t, j))

    def _load(self, operand: int, t: Any, j: int) -> Any:
        """The elements of an input in access ``j``: those that wait, or those in memory."""
        if self.row.kernel.facts.access[operand] in TRANSPOSED:
            found = load_transposed(self.row, operand, t)
            for known, value in zip(self.fragments, found, strict=True):
                known[self.row.kernel.inputs[operand]] = value
            return found[j]
        if self.row.columns:
            return self.row.columns.load(operand, t, self.starts[j])
        if operand not in self.slots:
            return self.row.load(operand, t, self.starts[j], whole=self.is_whole(j), inside=self.is_inside(j))
        kernel = self.row.kernel
        number = self.number(j)
        if self.tile and kernel.facts.access[operand] == "matrix":
            return self.tile.load(operand, t, number)
        operands = [self.slots[operand], number]
        return kernel.make("fold.held", t, operands, {"threads": kernel.plan.threads}, kernel.plan.vector)

    def is_inside(self, j: int) -> bool:
        """Whether the aligned accesses around access ``j`` lie in the row in every thread."""
        middle = all(self._is_middle(k, beside=1) for k in self.like(j))
        return middle and not self.row.kernel.plan.is_far and bool(self.row.kernel.phases)

    def number(self, j: int) -> Any:
        """The number of access ``j`` among those of the thread, as a value of the kernel."""
        own = self.row.kernel.number(j)
        return arith.addi(self.turn.number, own) if self.turn and j else self.turn.number if self.turn else own

    def part(self, first: int, count: int) -> Self:
        """So many of the accesses, from number ``first`` on."""
        own = slice(first, first + count)
        return replace(self, starts=self.starts[own], fragments=self.fragments[own])

    def inputs_of(self, tensors: Sequence[Any]) -> list[Any]:
        """The inputs that tensors need for each element."""
        values = self.row.values
        needed = postorder(tensors, operands_of, values.kept)
        return [v for v in needed if isinstance(v, ir.BlockArgument) and values.varies(v)]

    def apart(self, *, whole: bool) -> Self:
        """The row in a branch of the kernel, where all of its accesses lie in the row if it is ``whole``.

        What is computed in the branch is known there alone.
        """
        values = replace(self.row.values, kept=dict(self.row.values.kept))
        row = replace(self.row, values=values)
        return replace(self, row=row, fragments=tuple(map(dict, self.fragments)), whole=whole)

    def begin_phase(self) -> None:
        """Forgets what is to be computed again."""
        if self.row.kernel.plan.waits_in_slots:
            for known in self.fragments:
                known.clear()


def starts_of(row: RowAccesses, held: int) -> tuple[Any, ...]:
    """The reduced indices at which so many accesses of a thread begin."""
    kernel, step = row.kernel, layout_of(row.kernel.plan).step
    return (row.begin, *(arith.addi(row.begin, kernel.number(j * step)) for j in range(1, held)))
