"""Warp-wide instructions: shfl, vote, redux, match, elect, activemask, as the ISA's pseudo-code says.

Each works on arrays of shape (warps, 32). Lanes of the membermask that have exited are absent: a shuffle from one reads
0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..machine.threads import WARP, Threads
from ..numerics.floats import extreme
from ..ptx.types import DTYPE, Array, Operand, Pair, Sink, is_float
from .op import Builder, Form, Op

if TYPE_CHECKING:
    from ..machine.machine import Machine

_LANE = np.arange(WARP)
_BIT = np.uint32(1) << np.arange(WARP, dtype=np.uint32)
Run = Callable[..., Any]


def _members(form: Form, lanes: Threads, machine: Machine, members: Array) -> Array:
    """The membermask of each lane as uint32 (warps, 32); raises unless it names every running lane."""
    rows = lanes.rows(members)
    inside = (rows & _BIT) != 0
    ok = inside if lanes.whole else inside | ~lanes.present
    if not ok.all():
        row, lane = (int(v[0]) for v in np.nonzero(~ok))
        thread = int(lanes.warps[row]) * WARP + lane
        facts = {"lane": lane, "mask": f"{int(rows[row, lane]):#010x}"}
        raise machine.launch.located("WF720", form.ins, machine, thread, **facts)
    return rows


def _sources(mode: str, b: Array, c: Array) -> tuple[Array, Array]:
    """The source lane of each lane, and whether it is in range, by the ISA's pseudo-code of shfl; shapes (rows, 32)."""
    segment = (c >> np.uint32(8)) & np.uint32(31)
    clamp, value = (c & np.uint32(31)).astype(np.int64), (b & np.uint32(31)).astype(np.int64)
    segment = segment.astype(np.int64)
    top = (_LANE & segment) | (clamp & ~segment)
    low = _LANE & segment
    if mode == "up":
        j = _LANE - value
        inside = j >= top
    elif mode == "down":
        j = _LANE + value
        inside = j <= top
    elif mode == "bfly":
        j = _LANE ^ value
        inside = j <= top
    else:
        j = low | (value & ~segment)
        inside = j <= top
    return np.where(inside, j, _LANE), inside


def _shfl(form: Form) -> Op:
    form.type("b32")
    form.pick("sync")
    mode = form.pick("up", "down", "bfly", "idx")
    d, a, b, c, member = form.operands(5)
    first, second = (d.first, d.second) if isinstance(d, Pair) else (d, Sink())

    def run(machine: Machine, lanes: Threads, _mask: Array | None, x: Array, b: Array, c: Array, m: Array) -> Any:
        if not (m.size == 1 and m[0] == 0xFFFFFFFF):
            _members(form, lanes, machine, m)
        rows = lanes.rows(x)
        if b.size == 1 and c.size == 1:
            j, inside = _sources(mode, b, c)
            moved = rows[:, j]
            inside = np.broadcast_to(inside, rows.shape)
        else:
            j, inside = _sources(mode, lanes.rows(b), lanes.rows(c))
            moved = np.take_along_axis(rows, j, axis=1)
        if machine.launch.tool is not None:
            machine.launch.tool.shuffle(machine, form.ins, lanes, j, inside)
        return lanes.flat(np.ascontiguousarray(moved)), lanes.flat(inside)

    reads: tuple[tuple[Operand, str], ...] = ((a, "b32"), (b, "u32"), (c, "u32"), (member, "b32"))
    return Op(reads, ((first, "b32"), (second, "pred")), run, effect=True, member=member)


def _groups(lanes: Threads, members: Array) -> Array | None:
    """Flags (warps, 32, 32) of the lanes with which each lane combines; None if these are all 32 of its warp."""
    if lanes.whole and (members == np.uint32(0xFFFFFFFF)).all():
        return None
    result: Array = ((members[:, :, None] & _BIT) != 0) & lanes.present[:, None, :]
    return result


def _vote(form: Form) -> Op:
    type_ = form.type("pred b32")
    form.pick("sync")
    mode = form.pick("ballot") if type_ == "b32" else form.pick("all", "any", "uni")
    d, p, member = form.operands(3)

    def run(machine: Machine, lanes: Threads, _mask: Array | None, p: Array, m: Array) -> Array:
        members = _members(form, lanes, machine, m)
        bits = (lanes.rows(p) * _BIT).sum(axis=1, dtype=np.uint32)
        bits = np.broadcast_to(bits[:, None], members.shape) & members
        here = (lanes.present * _BIT).sum(axis=1, dtype=np.uint32)[:, None] & members
        answers = {"ballot": bits, "any": bits != 0, "all": bits == here, "uni": (bits == here) | (bits == 0)}
        return lanes.flat(np.ascontiguousarray(answers[mode]))

    return Op(((p, "pred"), (member, "b32")), ((d, type_),), run, effect=True, member=member)


_IDENTITY = {"and": 0xFFFFFFFF, "or": 0, "xor": 0, "add": 0}
_REDUCE: dict[str, np.ufunc] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip


def _redux(form: Form) -> Op:
    type_ = form.type("u32 s32 b32 f32")
    form.pick("sync")
    name = form.pick(*_REDUCE)
    absolute, nan = (form.flag("abs"), form.flag("NaN")) if type_ == "f32" else (False, False)
    legal = {"b32": ("and", "or", "xor"), "f32": ("min", "max")}.get(type_, ("add", "min", "max"))
    if name not in legal:
        raise form.fail(f"expected .{' or .'.join(legal)} with .{type_}")
    d, a, member = form.operands(3)
    reduce = _float_redux(name, nan, absolute) if is_float(type_) else _integer_redux(name, DTYPE[type_])

    def run(machine: Machine, lanes: Threads, _mask: Array | None, x: Array, m: Array) -> Array:
        members = _members(form, lanes, machine, m)
        rows = lanes.rows(x)
        return lanes.flat(np.ascontiguousarray(np.broadcast_to(reduce(rows, _groups(lanes, members)), rows.shape)))

    return Op(((a, type_), (member, "b32")), ((d, type_),), run, effect=True, member=member)


def _integer_redux(name: str, dtype: np.dtype[Any]) -> Run:
    ufunc = _REDUCE[name]
    info = np.iinfo(dtype)
    identity = dtype.type({"min": info.max, "max": info.min}.get(name, _IDENTITY.get(name, 0)))

    def run(rows: Array, groups: Array | None) -> Array:
        if groups is None:
            return ufunc.reduce(rows, axis=1, keepdims=True, dtype=dtype)  # type: ignore[no-any-return]
        spread = np.where(groups, rows[:, None, :], identity)
        return ufunc.reduce(spread, axis=2, dtype=dtype)  # type: ignore[no-any-return]

    return run


def _float_redux(name: str, nan: bool, absolute: bool) -> Run:
    pair = extreme(name, "f32", nan, False, absolute)

    def run(rows: Array, groups: Array | None) -> Array:
        if groups is None:
            groups = np.ones((1, 1, WARP), bool)
        best: Array | None = None
        for lane in range(WARP):
            column = np.broadcast_to(rows[:, lane : lane + 1], rows.shape)
            inside = np.broadcast_to(groups[:, :, lane], rows.shape)
            if best is None:
                best, seen = pair(column, column), inside
                continue
            joined = np.where(seen, pair(best, column), pair(column, column))
            best, seen = np.where(inside, joined, best), seen | inside
        assert best is not None
        return best

    return run


def _match(form: Form) -> Op:
    type_ = form.type("b32 b64")
    form.pick("sync")
    mode = form.pick("any", "all")
    d, a, member = form.operands(3)
    first, second = (d.first, d.second) if isinstance(d, Pair) else (d, Sink())
    if mode == "any" and isinstance(d, Pair):
        raise form.fail("expected one destination for .any")

    def run(machine: Machine, lanes: Threads, _mask: Array | None, x: Array, m: Array) -> Any:
        members = _members(form, lanes, machine, m)
        rows = lanes.rows(x)
        inside = ((members[:, :, None] & _BIT) != 0) & lanes.present[:, None, :]
        equal = (rows[:, :, None] == rows[:, None, :]) & inside
        bits = (equal * _BIT).sum(axis=2, dtype=np.uint32)
        if mode == "any":
            return lanes.flat(bits), np.ones(1, bool)
        everyone = (equal == inside).all(axis=2)
        here = (inside * _BIT).sum(axis=2, dtype=np.uint32)
        return lanes.flat(np.where(everyone, here, np.uint32(0))), lanes.flat(everyone)

    reads: tuple[tuple[Operand, str], ...] = ((a, type_), (member, "b32"))
    return Op(reads, ((first, "b32"), (second, "pred")), run, effect=True, member=member)


def _elect(form: Form) -> Op:
    form.pick("sync")
    d, member = form.operands(2)
    if not isinstance(d, Pair):
        raise form.fail("expected destinations d|p")

    def run(machine: Machine, lanes: Threads, _mask: Array | None, m: Array) -> Any:
        members = _members(form, lanes, machine, m)
        inside = ((members[:, :, None] & _BIT) != 0) & lanes.present[:, None, :]
        leader = inside.argmax(axis=2).astype(np.uint32)
        return lanes.flat(leader), lanes.flat(leader == _LANE)

    return Op(((member, "b32"),), ((d.first, "b32"), (d.second, "pred")), run, effect=True, member=member)


def _activemask(form: Form) -> Op:
    form.type("b32")

    def run(_machine: Machine, lanes: Threads, mask: Array | None) -> Array:
        here = lanes.present if mask is None else lanes.rows(mask)
        bits = (here * _BIT).sum(axis=1, dtype=np.uint32)
        return lanes.flat(np.ascontiguousarray(np.broadcast_to(bits[:, None], here.shape)))

    (d,) = form.operands(1)
    return Op((), ((d, "b32"),), run, effect=True)


TABLE: dict[str, Builder] = {
    "shfl": _shfl,
    "vote": _vote,
    "redux": _redux,
    "match": _match,
    "elect": _elect,
    "activemask": _activemask,
}
