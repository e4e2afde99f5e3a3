"""The k least elements of a row, in sorted lists: the lanes of a warp share a bound, which few elements are below.

Each lane has a list of its own elements. The j-th least of all lanes' elements number i, with i * j >= k, is the bound
of a warp: k elements are not above it, so no element above it is among the k least of the row. Elements of an access
are only compared with the bound. Where a lane of the warp has one below it, each lane inserts its own, the least first,
and the bound is found again. After m elements of each lane a warp finds k in 32 m below the bound, so most accesses
pass.

All keys differ, so the lists do not depend on which elements were compared when.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from ...compiler.ir.attributes import target_of
from ...compiler.ir.build import i32, integer, kernel_module, word_type
from ...compiler.ir.combine import clone_block, elements, fragment, horizontal, splat, unpack, width
from ...compiler.ir.dialect.base import element, int_attr
from ...compiler.ir.mlir import arith, ir, math, nvvm, scf
from ...compiler.ir.sorted_lists import inserts
from ..access.thread_loop import apart
from .matchers import is_a, yielded

MOST_LANES = 8
"""Of so many lanes at most an element is compared for the bound."""
_WORD = 32


def lower(op: Any) -> list[Any] | None:
    """Writes the loop of a ``fold.thread_reduce`` and returns its state; None if it makes no lists of a warp."""
    if "warp" not in op.attributes or not target_of(kernel_module(op)).has_redux:
        return None
    state = unpack(op.operands[2])
    key = element(state[0].type)
    if str(key) not in ("i32", "i64") or any(element(v.type) != key for v in state) or not inserts(op.regions[1]):
        return None
    if not all(_is_highest(v) for v in unpack(yielded(op))[1:]):
        return None
    return _BoundedLists(op, key).run()


class _BoundedLists:
    """A walk of a warp.

    Attributes:
        op: the op.
        key: the type of elements.
        k: the length of a list.
        highest: the key of no element.
    """

    def __init__(self, op: Any, key: Any) -> None:
        self.op, self.key = op, key
        self.k = len(unpack(op.operands[2]))
        self.highest = integer(key, (1 << key.width - 1) - 1)

    def run(self) -> list[Any]:
        """The state after the walk: scalars, or fragments of which the first element has a list."""
        init = unpack(self.op.operands[2])
        found = self._walked(self._first(init))[:-1]
        lanes = width(init[0].type)
        if self.op.results[0].type != self.op.operands[2].type or lanes == 1:
            return found
        return [fragment([v, *[self.highest] * (lanes - 1)]) for v in found]

    def _first(self, init: Sequence[Any]) -> list[Any]:
        """The list with which the walk begins, and its bound."""
        if all(_is_highest(v) for v in init):
            return [self.highest] * (self.k + 1)
        own = [_only(v) for v in init]
        if any(v is None for v in own):
            own = horizontal(self.op.regions[1], init, width(init[0].type))
        if is_a(own[0], "scf.while", "scf.if") and len(results := list(own[0].owner.results)) == self.k + 1:
            return list(results)
        return [*own, self._bound(own)]

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
        """The list and the bound after the accesses of one step, which a lane makes if it is ``here``."""
        unroll, t = int_attr(self.op, "unroll"), unpack(yielded(self.op))[0].type
        branch = scf.IfOp(here, [t] * unroll, has_else=True)
        with ir.InsertionPoint(branch.then_block):
            starts = [arith.addi(r, apart(self.op, u)) if u else r for u in range(unroll)]
            scf.YieldOp([clone_block(self.op.regions[0].blocks[0], [start], 1)[0] for start in starts])
        with ir.InsertionPoint(branch.else_block):
            scf.YieldOp([splat(self.highest, width(t))] * unroll)
        return reduce(self._access, branch.results, state)

    def _access(self, state: list[Any], keys: Any) -> list[Any]:
        """The list and the bound after an access."""
        found, types = elements(keys), [v.type for v in state]
        upper = reduce(arith.minsi, [self._upper(x) for x in found])
        passes = arith.cmpi(arith.CmpIPredicate.sle, upper, self._upper(state[-1]))
        branch = scf.IfOp(_any(passes), types, has_else=True)
        with ir.InsertionPoint(branch.then_block):
            scf.YieldOp(self._inserted(found, state))
        with ir.InsertionPoint(branch.else_block):
            scf.YieldOp(state)
        return list(branch.results)

    def _inserted(self, keys: list[Any], state: list[Any]) -> list[Any]:
        """The list with the ``keys`` below the bound: in each turn lanes insert the least that they have left."""
        bound, types = state[-1], [self.key] * (len(keys) + self.k)
        loop = scf.WhileOp(types, [*keys, *state[:-1]])
        first, body = (part.blocks.append(*types) for part in (loop.before, loop.after))
        with ir.InsertionPoint(first):
            left = list(first.arguments)[: len(keys)]
            scf.ConditionOp(_any(_less(reduce(arith.minsi, left), bound)), list(first.arguments))
        with ir.InsertionPoint(body):
            left, own = list(body.arguments)[: len(keys)], list(body.arguments)[len(keys) :]
            least = reduce(arith.minsi, left)
            left = [arith.select(_equal(x, least), self.highest, x) for x in left]
            scf.YieldOp([*left, *_insert(own, least)])
        own = list(loop.results)[len(keys) :]
        return [*own, self._bound(own)]

    def _bound(self, own: Sequence[Any]) -> Any:
        """What k elements of the warp are not above."""
        lanes = min(self.k, MOST_LANES)
        x = own[-(-self.k // lanes) - 1]
        if self.key.width == _WORD:
            return self._least_of(lanes, x, lambda _found, least, _equal: least)
        upper, none = self._upper(x), i32(0)
        count = none

        def found(so_far: Any, least: Any, equal: Any) -> Any:
            nonlocal count
            taken = arith.select(_less(count, i32(lanes)), least, so_far)
            count = arith.addi(count, math.ctpop(nvvm.vote_sync(i32(-1), equal, nvvm.VoteSyncKind.ballot)))
            return taken

        last = self._least_of(lanes, upper, found)
        lower = arith.select(_equal(upper, last), arith.trunci(word_type(), x), none)
        lower = nvvm.redux_sync(lower, nvvm.ReductionKind.UMAX, i32(-1))
        shifted = arith.shli(arith.extsi(self.key, last), integer(self.key, _WORD))
        return arith.ori(shifted, arith.extui(self.key, lower))

    def _least_of(self, rounds: int, x: Any, then: Callable[[Any, Any, Any], Any]) -> Any:
        """The last of the least words of all lanes that ``then`` takes; those equal to one are left out after it."""
        highest = i32((1 << _WORD - 1) - 1)
        found = highest
        for _ in range(rounds):
            least = nvvm.redux_sync(x, nvvm.ReductionKind.MIN, i32(-1))
            equal = _equal(x, least)
            found, x = then(found, least, equal), arith.select(equal, highest, x)
        return found

    def _upper(self, x: Any) -> Any:
        """The word of a key that decides before the other."""
        if self.key.width == _WORD:
            return x
        return arith.trunci(word_type(), arith.shrsi(x, integer(self.key, _WORD)))


def _insert(own: Sequence[Any], x: Any) -> list[Any]:
    """A sorted list with ``x`` in its place, without its last element."""
    found = []
    for v in own:
        least = arith.minsi(v, x)
        x = arith.xori(arith.xori(v, x), least)
        found.append(least)
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
