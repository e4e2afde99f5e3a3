"""mma: D = A B + C of matrices spread over the lanes of a warp.

The ISA leaves the order and the precision of the sum open. Here the sum is kept in float64: C first, then the products
in the order of k. It is rounded once, to nearest; for f64 each product is an fma. Integers are exact.

8x8 matrices of 16-bit elements between memory and the lanes of a warp: ldmatrix, stmatrix, movmatrix.

A row is 16 bytes at the address that one lane gives: lanes 0 to 7 give the rows of the first matrix, lanes 8 to 15
those of the second, and so on. A register of lane ``l`` holds elements ``2 * (l % 4)`` and the next one of row ``l //
4``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...machine.address_resolution import gather, scatter
from ...machine.threads import WARP, Threads
from ...numerics.floats import canonical, widen
from ...numerics.rounding import BF16, E4M3, E5M2, F16, decode, fma_f64
from ...ptx.types import Array, Imm, Operand, Vec
from ..load_store import shared_access
from ..op import Builder, Form, Op, broadcast

if TYPE_CHECKING:
    from ...machine.machine import Machine


ALL_LANES = Imm(0xFFFFFFFF)
_ROW = 16  # bytes


def _shape(form: Form) -> tuple[int, bool]:
    """The number of matrices, and whether they are transposed."""
    form.pick("sync")
    form.pick("aligned")
    form.pick("m8n8")
    form.type("b16")
    return int(form.pick("x1", "x2", "x4")[1:]), form.flag("trans")


def registers_of(form: Form, op: Operand, count: int) -> tuple[Operand, ...]:
    """The ``count`` registers of the operand ``op``."""
    items = op.items if isinstance(op, Vec) else (op,)
    if len(items) != count:
        raise form.fail(f"expected {count} registers, got {len(items)}")
    return items


def _rows(lanes: Threads, count: int, addresses: Array) -> tuple[Array, Array]:
    """The positions of the lanes that give a row, and the addresses that they give."""
    chosen = np.flatnonzero(lanes.column < 8 * count)
    return chosen, broadcast(addresses, lanes.n)[chosen]


def _turned(words: Array, count: int) -> Array:
    """The words (warps, count, 32) of the transposes of matrices, from the words of the matrices."""
    tiles = words.view(np.uint16).reshape(-1, count, 8, 8).swapaxes(2, 3)
    return np.ascontiguousarray(tiles).view(np.uint32).reshape(-1, count, WARP)


def _ldmatrix(form: Form) -> Op:
    count, transposed = _shape(form)
    source = form.operand(-1)
    access, base = shared_access(form, source, _ROW, "read")
    dests = registers_of(form, form.operands(2)[0], count)

    def run(machine: Machine, lanes: Threads, _mask: Array | None, addresses: Array) -> Any:
        chosen, rows = _rows(lanes, count, addresses)
        tiles = np.zeros((lanes.warps.size, 8 * count), access.unit)
        tiles[lanes.row[chosen], lanes.column[chosen]] = gather(access, machine, lanes, chosen, rows)
        words = tiles.view(np.uint32).reshape(-1, count, WARP)
        words = _turned(words, count) if transposed else words
        out = [lanes.flat(np.ascontiguousarray(words[:, k])) for k in range(count)]
        return out if count > 1 else out[0]

    return Op(((base, "addr"),), tuple((d, "b32") for d in dests), run, effect=True, member=ALL_LANES)


def _stmatrix(form: Form) -> Op:
    count, transposed = _shape(form)
    access, base = shared_access(form, form.operand(0), _ROW, "written")
    sources = registers_of(form, form.operands(2)[1], count)

    def run(machine: Machine, lanes: Threads, _mask: Array | None, addresses: Array, *values: Array) -> None:
        chosen, rows = _rows(lanes, count, addresses)
        words = np.ascontiguousarray(np.stack([lanes.rows(v) for v in values], axis=1))
        words = _turned(words, count) if transposed else words
        tiles = words.reshape(-1, 4 * 8 * count).view(access.unit)
        scatter(access, machine, lanes, chosen, rows, tiles[lanes.row[chosen], lanes.column[chosen]])

    reads: tuple[tuple[Operand, str], ...] = ((base, "addr"), *((s, "b32") for s in sources))
    return Op(reads, (), run, effect=True, member=ALL_LANES)


def _movmatrix(form: Form) -> Op:
    form.pick("sync")
    form.pick("aligned")
    form.pick("m8n8")
    form.pick("trans")
    form.type("b16")
    d, a = form.operands(2)

    def run(_machine: Machine, lanes: Threads, _mask: Array | None, x: Array) -> Array:
        return lanes.flat(_turned(np.ascontiguousarray(lanes.rows(x)), 1)[:, 0])

    return Op(((a, "b32"),), ((d, "b32"),), run, effect=True, member=ALL_LANES)


_LDMATRIX: dict[str, Builder] = {"ldmatrix": _ldmatrix, "stmatrix": _stmatrix, "movmatrix": _movmatrix}


_N = 8
_G, _T = np.arange(WARP) // 4, np.arange(WARP) % 4  # the ISA's groupID and threadID_in_group
_BYTES = ("s8", "u8")
_SMALL = {"e4m3": E4M3, "e5m2": E5M2}


@dataclass(frozen=True)
class _Kind:
    """A type of factors: the dtype of an element in a register, the shapes (M, K), and the types of C and D."""

    part: str
    shapes: tuple[tuple[int, int], ...]
    sums: tuple[str, ...]


_KINDS = {
    "f16": _Kind("u2", ((16, 8), (16, 16)), ("f32", "f16")),
    "bf16": _Kind("u2", ((16, 8), (16, 16)), ("f32",)),
    "tf32": _Kind("u4", ((16, 4), (16, 8)), ("f32",)),
    "s8": _Kind("i1", ((16, 16), (16, 32)), ("s32",)),
    "u8": _Kind("u1", ((16, 16), (16, 32)), ("s32",)),
    "e4m3": _Kind("u1", ((16, 16), (16, 32)), ("f32", "f16")),
    "e5m2": _Kind("u1", ((16, 16), (16, 32)), ("f32", "f16")),
    "f64": _Kind("f8", ((8, 4), (16, 4), (16, 8), (16, 16)), ("f64",)),
}


def number(type_: str, words: Array) -> Array:
    """Elements as float64 or int64, exactly; the low 13 bits of tf32 are ignored."""
    if type_ == "tf32":
        return (words & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
    if type_ in ("f16", "bf16"):
        return widen(words, F16 if type_ == "f16" else BF16).astype(np.float64)
    if type_ in _SMALL:
        return decode(words, _SMALL[type_])
    return words.astype(np.int64) if type_ in _BYTES else words


def _operand_layout(m: int, per: int, registers: int) -> tuple[Array, Array]:
    """The row and the column in A of each element (registers, 32, per); for B, with M = 8, the column and the row."""
    register, lane, part = np.ogrid[:registers, :WARP, :per]
    tall = m // 8
    row, column = _G[lane] + 8 * (register % tall), per * _T[lane] + part + 4 * per * (register // tall)
    shape = (registers, WARP, per)
    return np.broadcast_to(row, shape), np.broadcast_to(column, shape)


def _sum_layout(m: int) -> tuple[Array, Array]:
    """The row and the column in C and D of each element (values, 32)."""
    value, lane = np.ogrid[: m * _N // WARP, :WARP]
    shape = (m * _N // WARP, WARP)
    return np.broadcast_to(_G[lane] + 8 * (value >> 1), shape), np.broadcast_to(2 * _T[lane] + (value & 1), shape)


def _assembled(lanes: Threads, values: list[Array], part: np.dtype[Any], layout: tuple[Array, Array]) -> Array:
    """The matrices (warps, rows, columns) from the registers that hold their elements."""
    words = np.stack([lanes.rows(v) for v in values], axis=1)
    elements = np.ascontiguousarray(words).view(part).reshape(words.shape[0], *layout[0].shape)
    out = np.zeros((words.shape[0], int(layout[0].max()) + 1, int(layout[1].max()) + 1), part)
    out[:, layout[0], layout[1]] = elements
    return out


def product_of(type_: str, a: Array, b: Array, c: Array) -> Array:
    """The sums (warps, M, N), as float64, or as int64 for bytes."""
    total = c.astype(np.int64 if type_ in _BYTES else np.float64)
    for k in range(a.shape[2]):
        x, y = a[:, :, k, None], b[:, None, k]
        if type_ == "f64":
            flat = [np.ascontiguousarray(v).reshape(-1) for v in np.broadcast_arrays(x, y, total)]
            total = fma_f64(*flat).reshape(total.shape)
        else:
            total = total + x * y
    return total


def rounded(type_: str, total: Array, saturated: bool) -> Array:
    """Sums rounded to their type; f16 as codes."""
    if type_ == "f32":
        return canonical(total.astype(np.float32))
    if type_ == "f16":
        return np.where(np.isnan(total), np.uint16(0x7FFF), total.astype(np.float16).view(np.uint16))
    if type_ == "s32":
        return np.clip(total, -(2**31), 2**31 - 1).astype(np.int32) if saturated else total.astype(np.int32)
    return total


class _Product:
    """Runs an mma."""

    def __init__(self, a: str, b: str, c: str, d: str, shape: tuple[int, int], saturated: bool) -> None:
        self.types, self.saturated = (a, b, c, d), saturated
        self.parts = tuple(np.dtype(_KINDS[t].part) for t in (a, b))
        m, k = shape
        word = 8 if a == "f64" else 4
        self.per = word // self.parts[0].itemsize
        self.registers = (m * k // WARP // self.per, k * _N // WARP // self.per)
        self.a_layout = _operand_layout(m, self.per, self.registers[0])
        self.b_layout = _operand_layout(8, self.per, self.registers[1])
        self.c_layout = _sum_layout(m)

    def sums(self, type_: str) -> int:
        """The number of registers of C or D; two f16 share one."""
        return int(self.c_layout[0].shape[0]) // (2 if type_ == "f16" else 1)

    def __call__(self, _machine: Machine, lanes: Threads, _mask: Array | None, *values: Array) -> Any:
        a_type, b_type, c_type, d_type = self.types
        many, few = self.registers
        given = list(values)
        a = number(a_type, _assembled(lanes, given[:many], self.parts[0], self.a_layout))
        b = number(b_type, _assembled(lanes, given[many : many + few], self.parts[1], self.b_layout)).swapaxes(1, 2)
        total = product_of(a_type, a, b, self._addend(lanes, given[many + few :], c_type))
        result = rounded(d_type, total, self.saturated)[:, self.c_layout[0], self.c_layout[1]]
        if d_type == "f16":
            pairs = np.ascontiguousarray(result.reshape(-1, result.shape[1] // 2, 2, WARP).swapaxes(2, 3))
            result = pairs.view(np.uint32)[..., 0]
        return [lanes.flat(np.ascontiguousarray(result[:, k])) for k in range(result.shape[1])]

    def _addend(self, lanes: Threads, values: list[Array], type_: str) -> Array:
        if type_ != "f16":
            return _assembled(lanes, values, values[0].dtype, self.c_layout)
        halves = [half for v in values for half in (v & np.uint32(0xFFFF), v >> np.uint32(16))]
        codes = _assembled(lanes, [h.astype(np.uint16) for h in halves], np.dtype("u2"), self.c_layout)
        return widen(codes, F16)


def _mma(form: Form) -> Op:
    form.pick("sync")
    form.pick("aligned")
    c_type, b_type = form.type("f16 f32 s32 f64"), form.type(" ".join(_KINDS))
    a_type, d_type = form.type(" ".join(_KINDS)), form.type("f16 f32 s32 f64")
    form.pick("row")
    form.pick("col")
    kind = _KINDS[a_type]
    shapes = {f"m{m}n{_N}k{k}": (m, k) for m, k in kind.shapes}
    shape = shapes[form.pick(*shapes)]
    if c_type not in kind.sums or d_type not in kind.sums:
        raise form.fail(f"expected C and D of type .{' or .'.join(kind.sums)} with A of type .{a_type}")
    if b_type != a_type and not any(a_type in alike and b_type in alike for alike in (_BYTES, _SMALL)):
        raise form.fail(f"expected B of type .{a_type}, got .{b_type}")
    if a_type == "f64":
        form.drop("rn")
    product = _Product(a_type, b_type, c_type, d_type, shape, a_type in _BYTES and form.flag("satfinite"))
    counts = (product.sums(d_type), *product.registers, product.sums(c_type))
    d, a, b, c = (registers_of(form, op, n) for op, n in zip(form.operands(4), counts, strict=True))
    word = "f64" if a_type == "f64" else "b32"
    out = {"f16": "b32"}
    reads = (*((x, word) for x in (*a, *b)), *((x, out.get(c_type, c_type)) for x in c))
    return Op(reads, tuple((x, out.get(d_type, d_type)) for x in d), product, effect=True, member=ALL_LANES)


TABLE: dict[str, Builder] = {"mma": _mma, **_LDMATRIX}
