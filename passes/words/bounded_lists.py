"""The k least elements of a row, in a sorted list: a warp has one, and few elements are below its k-th.

In the list of a warp lane i has the i-th least element that the warp has met. That of lane k - 1 is the bound: no
greater element is among the k least of the row. Elements of an access are only compared with it. Where a lane has one
below it, each lane sorts its own. Then the least of all lanes goes into its place, for which the lanes above it shift,
until none is below the bound. So an access costs k insertions at most, whatever the order of the elements.

All keys differ, so the list does not depend on which elements were compared when.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from ...compiler.errors import error
from ...compiler.ir.build import i32, integer, word_type
from ...compiler.ir.combine import clone_block, elements, fragment, horizontal, splat, unpack, width
from ...compiler.ir.dialect.base import element, int_attr
from ...compiler.ir.lane_exchange import from_below, lane_id, of_lane
from ...compiler.ir.mlir import arith, ir, nvvm, scf
from ...compiler.ir.sorted_lists import inserts
from ..access.thread_loop import apart
from .packing import is_a, yielded

_WORD = 32


def lower(op: Any) -> list[Any] | None:
    """Writes the loop of a ``fold.thread_reduce`` and returns its state; None if its lists are of threads.

    Raises:
        CompileError: WF321 where an element is no integer that goes into a sorted list.
    """
    if "warp" not in op.attributes:
        return None
    state = unpack(op.operands[2])
    key = element(state[0].type)
    known = str(key) in ("i32", "i64") and all(element(v.type) == key for v in state) and inserts(op.regions[1])
    if not known:
        raise error("WF321", stage="lower-thread-reduce", op="a list of a warp", dtype=str(op.operands[2].type))
    return _ListOfWarp(op, key).run()


class _ListOfWarp:
    """A walk of a warp.

    Attributes:
        op: the op.
        key: the type of elements.
        k: the length of the list.
        highest: the key of no element.
        first: whether this is the first lane.
        lists: whether an element of the walk is a list; else it is one key.
    """

    def __init__(self, op: Any, key: Any) -> None:
        self.op, self.key = op, key
        self.k = len(unpack(op.operands[2]))
        self.highest = integer(key, (1 << key.width - 1) - 1)
        self.first = _equal(lane_id(), i32(0))
        self.lists = not all(_is_highest(v) for v in unpack(yielded(op))[1:])

    def run(self) -> list[Any]:
        """The state after the walk, the list in all lanes: scalars, or fragments with one element each."""
        init = unpack(self.op.operands[2])
        own, _ = self._walked(self._begun(init))
        found = [of_lane(own, i32(i)) for i in range(self.k)]
        lanes = width(init[0].type)
        if self.op.results[0].type != self.op.operands[2].type or lanes == 1:
            return found
        return [fragment([v, *[self.highest] * (lanes - 1)]) for v in found]

    def _begun(self, init: Sequence[Any]) -> list[Any]:
        """A lane's element of the list with which the walk begins, and the bound."""
        if all(_is_highest(v) for v in init):
            return [self.highest, self.highest]
        found = [_only(v) for v in init]
        if any(v is None for v in found):
            found = horizontal(self.op.regions[1], init, width(init[0].type))
        if left := _left(found):
            return left
        own = self.highest
        for i, v in enumerate(found):
            own = arith.select(_equal(lane_id(), i32(i)), v, own)
        return [own, found[-1]]

    def _walked(self, first: list[Any]) -> list[Any]:
        """The list and the bound after all steps; the loop ends for all lanes of the warp at once."""
        begin, end = list(self.op.operands)[:2]
        if "once" in self.op.attributes:
            return self._step(begin, _less(begin, end), first)
        types = [begin.type, *(v.type for v in first)]
        loop = scf.WhileOp(types, [begin, *first])
        r, *state = loop.before.blocks.append(*types).arguments
        with ir.InsertionPoint(loop.before.blocks[0]):
            scf.ConditionOp(_any(_less(r, end)), [r, *state])
        r, *state = loop.after.blocks.append(*types).arguments
        with ir.InsertionPoint(loop.after.blocks[0]):
            then = self._step(r, _less(r, end), list(state))
            scf.YieldOp([arith.addi(r, apart(self.op, int_attr(self.op, "unroll"))), *then])
        return list(loop.results)[1:]

    def _step(self, r: Any, here: Any, state: list[Any]) -> list[Any]:
        """The list and the bound after the accesses of one step, which a lane makes if it is ``here``.

        The last one comes first: where elements become less along the row, none of the others has one below the bound.
        """
        unroll, each = int_attr(self.op, "unroll"), self.k if self.lists else 1
        types = [v.type for v in unpack(yielded(self.op))[:each]]
        branch = scf.IfOp(here, types * unroll, has_else=True)
        with ir.InsertionPoint(branch.then_block):
            starts = [arith.addi(r, apart(self.op, u)) if u else r for u in range(unroll)]
            made = [clone_block(self.op.regions[0].blocks[0], [start], 1)[:each] for start in starts]
            scf.YieldOp([v for values in made for v in values])
        with ir.InsertionPoint(branch.else_block):
            scf.YieldOp([splat(self.highest, width(t)) for t in types] * unroll)
        found = list(branch.results)
        return reduce(self._access, reversed([found[u * each :][:each] for u in range(unroll)]), state)

    def _access(self, state: list[Any], values: list[Any]) -> list[Any]:
        """The list and the bound after an access."""
        found = [key for v in values for key in elements(v)]
        upper = reduce(arith.minsi, [self._upper(x) for x in (found[:1] if self.lists else found)])
        passes = arith.cmpi(arith.CmpIPredicate.sle, upper, self._upper(state[-1]))
        branch = scf.IfOp(_any(passes), [self.key] * 2, has_else=True)
        with ir.InsertionPoint(branch.then_block):
            scf.YieldOp(self._inserted(found, state))
        with ir.InsertionPoint(branch.else_block):
            scf.YieldOp(state)
        return list(branch.results)

    def _inserted(self, keys: list[Any], state: list[Any]) -> list[Any]:
        """The list and the bound after the ``keys`` below it: in each turn the least that a lane has left goes in."""
        types = [self.key] * (1 + len(keys) + 2)
        loop = scf.WhileOp(types, [*(keys if self.lists else _sorted(keys)), *state])
        first, body = loop.before.blocks.append(*types[1:]), loop.after.blocks.append(*types)
        with ir.InsertionPoint(first):
            *left, own, bound = first.arguments
            least = self._least_of_lanes(left[0])
            scf.ConditionOp(_less(least, bound), [least, *left, own, bound])
        with ir.InsertionPoint(body):
            least, *left, own, bound = body.arguments
            taken = _equal(left[0], least)
            left = [arith.select(taken, y, x) for x, y in zip(left, [*left[1:], self.highest], strict=True)]
            below = arith.select(self.first, least, from_below(own, i32(1)))
            own = arith.minsi(own, arith.maxsi(below, least))
            scf.YieldOp([*left, own, of_lane(own, i32(self.k - 1))])
        return list(loop.results)[-2:]

    def _least_of_lanes(self, x: Any) -> Any:
        """The least key of all lanes: upper words decide, then the lower ones of those that are equal."""
        upper = self._upper(x)
        least = nvvm.redux_sync(upper, nvvm.ReductionKind.MIN, i32(-1))
        if self.key.width == _WORD:
            return least
        lower = arith.select(_equal(upper, least), arith.trunci(word_type(), x), i32(-1))
        lower = nvvm.redux_sync(lower, nvvm.ReductionKind.UMIN, i32(-1))
        shifted = arith.shli(arith.extsi(self.key, least), integer(self.key, _WORD))
        return arith.ori(shifted, arith.extui(self.key, lower))

    def _upper(self, x: Any) -> Any:
        """The word of a key that decides before the other."""
        if self.key.width == _WORD:
            return x
        return arith.trunci(word_type(), arith.shrsi(x, integer(self.key, _WORD)))


def _left(own: Sequence[Any]) -> list[Any] | None:
    """A lane's element and the bound that an earlier walk left, whose list ``own`` is; None of another list."""
    if not all(is_a(v, "gpu.shuffle") for v in own):
        return None
    first, *others = [v.owner.operands[0] for v in own]
    moved = all(v == first for v in others) and is_a(first, "scf.while", "scf.if")
    return list(first.owner.results)[-2:] if moved else None


def _sorted(x: Sequence[Any]) -> list[Any]:
    """A power of two of keys, the least first, by K. E. Batcher's network of merges (1968)."""
    found, n = list(x), len(x)
    size = 1
    while size < n:
        apart = size
        while apart:
            for i in range(apart % size, n - apart):
                if (i - apart % size) // apart % 2 == 0 and i // (2 * size) == (i + apart) // (2 * size):
                    a, b = found[i], found[i + apart]
                    found[i] = arith.minsi(a, b)
                    found[i + apart] = arith.xori(arith.xori(a, b), found[i])
            apart //= 2
        size *= 2
    return found


def _any(x: Any) -> Any:
    return nvvm.vote_sync(i32(-1), x, nvvm.VoteSyncKind.any)


def _less(x: Any, y: Any) -> Any:
    return arith.cmpi(arith.CmpIPredicate.slt, x, y)


def _equal(x: Any, y: Any) -> Any:
    return arith.cmpi(arith.CmpIPredicate.eq, x, y)


def _is_highest(v: Any) -> bool:
    """Whether all elements of a fragment are the greatest integer of their type, wherever they are masked."""
    if is_a(v, "arith.select"):
        return all(_is_highest(x) for x in list(v.owner.operands)[1:])
    while is_a(v, "vector.broadcast"):
        v = v.owner.operands[0]
    if not is_a(v, "arith.constant"):
        return False
    value = v.owner.attributes["value"]
    values = list(ir.DenseIntElementsAttr(value)) if isinstance(v.type, ir.VectorType) else [value.value]
    return all(int(x) == (1 << element(v.type).width - 1) - 1 for x in values)


def _only(v: Any) -> Any:
    """The first element of a fragment whose others are the highest; None of another fragment."""
    if not is_a(v, "vector.from_elements"):
        return v if width(v.type) == 1 else None
    first, *others = v.owner.operands
    return first if all(_is_highest(x) for x in others) else None
