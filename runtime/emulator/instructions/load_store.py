"""ld and st in every space and width, and prefetches, which change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..machine.address_resolution import LEAST_IN_ROWS, Access, Rows, locate, moved, rows_of, seen_at
from ..machine.threads import Threads
from ..ptx.types import DTYPE, STORAGE, WIDTH, Array, Imm, Mem, Operand, Sym, Vec, nbytes
from .op import Builder, Form, Op, broadcast, spread

if TYPE_CHECKING:
    from ..machine.machine import Machine

SPACES = {
    "global": "global", "shared": "shared", "shared::cta": "shared", "shared::cluster": "shared", "local": "local",
    "param": "param", "param::entry": "param", "param::func": "param", "const": "const",
}  # fmt: skip
SCOPES = ("cta", "cluster", "gpu", "sys")
_ORDERS = ("weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio", "nc", "unified")
_CACHES = ("ca", "cg", "cs", "lu", "cv", "wb", "wt")
_VALUES = "b8 u8 s8 b16 u16 s16 f16 bf16 b32 u32 s32 f32 b64 u64 s64 f64 b128"


def unit_of(size: int) -> np.dtype[Any]:
    """A dtype that moves ``size`` bytes at once."""
    return STORAGE[8 * size] if size <= 16 else np.dtype(f"V{size}")


def drop_hints(form: Form) -> None:
    """Takes ordering, scope and cache modifiers: threads run in one order here, and there are no caches."""
    hints = [m for m in form.left if m.startswith(("L1::", "L2::"))]
    form.drop(*_ORDERS, *SCOPES, *_CACHES, *hints)


def space_of(form: Form, mem: Operand) -> str:
    """The state space that is named, or generic; parameters of inlined device functions are in local memory."""
    space = SPACES.get(form.pick(*SPACES, default=""), "generic")
    if isinstance(mem, Mem) and isinstance(mem.base, Sym):
        own = mem.base.variable.space
        own = "local" if own == "stack" else own
        if space == "generic" or (space == "param" and own == "local"):
            return own
        if own != space:
            raise form.fail(f"expected {mem.base.variable.name!r} in .{space} memory, it lies in .{own}")
    return space


def memory_operand(form: Form, op: Operand) -> Mem:
    """``op``, which must be an address in brackets."""
    if not isinstance(op, Mem):
        raise form.fail("expected an address in brackets")
    return op


def shared_access(form: Form, op: Operand, size: int, verb: str) -> tuple[Access, Operand]:
    """The access of ``size`` bytes at ``op``, which must be in shared memory, and the base operand of its address."""
    mem = memory_operand(form, op)
    space = space_of(form, mem)
    if space not in ("shared", "generic"):
        raise form.fail("expected .shared memory")
    return Access(form.ins, space, mem.offset, size, unit_of(size), verb), mem.base


def _operands(form: Form, vector: int, want: int) -> tuple[Operand, ...]:
    """The address and data operands, without a cache policy; a vector operand must have ``vector`` elements."""
    hinted = any(m.startswith("L2::cache_hint") for m in form.ins.mods)
    found = form.operands(want + 1 if hinted else want)[:want]
    data = next((op for op in found if not isinstance(op, Mem)), None)
    if data is None:
        raise form.fail("expected an address in brackets, and registers or values")
    items = len(data.items) if isinstance(data, Vec) else 1
    if items != vector:
        raise form.fail(f"expected {vector} elements, got {items}")
    return found


def _shape(form: Form) -> tuple[str, int]:
    type_ = form.type(_VALUES)
    vector = int(form.pick("v2", "v4", "v8", default="v1")[1:])
    if vector * nbytes(type_) > 32:
        raise form.fail("expected at most 32 bytes per thread")
    return type_, vector


def _ld(form: Form) -> Op:
    type_, vector = _shape(form)
    drop_hints(form)
    space = space_of(form, form.operand(1))
    dest, source = _operands(form, vector, 2)
    mem = memory_operand(form, source)
    size = vector * nbytes(type_)
    access = Access(form.ins, space, mem.offset, size, unit_of(size), "read")
    dests = dest.items if isinstance(dest, Vec) else (dest,)
    return Op(((mem.base, "addr"),), tuple((d, type_) for d in dests), Load(access, DTYPE[type_], vector), effect=True)


class Load:
    """Runs a load: gathers one unit a thread and splits it into elements."""

    def __init__(self, access: Access, dtype: np.dtype[Any], vector: int) -> None:
        self.access, self.dtype, self.vector = access, dtype, vector
        self.rowed = access.space == "global"
        self.single = self.rowed and vector == 1

    def __call__(self, machine: Machine, lanes: Threads, mask: Array | None, addresses: Array) -> Any:
        if mask is None:
            if self.single and addresses.size == 1 and machine.launch.tool is None:
                found = machine.launch.memory.element(addresses.item() + self.access.offset, self.dtype)
                if found is not None:
                    return found
            if addresses.size >= LEAST_IN_ROWS and self.rowed and machine.launch.tool is None:
                found = self._seen(machine, self.rows(machine, addresses), 0)
                if found is not None:
                    return found
            raw = self._gather(machine, lanes, None, addresses)
        else:
            chosen = np.flatnonzero(broadcast(mask, lanes.n))
            raw = np.zeros(lanes.n, self.access.unit)
            if chosen.size:
                some = addresses if addresses.size == 1 else addresses[chosen]
                raw[chosen] = self._gather(machine, lanes, chosen, some)
        if self.vector == 1:
            return raw.view(self.dtype)
        parts = np.ascontiguousarray(raw.view(self.dtype).reshape(-1, self.vector).T)
        return list(parts)

    def rows(self, machine: Machine, addresses: Array) -> Rows | None:
        """The rows in which the elements lie."""
        return rows_of(addresses, self.access.size, machine.per_cta)

    def at(self, machine: Machine, lanes: Threads, addresses: Array, rows: Rows | None, by: int) -> Any:
        """What a load gives at ``addresses``, which lie in these rows, increased by ``by``."""
        found = None if machine.launch.tool is not None else self._seen(machine, rows, by)
        return self(machine, lanes, None, moved(addresses, by)) if found is None else found

    def _seen(self, machine: Machine, rows: Rows | None, by: int) -> Any:
        """The elements of rows, copied, since stores may follow; None where there are none."""
        found = None if rows is None else seen_at(rows, by, self.access, machine, self.dtype, self.vector)
        if found is None:
            return None
        parts = found.copy().reshape(self.vector, -1)
        return parts[0] if self.vector == 1 else list(parts)

    def _gather(self, machine: Machine, lanes: Threads, chosen: Array | None, addresses: Array) -> Array:
        pieces = locate(self.access, machine, lanes, chosen, addresses)
        if len(pieces) == 1:
            view, index, _, _ = pieces[0]
            return view.take(index)
        raw = np.zeros(addresses.size, self.access.unit)
        for view, index, where, _ in pieces:
            raw[where] = view.take(index)
        return raw


def _st(form: Form) -> Op:
    type_, vector = _shape(form)
    drop_hints(form)
    space = space_of(form, form.operand(0))
    target, data = _operands(form, vector, 2)
    mem = memory_operand(form, target)
    size = vector * nbytes(type_)
    access = Access(form.ins, space, mem.offset, size, unit_of(size), "written")
    items = data.items if isinstance(data, Vec) else (data,)
    reads = ((mem.base, "addr"), *((item, type_ if isinstance(item, Imm) else bits_of(type_)) for item in items))
    return Op(reads, (), _Store(access), effect=True)


def bits_of(type_: str) -> str:
    """The bit type of the same width."""
    return f"b{WIDTH[type_]}"


class _Store:
    """Runs a store; of several threads that write one element the last in thread order wins."""

    def __init__(self, access: Access) -> None:
        self.access = access

    def __call__(self, machine: Machine, lanes: Threads, mask: Array | None, addresses: Array, *values: Array) -> None:
        access = self.access
        words = [v.view(STORAGE[8 * v.itemsize]) for v in values]
        raw = words[0] if len(words) == 1 else np.stack(spread(words), axis=1).view(access.unit).reshape(-1)
        chosen = None
        if mask is not None:
            chosen = np.flatnonzero(broadcast(mask, lanes.n))
            if not chosen.size:
                return
            addresses = broadcast(addresses, lanes.n)[chosen]
            raw = broadcast(raw, lanes.n)[chosen]
        elif addresses.size < lanes.n:
            addresses = broadcast(addresses, lanes.n)
        for view, index, where, _ in locate(access, machine, lanes, chosen, addresses, raw):
            view[index] = raw if raw.size == 1 else raw[where]


def _hint(_form: Form) -> Op:
    """Instructions that only advise caches and have no visible effect."""
    return Op()


def _policy(form: Form) -> Op:
    """A cache policy: a word that only accesses with a hint take, and that changes nothing here."""
    form.drop("fractional", *(m for m in form.left if m.startswith("L2::")))
    type_ = form.type("b64")
    dest, _ = form.operands(2)
    return Op((), ((dest, type_),), lambda: np.zeros(1, np.uint64))


TABLE: dict[str, Builder] = {
    "ld": _ld,
    "ldu": _ld,
    "st": _st,
    "prefetch": _hint,
    "prefetchu": _hint,
    "discard": _hint,
    "applypriority": _hint,
    "createpolicy": _policy,
}
