"""atom and red: updates of memory in the order of threads and CTAs, or in the order that the schedule draws.

Updates of different words are done at once; the updates of one word are a scan.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..machine.address_resolution import Access, locate
from ..machine.threads import Threads
from ..numerics.floats import arithmetic, extreme, with_flush
from ..ptx.types import DTYPE, Array, Operand, Sink, Vec, nbytes
from .floating import element, lift
from .load_store import drop_hints, memory_operand, space_of, unit_of
from .op import Builder, Form, Op, broadcast

if TYPE_CHECKING:
    from ..machine.machine import Machine

Combine = Callable[..., Array]
_NAMES = ("add", "and", "or", "xor", "min", "max", "exch", "cas", "inc", "dec")
_TYPES = "b16 b32 u32 s32 b64 u64 s64 f32 f64 f16 bf16 f16x2 bf16x2 b128"
_LEGAL = {
    "add": "u32 s32 u64 s64 f32 f64 f16 bf16 f16x2 bf16x2",
    "and": "b32 b64", "or": "b32 b64", "xor": "b32 b64",
    "min": "u32 s32 u64 s64 f16 bf16 f16x2 bf16x2", "max": "u32 s32 u64 s64 f16 bf16 f16x2 bf16x2",
    "exch": "b32 b64 b128 u32 s32 u64 s64 f32", "cas": "b16 b32 b64 b128 u32 s32 u64 s64",
    "inc": "u32", "dec": "u32",
}  # fmt: skip
_SCANS: dict[str, np.ufunc] = {
    "add": np.add, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "min": np.minimum,
    "max": np.maximum,
}  # fmt: skip


def _same_bits(a: Array, b: Array) -> Array:
    if a.dtype.kind != "c":
        result: Array = a == b
        return result
    pairs = (np.ascontiguousarray(x).view(np.uint64).reshape(-1, 2) for x in (a, b))
    matched: Array = np.equal(*pairs)
    return np.asarray(matched.all(axis=1))


def _compare_and_swap(old: Array, compare: Array, value: Array) -> Array:
    return np.where(_same_bits(old, compare), value, old)


def _combine(name: str, type_: str, space: str) -> Combine:
    """``new = f(old, value...)`` on arrays."""
    if name == "exch":
        return lambda _old, value: value
    if name == "cas":
        return _compare_and_swap
    if name == "inc":
        return lambda old, bound: np.where(old >= bound, np.uint32(0), old + np.uint32(1))
    if name == "dec":
        return lambda old, bound: np.where((old == 0) | (old > bound), bound, old - np.uint32(1))
    scalar = element(type_)
    if scalar in ("f32", "f64", "f16", "bf16"):
        kernel = arithmetic("add", scalar, "rn") if name == "add" else extreme(name, scalar, False, False)
        if scalar == "f32" and space == "global":
            kernel = with_flush(kernel, "f32")  # the GPU's L2 flushes subnormals, its shared memory does not
        return lift(kernel, type_)
    return _SCANS[name]


def _scan(name: str, combine: Combine, first: Array, values: list[Array]) -> tuple[Array, Array]:
    """The value that each update of one word finds, in order, and the value that the last one leaves."""
    n = values[0].size
    if name == "exch":
        return np.concatenate([first, values[0][:-1]]), values[0][-1:]
    if isinstance(combine, np.ufunc):
        run = combine.accumulate(np.concatenate([first, values[0]]))
        return run[:-1], run[-1:]
    if name == "inc" and first[0] <= values[0][0] and (values[0] == values[0][0]).all():
        counts = (int(first[0]) + np.arange(n + 1)) % (int(values[0][0]) + 1)
        return counts[:-1].astype(np.uint32), counts[-1:].astype(np.uint32)
    found = np.empty(n, first.dtype)
    for k in range(n):
        found[k] = first[0]
        first = combine(first, *(v[k : k + 1] for v in values))
    return found, first


def update(name: str, combine: Combine, view: Array, index: Array, values: list[Array]) -> Array:
    """Applies the updates in order, and returns the value that each found."""
    n = index.size
    if n > 1 and index[0] == index[-1] and (index == index[0]).all():
        at = slice(int(index[0]), int(index[0]) + 1)
        found, view[at] = _scan(name, combine, view[at].copy(), values)
        return found
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    heads = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    if heads.size == n:
        found = view[index]
        view[index] = combine(found, *values)
        return found
    lengths = np.diff(np.append(heads, n))
    found = np.empty(n, view.dtype)
    if int(lengths.max()) < heads.size:
        for k in range(int(lengths.max())):  # the k-th update of every word at once
            lane = order[heads[lengths > k] + k]
            found[lane] = view[index[lane]]
            view[index[lane]] = combine(found[lane], *(v[lane] for v in values))
        return found
    for head, length in zip(heads, lengths, strict=True):
        lane = order[head : head + length]
        at = slice(int(ordered[head]), int(ordered[head]) + 1)
        found[lane], view[at] = _scan(name, combine, view[at].copy(), [v[lane] for v in values])
    return found


class _Update:
    """Runs an atom or red."""

    def __init__(self, access: Access, name: str, type_: str) -> None:
        self.access, self.name, self.type = access, name, type_

    def __call__(self, machine: Machine, lanes: Threads, mask: Array | None, addresses: Array, *values: Array) -> Any:
        n = lanes.n
        chosen = None if mask is None else np.flatnonzero(broadcast(mask, n))
        dtype = DTYPE[self.type]
        result = np.zeros(n, dtype)
        if chosen is not None and not chosen.size:
            return result
        pick: Any = slice(None) if chosen is None else chosen
        addresses = broadcast(addresses, n)[pick]
        some = [broadcast(v, n)[pick] for v in values]
        found = np.empty(addresses.size, dtype)
        for view, index, where, home in locate(self.access, machine, lanes, chosen, addresses):
            space = "shared" if home is None else "global"
            combine = _combine(self.name, self.type, space)
            order = machine.launch.schedule.shuffled(index.size)
            if machine.launch.tool is not None:
                machine.launch.tool.ordered(order)
            inside = np.empty(index.size, dtype)
            inside[order] = update(self.name, combine, view.view(dtype), index[order], [v[where][order] for v in some])
            found[where] = inside
        result[pick] = found
        return result


class _VectorUpdate:
    """Runs an atom or red on vectors in global memory, each element of which is updated atomically by itself."""

    def __init__(self, access: Access, name: str, type_: str, vector: int) -> None:
        self.access, self.name, self.type, self.vector = access, name, type_, vector
        self.combine = _combine(name, type_, "global")

    def __call__(self, machine: Machine, lanes: Threads, mask: Array | None, addresses: Array, *values: Array) -> Any:
        chosen = np.arange(lanes.n) if mask is None else np.flatnonzero(broadcast(mask, lanes.n))
        dtype = DTYPE[self.type]
        result = np.zeros((self.vector, lanes.n), dtype)
        if not chosen.size:
            return list(result)
        addresses = broadcast(addresses, lanes.n)[chosen]
        for view, index, where, _ in locate(self.access, machine, lanes, chosen, addresses):
            cells, order = view.view(dtype), machine.launch.schedule.shuffled(index.size)
            if machine.launch.tool is not None:
                machine.launch.tool.ordered(order)
            first, threads = index[order] * self.vector, chosen[where][order]
            for k, value in enumerate(values):
                own = broadcast(value, lanes.n)[threads]
                result[k, threads] = update(self.name, self.combine, cells, first + k, [own])
        return list(result)


def _vector(form: Form, type_: str, name: str, vector: int, returns: bool) -> Op:
    most = {"f32": 4, "f16": 8, "bf16": 8, "f16x2": 4, "bf16x2": 4}.get(type_, 0)
    if name not in ("add", "min", "max") or vector > most or (type_ == "f32" and name != "add"):
        raise form.fail("expected a vector of f32 (.add), or of f16, bf16 or pairs of them (.add, .min, .max)")
    form.drop("noftz")
    space = space_of(form, form.operand(returns))
    if space not in ("global", "generic"):
        raise form.fail("expected .global memory")
    hinted = any(m.startswith("L2::cache_hint") for m in form.ins.mods)
    found = form.operands(2 + returns + hinted)
    vectors = [op for op in found if isinstance(op, Vec)]
    if len(vectors) != 1 + returns or any(len(op.items) != vector for op in vectors):
        raise form.fail(f"expected vectors of {vector} elements")
    mem = memory_operand(form, found[1 if returns else 0])
    size = vector * nbytes(type_)
    access = Access(form.ins, space, mem.offset, size, unit_of(size), "updated")
    reads: tuple[tuple[Operand, str], ...] = ((mem.base, "addr"), *((op, type_) for op in vectors[-1].items))
    writes = tuple((op, type_) for op in vectors[0].items) if returns else ()
    return Op(reads, writes, _VectorUpdate(access, name, type_, vector), effect=True)


def _build(form: Form, returns: bool) -> Op:
    type_ = form.type(_TYPES)
    drop_hints(form)
    vector = int(form.pick("v2", "v4", "v8", default="v1")[1:])
    if vector > 1:
        return _vector(form, type_, form.pick(*_NAMES), vector, returns)
    name = form.pick(*_NAMES)
    if type_ not in _LEGAL[name].split():
        raise form.fail(f"expected .{name} with a type .{', .'.join(_LEGAL[name].split())}")
    form.drop("noftz")
    space = space_of(form, form.operand(returns))
    if space not in ("global", "shared", "generic"):
        raise form.fail("expected .global or .shared memory")
    count = (2 if name == "cas" else 1) + 1 + returns
    hinted = any(m.startswith("L2::cache_hint") for m in form.ins.mods)
    found = form.operands(count + 1 if hinted else count)[:count]
    dest: Operand = Sink()
    if returns:
        dest, *found_rest = found
        found = tuple(found_rest)
    mem = memory_operand(form, found[0])
    size = nbytes(type_)
    access = Access(form.ins, space, mem.offset, size, unit_of(size), "updated")
    reads: tuple[tuple[Operand, str], ...] = ((mem.base, "addr"), *((op, type_) for op in found[1:]))
    return Op(reads, ((dest, type_),), _Update(access, name, type_), effect=True)


TABLE: dict[str, Builder] = {
    "atom": lambda form: _build(form, True),
    "red": lambda form: _build(form, False),
}
