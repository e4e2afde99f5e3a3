"""cp.async and cp.async.bulk: copies whose bytes arrive only when somebody waits for them.

The source is read at once; the copy engine decides when the destination is written. A kernel that forgets the wait sees
the old contents.

st.async: stores to the shared memory of a CTA of the cluster, whose bytes an mbarrier there counts.

The values are taken at once; the store arrives, like a copy, only when somebody looks at the mbarrier.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..machine.address_resolution import Access, gather
from ..machine.copy_engine import Copies, engine, positions
from ..machine.threads import Threads
from ..ptx.types import STORAGE, Array, Imm, Mem, Operand, Reg, Vec, nbytes
from .load_store import TABLE as PLAIN
from .load_store import bits_of, memory_operand, unit_of
from .mbarrier import after_copies, complete_later
from .op import Builder, Form, Op, broadcast, spread

if TYPE_CHECKING:
    from ..machine.machine import Machine


_VALUES = "b32 u32 s32 f32 b64 u64 s64 f64"
_LARGEST = 16  # bytes of a thread


def _store(form: Form) -> Op | list[Op]:
    if "async" not in form.left:
        return PLAIN["st"](form)
    form.drop("async", "weak")
    form.pick("shared::cluster", default="")
    form.pick("mbarrier::complete_tx::bytes")
    type_, vector = form.type(_VALUES), int(form.pick("v2", "v4", default="v1")[1:])
    size = vector * nbytes(type_)
    if size > _LARGEST:
        raise form.fail(f"expected at most {_LARGEST} bytes per thread")
    where, data, barrier = form.operands(3)
    target, counter = memory_operand(form, where), memory_operand(form, barrier)
    items = data.items if isinstance(data, Vec) else (data,)
    if len(items) != vector:
        raise form.fail(f"expected {vector} elements, got {len(items)}")
    access = Access(form.ins, "shared", target.offset, size, unit_of(size), "written")
    values: tuple[tuple[Operand, str], ...] = tuple(
        (item, type_ if isinstance(item, Imm) else bits_of(type_)) for item in items
    )
    reads = ((target.base, "addr"), (counter.base, "addr"), *values)
    return Op(reads, (), _Store(access, counter.offset), effect=True)


class _Store:
    """Runs a store, which is a copy of registers; ``offset`` is that of the mbarrier's address."""

    def __init__(self, access: Access, offset: int) -> None:
        self.access, self.offset = access, offset

    def __call__(
        self, machine: Machine, lanes: Threads, mask: Array | None, to: Array, barrier: Array, *values: Array
    ) -> None:
        chosen = positions(lanes, mask)
        if not chosen.size:
            return
        words = spread([v.view(STORAGE[8 * v.itemsize]) for v in values])
        raw = np.stack([broadcast(w, lanes.n)[chosen] for w in words], axis=1).view(self.access.unit).reshape(-1)
        threads, stores = lanes.numbers[chosen], engine(machine).bulk
        store = stores.take(stores.issue(self.access, threads, broadcast(to, lanes.n)[chosen], raw))
        barriers = broadcast(barrier, lanes.n)[chosen] + self.offset
        complete_later(machine, store, self.access.ins, threads, barriers, np.ones(threads.size, np.int64))


_STORES: dict[str, Builder] = {"st": _store}


_SHARED = ("shared", "shared::cta", "shared::cluster")
_UNIT = 16  # bytes of one element of a bulk copy


class _Single:
    """Runs a cp.async of 4, 8 or 16 bytes; bytes beyond the source size are zero."""

    def __init__(self, source: Access, target: Access) -> None:
        self.source, self.target = source, target

    def __call__(
        self, machine: Machine, lanes: Threads, mask: Array | None, to: Array, at: Array, *count: Array
    ) -> None:
        chosen = positions(lanes, mask)
        if not chosen.size:
            return
        size = self.source.size
        to, at = (broadcast(v, lanes.n)[chosen] for v in (to, at))
        wanted = broadcast(count[0], lanes.n)[chosen] if count else np.full(chosen.size, size)
        if wanted.dtype == bool:  # ignore-src
            wanted = np.where(wanted, 0, size)
        raw = self._read(machine, lanes, chosen, at, wanted)
        engine(machine).single.issue(self.target, lanes.numbers[chosen], to, raw)

    def _read(self, machine: Machine, lanes: Threads, chosen: Array, at: Array, wanted: Array) -> Array:
        source, size = self.source, self.source.size
        if int(wanted.max()) > size:
            k = int(np.argmax(wanted))
            problem = f"expected at most {size} bytes of the source to be copied, got {int(wanted[k])}"
            raise machine.launch.located("WF722", source.ins, machine, int(lanes.numbers[chosen[k]]), problem=problem)
        octets = np.zeros((at.size, size), np.uint8)
        full = wanted == size
        if full.any():
            whole = gather(source, machine, lanes, chosen[full], at[full])
            octets[full] = whole.view(np.uint8).reshape(-1, size)
        cut = ~full
        for k in range(int(wanted[cut].max()) if cut.any() else 0):
            here = cut & (wanted > k)
            one = replace(source, offset=source.offset + k, size=1, unit=unit_of(1))
            octets[here, k] = gather(one, machine, lanes, chosen[here], at[here])
        return octets.view(source.unit).reshape(-1)


def _spaces(form: Form, first: tuple[str, ...], second: tuple[str, ...]) -> None:
    """Takes the two state spaces, in order."""
    named = [m for m in form.left if m in (*_SHARED, "global")]
    if len(named) != 2 or named[0] not in first or named[1] not in second:
        raise form.fail(f"expected .{' or .'.join(first)}, then .{' or .'.join(second)}")
    form.drop(*named)


def _hints(form: Form) -> int:
    """Takes cache hints; returns the number of operands that they add."""
    form.drop(*(m for m in form.left if m.startswith("L2::")))
    return sum(m == "L2::cache_hint" for m in form.ins.mods)


def _cp(form: Form) -> Op:
    form.pick("async")
    if form.flag("bulk"):
        return _bulk(form)
    if form.flag("commit_group"):
        form.operands(0)
        return _commit("single")
    if form.flag("wait_group"):
        return _wait("single", form.operands(1)[0], form)
    if form.flag("wait_all"):
        form.operands(0)
        return _wait_all()
    if form.flag("mbarrier"):
        return after_copies(form)
    return _copy(form)


def _copy(form: Form) -> Op:
    cached = form.pick("ca", "cg")
    hinted = _hints(form)
    _spaces(form, ("shared", "shared::cta"), ("global",))
    target, source, size, *rest = form.operands(3 + hinted, 4 + hinted)
    rest = rest[: len(rest) - hinted]
    count = size.value if isinstance(size, Imm) else 0
    if count not in ((16,) if cached == "cg" else (4, 8, 16)):
        raise form.fail(f"expected {'16' if cached == 'cg' else '4, 8 or 16'} bytes with .{cached}")
    reading, writing = memory_operand(form, source), memory_operand(form, target)
    unit = unit_of(int(count))
    accesses = (
        Access(form.ins, "global", reading.offset, int(count), unit, "read"),
        Access(form.ins, "shared", writing.offset, int(count), unit, "written"),
    )
    reads: list[tuple[Operand, str]] = [(writing.base, "addr"), (reading.base, "addr")]
    reads += [(op, "pred" if isinstance(op, Reg) and op.type == "pred" else "u32") for op in rest]
    return Op(tuple(reads), (), _Single(*accesses), effect=True)


def _commit(which: str) -> Op:
    def run(machine: Machine, lanes: Threads, mask: Array | None) -> None:
        copies: Copies = getattr(engine(machine), which)
        copies.groups[lanes.numbers[positions(lanes, mask)]] += 1

    return Op(run=run, effect=True)


def _wait(which: str, keep: Operand, form: Form, read: bool = False) -> Op:
    if not isinstance(keep, Imm):
        raise form.fail("expected an integer literal as the number of groups")
    groups = int(keep.value)
    if not 0 <= groups < 1 << 31:
        raise form.fail(f"expected a number of groups from 0 to {(1 << 31) - 1}, got {groups}")

    def run(machine: Machine, lanes: Threads, mask: Array | None) -> None:
        copies: Copies = getattr(engine(machine), which)
        (copies.wait_read if read else copies.wait)(lanes.numbers[positions(lanes, mask)], groups)

    return Op(run=run, effect=True)


def _wait_all() -> Op:
    """Closes the open group and waits for all groups."""

    def run(machine: Machine, lanes: Threads, mask: Array | None) -> None:
        copies, threads = engine(machine).single, lanes.numbers[positions(lanes, mask)]
        copies.groups[threads] += 1
        copies.wait(threads, 0)

    return Op(run=run, effect=True)


def _bulk(form: Form) -> Op:
    if form.flag("commit_group"):
        form.operands(0)
        return _commit("bulk")
    if form.flag("wait_group"):
        read = form.flag("read")
        return _wait("bulk", form.operands(1)[0], form, read)
    hinted = _hints(form)
    grouped = form.flag("bulk_group")
    if grouped:
        _spaces(form, ("global",), ("shared::cta",))
    else:
        form.pick("mbarrier::complete_tx::bytes")
        from_global = "global" in form.left
        _spaces(form, _SHARED[1:] if from_global else _SHARED[2:], ("global",) if from_global else ("shared::cta",))
    found = form.operands((3 if grouped else 4) + hinted)
    target, source = memory_operand(form, found[0]), memory_operand(form, found[1])
    to_space, from_space = ("global", "shared") if grouped else ("shared", "global" if from_global else "shared")
    unit = unit_of(_UNIT)
    run = _Bulk(
        Access(form.ins, from_space, source.offset, _UNIT, unit, "read"),
        Access(form.ins, to_space, target.offset, _UNIT, unit, "written"),
        None if grouped else memory_operand(form, found[3]),
    )
    reads: list[tuple[Operand, str]] = [(target.base, "addr"), (source.base, "addr"), (found[2], "u32")]
    reads += [(run.barrier.base, "addr")] if run.barrier is not None else []
    return Op(tuple(reads), (), run, effect=True)


class _Bulk:
    """Runs a bulk copy, which for each thread is a sequence of 16-byte elements."""

    def __init__(self, source: Access, target: Access, barrier: Mem | None) -> None:
        self.source, self.target, self.barrier = source, target, barrier

    def __call__(self, machine: Machine, lanes: Threads, mask: Array | None, *values: Array) -> None:
        chosen = positions(lanes, mask)
        if not chosen.size:
            return
        to, at, counts, *barriers = (broadcast(v, lanes.n)[chosen] for v in values)
        ins, threads = self.source.ins, lanes.numbers[chosen]
        if (counts % _UNIT).any():
            k = int(np.argmax(counts % _UNIT != 0))
            problem = f"expected a multiple of {_UNIT} bytes to copy, got {int(counts[k])}"
            raise machine.launch.located("WF722", ins, machine, int(threads[k]), problem=problem)
        sizes = counts.astype(np.int64) // _UNIT
        each = np.repeat(np.arange(chosen.size), sizes)
        steps = _UNIT * (np.arange(each.size) - np.repeat(np.cumsum(sizes) - sizes, sizes))
        source = at[each] + steps
        raw = gather(self.source, machine, lanes, chosen[each], source) if each.size else np.zeros(0, self.source.unit)
        bulk = engine(machine).bulk
        copy = bulk.issue(self.target, threads[each], to[each] + steps, raw, (self.source, source))
        if self.barrier is not None:
            complete_later(machine, bulk.take(copy), ins, threads, barriers[0] + self.barrier.offset, sizes)


TABLE: dict[str, Builder] = {"cp": _cp, **_STORES}
