"""Decides how fragments meet global memory: vector width in use, peeled steps, masked tails, unaligned rows.

A thread's walk over the reduced axis is cut into pieces that each know more than the whole: whole groups of ``unroll``
accesses, whole accesses, and, where an access holds several reduced elements, one masked access at the tail (and one
at the head, for rows that begin between two 16-byte boundaries). Masked accesses read element by element at clamped
indices, so nothing outside the row is ever touched; what they must not count was replaced by the identity above.

Four neighbouring results a thread, two accesses in flight: the walk becomes groups of two, then what is left.

```mlir before
func.func @access(%x: !llvm.ptr<1>, %kept: i32, %begin: i32, %end: i32, %one: i32, %stride: i32) -> vector<4xf32> {
  %zeros = arith.constant dense<0.0> : vector<4xf32>
  %state = "fold.thread_reduce"(%begin, %end, %zeros) ({
  ^bb0(%r: i32):
    %four = "fold.load"(%x, %kept, %r, %one, %stride)
      {kept_rank = 1, reduced_rank = 1, axis = "kept", access = "aligned"}
      : (!llvm.ptr<1>, i32, i32, i32, i32) -> vector<4xf32>
    "fold.yield"(%four) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 8, unroll = 2} : (i32, i32, vector<4xf32>) -> vector<4xf32>
  return %state : vector<4xf32>
}
```

```mlir after
func.func @access(%x: !llvm.ptr<1>, %kept: i32, %begin: i32, %end: i32, %one: i32, %stride: i32) -> vector<4xf32> {
  %zeros = arith.constant dense<0.0> : vector<4xf32>
  %c8 = arith.constant 8 : i32
  %limit = arith.subi %end, %c8 : i32
  %pairs = "fold.thread_reduce"(%begin, %limit, %zeros) ({
  ^bb0(%r: i32):
    %c0 = arith.constant 0 : i32
    %start = arith.addi %c0, %kept : i32
    %along_reduced = arith.muli %r, %stride : i32
    %offset = arith.addi %start, %along_reduced : i32
    %where = llvm.getelementptr %x[%offset] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %four = llvm.load %where invariant {alignment = 16} : !llvm.ptr<1> -> vector<4xf32>
    "fold.yield"(%four) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 8, unroll = 2} : (i32, i32, vector<4xf32>) -> vector<4xf32>
  %length = arith.subi %limit, %begin : i32
  %none = arith.constant 0 : i32
  %rest = arith.maxsi %length, %none : i32
  %c15 = arith.constant 15 : i32
  %up = arith.addi %rest, %c15 : i32
  %whole_steps = arith.constant -16 : i32
  %done = arith.andi %up, %whole_steps : i32
  %next = arith.addi %begin, %done : i32
  %all = "fold.thread_reduce"(%next, %end, %pairs) ({
  ^bb0(%r: i32):
    %c0 = arith.constant 0 : i32
    %start = arith.addi %c0, %kept : i32
    %along_reduced = arith.muli %r, %stride : i32
    %offset = arith.addi %start, %along_reduced : i32
    %where = llvm.getelementptr %x[%offset] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %four = llvm.load %where invariant {alignment = 16} : !llvm.ptr<1> -> vector<4xf32>
    "fold.yield"(%four) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 8, unroll = 1} : (i32, i32, vector<4xf32>) -> vector<4xf32>
  return %all : vector<4xf32>
}
```
"""

from __future__ import annotations

from typing import Any

from ..compiler.build import (
    address,
    before,
    bytes_of,
    find,
    integer,
    load,
    memory_type,
    replace,
    splat,
    store,
)
from ..compiler.combine import elements, fragment, width
from ..compiler.dialect.base import boolean, element, string
from ..compiler.dialect.base import integer as attribute
from ..compiler.mlir import arith, ir, llvm, scf
from ..compiler.pipeline import Pass


def _run(module: Any) -> None:
    for op in find(module, "fold.thread_reduce"):
        _peel(op)
    for op in find(module, "fold.load"):
        _lower_load(op, None)
    for op in find(module, "fold.position"):
        _lower_position(op)
    for op in find(module, "fold.live"):
        _lower_live(op, masked=False)
    for op in find(module, "fold.store"):
        _lower_store(op)


# --- the walk ------------------------------------------------------------------------------------------------------
def _peel(op: Any) -> None:
    """Cuts one thread_reduce into a chain of simpler ones."""
    body = [o.operation for o in op.regions[0].blocks[0].operations]
    live = next((o for o in body if o.name == "fold.live"), None)
    shifted = next(
        (o for o in body if o.name == "fold.load" and string(o, "access", ("shifted",) + _ANY) == "shifted"), None
    )
    lanes = width(live.results[0].type) if live else 1
    step, unroll = attribute(op, "step"), attribute(op, "unroll")
    begin, end, state = op.operands
    t = begin.type
    with before(op):
        pieces = _Pieces(op, state)
        if live and shifted:
            first = live.operands[1]
            begin = arith.subi(begin, _lead(shifted, lanes, t))
            some = arith.cmpi(arith.CmpIPredicate.slt, first, end)
            pieces.add(begin, arith.select(some, first, begin), 1, masked=True)
            early = arith.cmpi(arith.CmpIPredicate.slt, begin, first)
            begin = arith.select(early, arith.addi(begin, integer(t, step)), begin)
        if unroll > 1:
            limit = arith.subi(end, integer(t, (unroll - 1) * step + lanes - 1))
            pieces.add(begin, limit, unroll)
            begin = _after(begin, limit, unroll * step)
        limit = arith.subi(end, integer(t, lanes - 1)) if lanes > 1 else end
        pieces.add(begin, limit, 1)
        if live:
            pieces.add(_after(begin, limit, step), end, 1, masked=True)
        replace(op, pieces.close(op.results[0].type))


_ANY = ("aligned", "strided", "coherent")


class _Pieces:
    """A growing chain of thread_reduce ops, each starting from the state that the one before left."""

    def __init__(self, op: Any, state: Any) -> None:
        self.op, self.state = op, state
        self.last: Any = None

    def add(self, begin: Any, end: Any, unroll: int, *, masked: bool = False) -> None:
        """Appends the piece from ``begin`` to ``end``."""
        piece = self.op.clone()
        piece.operands[0], piece.operands[1], piece.operands[2] = begin, end, self.state
        piece.attributes["unroll"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), unroll)
        piece.results[0].set_type(self.state.type)
        _lower_body(piece.regions[0].blocks[0], masked)
        self.last, self.state = piece, piece.results[0]

    def close(self, t: Any) -> list[Any]:
        """The chain's result, in type ``t``."""
        self.last.results[0].set_type(t)
        return list(self.last.results)


def _after(begin: Any, limit: Any, step: int) -> Any:
    """Where a walk from ``begin`` by ``step`` (a power of two) while below ``limit`` stops."""
    t = begin.type
    rest = arith.maxsi(arith.subi(limit, begin), integer(t, 0))
    whole = arith.andi(arith.addi(rest, integer(t, step - 1)), integer(t, -step))
    return arith.addi(begin, whole)


def _lead(op: Any, lanes: int, t: Any) -> Any:
    """How many elements the row of a shifted load begins after a boundary of ``lanes`` elements."""
    base, kept = op.operands[0], op.operands[1]
    scalar = element(op.results[0].type)
    start = address(base, _offset(op, kept, integer(t, 0), 3), scalar)
    i64 = ir.IntegerType.get_signless(64)
    bits = llvm.ptrtoint(i64, start)
    count = arith.shrui(bits, integer(i64, bytes_of(memory_type(scalar)).bit_length() - 1))
    lead = arith.andi(count, integer(i64, lanes - 1))
    return lead if t == i64 else arith.trunci(t, lead)


def _lower_body(block: Any, masked: bool) -> None:
    """Lowers the access ops of one piece's body."""
    ops = [o.operation for o in block.operations]
    window = next(((o.operands[1], o.operands[2]) for o in ops if o.name == "fold.live"), None) if masked else None
    for o in ops:
        if o.name == "fold.load":
            _lower_load(o, window)
        elif o.name == "fold.live":
            _lower_live(o, masked)
        elif o.name == "fold.position":
            _lower_position(o)


# --- single ops ----------------------------------------------------------------------------------------------------
def _coordinates(flat: Any, sizes: list[Any], rank: int) -> list[Any]:
    """The coordinates of a flat index over ``rank`` dims whose sizes, without the outermost, are ``sizes``."""
    found: list[Any] = []
    for size in reversed(sizes):
        flat, rest = _divided(flat, size)
        found.insert(0, rest)
    return [flat, *found] if rank else []


def _divided(flat: Any, size: Any) -> tuple[Any, Any]:
    """Quotient and remainder by a size.

    In 32 bits by the reciprocal ``m = floor((2^32 - 1) / size)``, made once where the kernel begins: for a flat index x
    below 2^31, ``x / size - x * m / 2^32`` is between 0 and 1/2, so the guess ``x * m / 2^32`` is at most 1 too low.
    """
    t = flat.type
    if t.width != 32:
        quotient = arith.divui(flat, size)
        return quotient, arith.subi(flat, arith.muli(quotient, size))
    _, guess = arith.mului_extended(flat, _reciprocal(size))
    rest = arith.subi(flat, arith.muli(guess, size))
    low = arith.cmpi(arith.CmpIPredicate.uge, rest, size)
    quotient = arith.select(low, arith.addi(guess, integer(t, 1)), guess)
    return quotient, arith.select(low, arith.subi(rest, size), rest)


def _reciprocal(size: Any) -> Any:
    """``floor((2^32 - 1) / size)``, made where ``size`` becomes known, outside all loops. An empty axis has size 0."""
    t, owner = size.type, size.owner
    where = ir.InsertionPoint.at_block_begin(owner) if isinstance(owner, ir.Block) else ir.InsertionPoint.after(owner)
    with where:
        return arith.divui(integer(t, -1), arith.maxui(size, integer(t, 1)))


def _offset(op: Any, kept: Any, reduced: Any, fixed: int) -> Any:
    """The offset in elements of (kept, reduced) by the layout operands of ``op``, which follow ``fixed`` others."""
    kept_rank, reduced_rank = attribute(op, "kept_rank"), attribute(op, "reduced_rank")
    layout = list(op.operands)[fixed:]
    sizes = max(0, kept_rank - 1) + max(0, reduced_rank - 1)
    places = _coordinates(kept, layout[: max(0, kept_rank - 1)], kept_rank)
    places += _coordinates(reduced, layout[max(0, kept_rank - 1) : sizes], reduced_rank)
    strides = layout[sizes:]
    if op.name == "fold.load" and string(op, "access", ("shifted",) + _ANY) in ("aligned", "shifted"):
        inner = kept_rank if string(op, "axis", ("kept", "reduced")) == "kept" else kept_rank + reduced_rank
        strides[inner - 1] = None  # vectors are read where neighbours lie side by side
    total = integer(kept.type, 0)
    for place, stride in zip(places, strides, strict=True):
        total = arith.addi(total, place if stride is None else arith.muli(place, stride))
    return total


def _lower_load(op: Any, window: tuple[Any, Any] | None) -> None:
    """One vector load, or one load an element; inside ``window`` (first, end) when there is one."""
    base, kept, reduced = list(op.operands)[:3]
    access, t = string(op, "access", ("shifted",) + _ANY), op.results[0].type
    scalar, lanes = element(t), width(t)
    with before(op):
        if access == "coherent" or (access in ("aligned", "shifted") and window is None):
            value = load(
                base, _offset(op, kept, reduced, 3), t, volatile=access == "coherent", invariant=access != "coherent"
            )
        else:
            along = string(op, "axis", ("kept", "reduced"))
            places = [_moved(kept, reduced, along, j, window) for j in range(lanes)]
            value = fragment([load(base, _offset(op, *p, 3), scalar, invariant=True) for p in places])
        replace(op, [value])


def _moved(kept: Any, reduced: Any, along: str, j: int, window: tuple[Any, Any] | None) -> tuple[Any, Any]:
    """The indices of element ``j`` of a fragment along an axis, clamped to ``window``."""
    t = kept.type
    if along == "kept":
        return (arith.addi(kept, integer(t, j)) if j else kept), reduced
    moved = arith.addi(reduced, integer(t, j)) if j else reduced
    if window is not None:
        last = arith.subi(window[1], integer(t, 1))
        moved = arith.maxsi(arith.minsi(moved, last), window[0])
    return kept, moved


def _lower_position(op: Any) -> None:
    """base + the sum of coordinate times index stride, for each element."""
    reduced, base = op.operands[0], op.operands[1]
    rank, layout = attribute(op, "reduced_rank"), list(op.operands)[2:]
    t = op.results[0].type
    with before(op):
        found = []
        for j in range(width(t)):
            flat = _moved(reduced, reduced, string(op, "axis", ("kept", "reduced")), j, None)[1]
            total = base
            for place, stride in zip(
                _coordinates(flat, layout[: rank - 1], rank), layout[max(0, rank - 1) :], strict=True
            ):
                total = arith.addi(total, arith.muli(place, stride))
            found.append(_resized(total, element(t)))
        replace(op, [fragment(found)])


def _resized(x: Any, t: Any) -> Any:
    """An integer in another width; positions are never negative."""
    if x.type.width == t.width:
        return x
    return (arith.extsi if t.width > x.type.width else arith.trunci)(t, x)


def _lower_live(op: Any, masked: bool) -> None:
    """The comparison where the piece is masked; elsewhere every element is wanted."""
    t = op.results[0].type
    lanes = width(t)
    with before(op):
        if masked:
            reduced, first, end = op.operands
            at = fragment([arith.addi(reduced, integer(reduced.type, j)) for j in range(lanes)])
            low = arith.cmpi(arith.CmpIPredicate.sge, at, splat(first, lanes))
            value = arith.andi(low, arith.cmpi(arith.CmpIPredicate.slt, at, splat(end, lanes)))
        else:
            one = ir.BoolAttr.get(True)
            value = arith.constant(t, one if lanes == 1 else ir.DenseElementsAttr.get_splat(t, one))
        replace(op, [value])


def _lower_store(op: Any) -> None:
    """A branch around one vector store, or one store an element; a fragment never goes past the innermost dim."""
    value, base, kept, on = list(op.operands)[:4]
    with before(op):
        branch = scf.IfOp(on)
        with ir.InsertionPoint(branch.then_block):
            if boolean(op, "vector"):
                store(value, base, _offset(op, kept, kept, 4))
            else:
                first, inner = _offset(op, kept, kept, 4), op.operands[len(op.operands) - 1]
                for j, x in enumerate(elements(value)):
                    along = arith.muli(integer(kept.type, j), inner) if j else None
                    store(x, base, arith.addi(first, along) if j else first)
            scf.YieldOp([])
        replace(op, [])


PASS = Pass(
    "lower-global-access",
    _run,
    ("fold.load", "fold.store", "fold.live", "fold.position"),
    "choose vector loads, peeled steps and masked tails; compute addresses",
)
