"""wmma: D = A B + C of matrices that a warp loads, multiplies and stores as a whole.

The ISA leaves open which lane holds which element. Here slot ``s`` of lane ``l`` holds element ``32 s + l`` of the
matrix in row-major order, whatever its layout in memory. Factors of f16 have 16 slots, as many as the ISA gives them
registers for, so small ones are held more than once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...machine.address_resolution import Access, gather, scatter
from ...machine.threads import WARP, Threads
from ...numerics.floats import widen
from ...numerics.rounding import F16
from ...ptx.types import Array, Imm, Mem, Operand
from ..load_store import memory_operand, space_of, unit_of
from ..op import Builder, Form, Op, broadcast
from .mma import ALL_LANES, number, product_of, registers_of, rounded

if TYPE_CHECKING:
    from ...machine.machine import Machine

_WIDE = ("m16n16k16", "m32n8k16", "m8n32k16")
_SHAPES = {"f16": _WIDE, "bf16": _WIDE, "s8": _WIDE, "u8": _WIDE, "tf32": ("m16n16k8",), "f64": ("m8n8k4",)}
_SUMS = {"f16": ("f16", "f32"), "bf16": ("f32",), "s8": ("s32",), "u8": ("s32",), "tf32": ("f32",), "f64": ("f64",)}
_PART = {
    "f16": "u2", "bf16": "u2", "s8": "i1", "u8": "u1", "tf32": "u4", "f64": "f8", "f32": "f4", "s32": "i4",
}  # fmt: skip
_F16_SLOTS = 16


class _Fragment:
    """How a warp holds a matrix of ``rows`` and ``columns`` elements of ``type_``."""

    def __init__(self, role: str, shape: str, type_: str) -> None:
        m, n, k = (int(size) for size in shape[1:].replace("n", " ").replace("k", " ").split())
        self.type, self.rows, self.columns = type_, k if role == "b" else m, k if role == "a" else n
        self.size = self.rows * self.columns
        self.part = np.dtype(_PART[type_])
        self.word = np.dtype({8: "f8"}.get(self.part.itemsize, "f4" if type_ == "f32" else "u4"))
        self.per = self.word.itemsize // self.part.itemsize
        factor = role in ("a", "b")
        self.slots = _F16_SLOTS if factor and type_ == "f16" else self.size // WARP
        self.registers = self.slots // self.per
        self.read = "f64" if type_ == "f64" else type_ if type_ in ("f32", "s32") else "b32"

    def matrix(self, lanes: Threads, values: list[Array]) -> Array:
        """The elements (warps, rows, columns) from the registers."""
        words = np.stack([lanes.rows(v) for v in values], axis=1)
        slots = np.ascontiguousarray(words).view(self.part).reshape(-1, self.registers, WARP, self.per).swapaxes(2, 3)
        return slots.reshape(len(words), -1)[:, : self.size].reshape(-1, self.rows, self.columns)

    def spread(self, lanes: Threads, matrix: Array) -> list[Array]:
        """The registers that hold ``matrix`` (warps, rows, columns)."""
        flat = matrix.reshape(-1, self.size)
        flat = np.tile(flat, (1, self.slots * WARP // self.size))
        parts = np.ascontiguousarray(flat.reshape(-1, self.registers, self.per, WARP).swapaxes(2, 3))
        words = parts.view(self.word).reshape(-1, self.registers, WARP)
        return [lanes.flat(np.ascontiguousarray(words[:, k])) for k in range(self.registers)]

    def offsets(self, lanes: Threads, slot: int, by_row: bool, leading: Array) -> Array:
        """The bytes from the matrix's address to the element in ``slot`` of each lane; ``leading`` is in elements."""
        row, column = np.divmod(WARP * slot + lanes.column, self.columns)
        major, minor = (row, column) if by_row else (column, row)
        return (major * leading.astype(np.int64) + minor) * self.part.itemsize


def _move(form: Form, verb: str) -> tuple[_Fragment, bool, Access, tuple[Operand, ...], Operand, Operand]:
    """The parts of a load or store: fragment, whether row-major, access, registers, address and leading dimension."""
    role = form.pick("a", "b", "c", "d")
    form.pick("sync")
    form.pick("aligned")
    by_row = form.pick("row", "col") == "row"
    type_ = form.type(" ".join(_SHAPES) if role in "ab" else "f16 f32 s32 f64")
    known = _SHAPES[type_] if role in "ab" else [s for t, sums in _SUMS.items() if type_ in sums for s in _SHAPES[t]]
    fragment = _Fragment(role, form.pick(*dict.fromkeys(known)), type_)
    address = next((op for op in form.ins.operands if isinstance(op, Mem)), Imm(0))
    mem = memory_operand(form, address)
    space = space_of(form, mem)
    if space not in ("global", "shared", "generic"):
        raise form.fail("expected .global or .shared memory")
    first, second, *leading = form.operands(2, 3)
    items = registers_of(form, second if verb == "written" else first, fragment.registers)
    dense = Imm(fragment.columns if by_row else fragment.rows)
    size = fragment.part.itemsize
    access = Access(form.ins, space, mem.offset, size, unit_of(size), verb)
    return fragment, by_row, access, items, mem.base, leading[0] if leading else dense


def _load(form: Form) -> Op:
    fragment, by_row, access, items, base, leading = _move(form, "read")

    def run(machine: Machine, lanes: Threads, _mask: Array | None, addresses: Array, step: Array) -> Any:
        start, held = broadcast(addresses, lanes.n), []
        for slot in range(fragment.size // WARP):
            at = start + fragment.offsets(lanes, slot, by_row, step).astype(start.dtype)
            held.append(lanes.rows(gather(access, machine, lanes, None, at)))
        matrix = np.ascontiguousarray(np.stack(held, axis=1)).view(fragment.part)
        out = fragment.spread(lanes, matrix)
        return out if len(out) > 1 else out[0]

    reads: tuple[tuple[Operand, str], ...] = ((base, "addr"), (leading, "u32"))
    return Op(reads, tuple((x, fragment.read) for x in items), run, effect=True, member=ALL_LANES)


def _store(form: Form) -> Op:
    fragment, by_row, access, items, base, leading = _move(form, "written")

    def run(
        machine: Machine, lanes: Threads, _mask: Array | None, addresses: Array, step: Array, *values: Array
    ) -> None:
        start = broadcast(addresses, lanes.n)
        held = fragment.matrix(lanes, list(values)).reshape(-1, fragment.size // WARP, WARP)
        for slot in range(held.shape[1]):
            at = start + fragment.offsets(lanes, slot, by_row, step).astype(start.dtype)
            raw = lanes.flat(np.ascontiguousarray(held[:, slot]))
            scatter(access, machine, lanes, None, at, raw.view(access.unit))

    reads: tuple[tuple[Operand, str], ...] = ((base, "addr"), (leading, "u32"), *((x, fragment.read) for x in items))
    return Op(reads, (), run, effect=True, member=ALL_LANES)


def _mma(form: Form) -> Op:
    form.pick("sync")
    form.pick("aligned")
    form.pick("row", "col")
    form.pick("row", "col")
    saturated = form.flag("satfinite")
    form.drop("rn")
    c_type = form.type("f16 f32 s32 f64")
    b_type = form.left.pop() if form.left and form.left[-1] in _SHAPES and len(form.left) > 2 else "f16"
    a_type = form.type(" ".join(_SHAPES)) if len(form.left) > 2 else "f16"
    d_type = form.type("f16 f32 s32 f64")
    if c_type not in _SUMS[a_type] or d_type not in _SUMS[a_type] or b_type != a_type:
        raise form.fail(f"expected B of type .{a_type}, C and D of type .{' or .'.join(_SUMS[a_type])} with that A")
    shape = form.pick(*_SHAPES[a_type])
    roles = (("d", d_type), ("a", a_type), ("b", a_type), ("c", c_type))
    fragments = [_Fragment(role, shape, type_) for role, type_ in roles]
    of_d, of_a, of_b, of_c = fragments
    d, a, b, c = (registers_of(form, op, f.registers) for op, f in zip(form.operands(4), fragments, strict=True))

    def run(_machine: Machine, lanes: Threads, _mask: Array | None, *values: Array) -> Any:
        given = iter(values)
        x, y, z = (f.matrix(lanes, [next(given) for _ in range(f.registers)]) for f in (of_a, of_b, of_c))
        addend = widen(z, F16) if c_type == "f16" else z
        total = product_of(a_type, number(a_type, x), number(a_type, y), addend)
        return of_d.spread(lanes, rounded(d_type, total, saturated))

    reads = tuple((x, f.read) for items, f in ((a, of_a), (b, of_b), (c, of_c)) for x in items)
    return Op(reads, tuple((x, of_d.read) for x in d), run, effect=True, member=ALL_LANES)


_KINDS: dict[str, Builder] = {"load": _load, "store": _store, "mma": _mma}


def _wmma(form: Form) -> Op | list[Op]:
    return _KINDS[form.pick(*_KINDS)](form)


TABLE: dict[str, Builder] = {"wmma": _wmma}
