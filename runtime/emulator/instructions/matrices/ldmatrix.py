"""8x8 matrices of 16-bit elements between memory and the lanes of a warp: ldmatrix, stmatrix, movmatrix.

A row is 16 bytes at the address that one lane gives: lanes 0 to 7 give the rows of the first matrix, lanes 8 to 15
those of the second, and so on. A register of lane ``l`` holds elements ``2 * (l % 4)`` and the next one of row ``l //
4``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...machine.gather_scatter import gather, scatter
from ...machine.threads import WARP, Threads
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


TABLE: dict[str, Builder] = {"ldmatrix": _ldmatrix, "stmatrix": _stmatrix, "movmatrix": _movmatrix}
