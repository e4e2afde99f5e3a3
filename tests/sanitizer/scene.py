"""Scenes: kernels with all that a launch of them needs, as plain data that the emulator and a GPU can run alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from warpfold.runtime.emulator import Memory

Shape = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Buffer:
    """An allocation: ``nbytes`` that nobody wrote, or those of ``data``; its address is ``skew`` past a boundary."""

    nbytes: int
    data: np.ndarray | None = None
    skew: int = 0


@dataclass(frozen=True)
class At:
    """A pointer argument: ``offset`` bytes into the buffer of this name."""

    buffer: str
    offset: int = 0


@dataclass(frozen=True)
class Launch:
    """One launch: a kernel of ``ptx``, its shape and its arguments."""

    ptx: str
    entry: str
    grid: Shape
    block: Shape
    args: tuple[At | int, ...]
    cluster: Shape | None = None

    def argument(self, index: int, value: At | int) -> Launch:
        """The same with another argument."""
        return replace(self, args=(*self.args[:index], value, *self.args[index + 1 :]))


@dataclass(frozen=True, eq=False)
class Scene:
    """Launches, one after another, on one memory."""

    name: str
    buffers: dict[str, Buffer]
    launches: tuple[Launch, ...]

    def with_buffer(self, name: str, buffer: Buffer) -> Scene:
        """The same with another buffer under ``name``."""
        return replace(self, buffers={**self.buffers, name: buffer})

    def with_launch(self, index: int, launch: Launch | None) -> Scene:
        """The same with another launch in place of number ``index``, or without it."""
        rest = [x for k, x in enumerate(self.launches) if k != index]
        return replace(self, launches=tuple(rest if launch is None else [*rest[:index], launch, *rest[index:]]))


def values(array: Any) -> Buffer:
    """A buffer that holds an array."""
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return Buffer(raw.size, raw)


def nothing(nbytes: int) -> Buffer:
    """A buffer that nobody wrote."""
    return Buffer(nbytes)


@dataclass(frozen=True)
class Report:
    """A finding, how many threads it names, and the PTX of the launch it came from."""

    kind: str
    line: int
    text: str
    words: str
    threads: int
    ptx: str


def examine(scene: Scene, max_steps: int = 20_000) -> list[Report]:
    """What the sanitizer says of a scene, launch by launch; it stops after the first launch with findings."""
    from warpfold.runtime.emulator import sanitize

    memory = Memory()
    places = {name: _place(memory, name, buffer) for name, buffer in scene.buffers.items()}
    for launch in scene.launches:
        args = [places[a.buffer] + a.offset if isinstance(a, At) else a for a in launch.args]
        found = sanitize(
            launch.ptx,
            launch.entry,
            launch.grid,
            launch.block,
            args,
            memory,
            cluster=launch.cluster,
            max_steps=max_steps,
        )
        if found:
            return [Report(f.kind, f.line, f.text, f.words, len(f.threads), launch.ptx) for f in found]
    return []


def _place(memory: Memory, name: str, buffer: Buffer) -> int:
    if buffer.data is None:
        return memory.allocate(buffer.nbytes)
    raw = np.zeros(buffer.nbytes + 256 + buffer.skew, np.uint8)
    at = -raw.ctypes.data % 256 + buffer.skew
    raw[at : at + buffer.nbytes] = buffer.data
    return memory.bind(raw[at : at + buffer.nbytes], name=name)
