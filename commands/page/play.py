"""What the player shows of a launch, as plain values: instructions, lanes, registers and accesses, each value once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...runtime.emulator.instruction_classes import class_of
from ...runtime.emulator.machine.program import Block, Program, registers_of
from ...runtime.emulator.machine.threads import WARP
from ...runtime.emulator.ptx.types import WIDTH, Array, Reg, is_float
from ...runtime.emulator.recorder import Masks, Moment, Recording
from ..array_traffic import Label

DIGITS = 6
"""Digits of a floating-point value."""
VERBS = ("read", "written", "updated")
_EXACT = 1 << 53
"""Integers below it are the same in JavaScript."""


def play(recording: Recording, labels: Mapping[str, Label], items: Mapping[str, int]) -> dict[str, object]:
    """The values of a recording; ``items`` are the bytes of an element of each array."""
    return _Play(recording, labels, items).values() if recording.moments else {}


class _Play:
    """Numbers registers, lines, sets of lanes and vectors of values, so that each is written once."""

    def __init__(self, recording: Recording, labels: Mapping[str, Label], items: Mapping[str, int]) -> None:
        self.own = recording
        self.pool: dict[str, int] = {}
        self.vectors: list[Any] = []
        self.masks: dict[tuple[int, ...], int] = {}
        self.regs: dict[int, int] = {}
        self.lines: dict[int, int] = {}
        self.kinds = _kinds(recording.program)
        self.names = {reg.index: reg for reg in _registers(recording.program)}
        named = {name for name, _, _ in recording.arrays}
        self.arrays = [*(name for name, _, _ in recording.arrays), "shared", "local"]
        shown = [labels.get(name, Label(name)).name if name in named else f"{name} memory" for name in self.arrays]
        self.places = [[name, items.get(key, 4)] for key, name in zip(self.arrays, shown, strict=True)]

    def values(self) -> dict[str, object]:
        moments, own = self.own.moments, self.own
        blocks = {b.items[0].ins.line: b for b in own.program.blocks if b.items}
        steps = [self._step(m) for m in moments]
        code = [self._code(blocks[line]) for line in self.lines]
        threads = own.block[0] * own.block[1] * own.block[2]
        return {
            "warps": [[p.cta, p.warp, _alive(threads, p.warp)] for p in own.places],
            "threads": threads, "ctas": int(np.prod(own.grid)), "total": own.steps,
            "arrays": self.places, "code": code,
            "regs": [[self.names[index].name, self.kinds.get(index, self.names[index].type)] for index in self.regs],
            "masks": [list(m) for m in self.masks], "pool": self.vectors, "steps": steps,
        }  # fmt: skip

    def _step(self, m: Moment) -> dict[str, object]:
        """One instruction; what does not happen in it is left out."""
        writes = [
            [self._reg(index), warp, self._register(index, held)]
            for index, by_warp in m.written.items()
            for warp, held in by_warp.items()
        ]
        accesses = [
            [warp, self.arrays.index(a.where), VERBS.index(a.verb), a.size, _bits(a.lanes),
             self._pooled([int(at) for at in a.addresses]), a.taken, a.ideal]
            for warp, several in m.accesses.items()
            for a in several
            if a.where in self.arrays
        ]  # fmt: skip
        sources = [[warp, self._pooled(lanes.tolist())] for warp, lanes in m.sources.items()]
        found: dict[str, object] = {
            "c": self.lines.setdefault(m.line, len(self.lines)), "n": m.threads, "l": self._mask(m.lanes),
            "w": writes, "a": accesses, "s": sources,
        }  # fmt: skip
        events = {"t": m.taken, "b": m.arrived, "r": m.released, "x": m.exited}
        found |= {key: self._mask(masks) for key, masks in events.items() if masks}
        return {key: value for key, value in found.items() if value != []}

    def _code(self, block: Block) -> list[object]:
        """A line of PTX: number, text, class, the registers that it reads, and others that are read after it."""
        ins = block.items[0].ins
        uses = {r.index for item in block.items for r in registers_of(item.op.reads)}
        uses |= {item.guard.index for item in block.items if item.guard is not None}
        read = [self._reg(k) for k in self.regs if k in uses]
        later = [self._reg(k) for k in self.regs if block.live_out >> k & 1 and k not in uses]
        return [ins.line, ins.text, class_of(ins), read, later]

    def _reg(self, index: int) -> int:
        return self.regs.setdefault(index, len(self.regs))

    def _mask(self, masks: Masks) -> int:
        """The number of a set of lanes of the chosen warps."""
        key = tuple(masks.get(k, 0) for k in range(len(self.own.places)))
        return self.masks.setdefault(key, len(self.masks))

    def _register(self, index: int, held: Array) -> int:
        """The number of what a register holds in the lanes of a warp: of a pointer, the array and the bytes in it."""
        kind = self.kinds.get(index, self.names[index].type)
        if WIDTH.get(kind) == 64 and not is_float(kind):
            for number, (_, address, size) in enumerate(self.own.arrays):
                if ((held >= address) & (held < address + max(size, 1))).all():
                    return self._pooled({"in": number, "at": _short([int(v) - address for v in held])})
        return self._pooled(_short(_plain(held, kind)))

    def _pooled(self, vector: Any) -> int:
        key = repr(vector)
        if key not in self.pool:
            self.pool[key] = len(self.vectors)
            self.vectors.append(vector)
        return self.pool[key]


def _alive(threads: int, warp: int) -> int:
    """The lanes of a warp that have a thread."""
    return (1 << max(0, min(WARP, threads - warp * WARP))) - 1


def _bits(lanes: Array) -> int:
    return sum(1 << int(lane) for lane in lanes)


def _short(values: list[Any]) -> Any:
    """One value where all lanes have the same."""
    return values[0] if all(v == values[0] for v in values) else values


def _registers(program: Program) -> Sequence[Reg]:
    """The registers that instructions write."""
    items = (item for block in program.blocks for item in block.items)
    return [dest for item in items for dest, _ in item.op.writes if isinstance(dest, Reg)]


def _kinds(program: Program) -> dict[int, str]:
    """What each register holds: the first type of its width that an instruction gives it and that is not plain bits."""
    found: dict[int, str] = {}
    for block in program.blocks:
        for item in block.items:
            for operand, kind in (*item.op.writes, *item.op.reads):
                plain = kind.startswith("b") and kind not in ("bf16", "bf16x2")
                if isinstance(operand, Reg) and not plain and WIDTH.get(kind) == WIDTH[operand.type]:
                    found.setdefault(operand.index, kind)
    return found


def _plain(held: Array, kind: str) -> list[Any]:
    """The values of a register as JSON has them."""
    if kind == "pred":
        return [int(v) for v in held]
    if kind == "bf16":
        return [_float(v) for v in (held.astype(np.uint32) << 16).view(np.float32)]
    if kind in ("f16", "f32", "f64"):
        return [_float(v) for v in held.view({"f16": "f2", "f32": "f4", "f64": "f8"}[kind])]
    if kind.startswith("s") and kind[1:].isdigit():
        return [_int(int(v)) for v in held.view(f"i{held.dtype.itemsize}")]
    if held.dtype.kind == "c":
        return [f"{int(v.view(np.uint64)[1]):016x}{int(v.view(np.uint64)[0]):016x}" for v in held.reshape(-1, 1)]
    return [f"0x{int(v):08x}" if kind.endswith("x2") else _int(int(v)) for v in held]


def _int(value: int) -> int | str:
    return value if abs(value) < _EXACT else str(value)


def _float(value: Any) -> float | str:
    """A value of few digits; a text where JSON has no number."""
    text = f"{float(value):.{DIGITS}g}"
    return float(text) if np.isfinite(value) else text
