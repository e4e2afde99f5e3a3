"""Scenes: kernels with everything that their launch needs, as plain data that the emulator and a GPU can run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from warpfold.runtime.emulator import Memory

Shape = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Buffer:
    """An allocation of ``nbytes`` uninitialised bytes, or of ``data``, ``skew`` bytes after a boundary."""

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
    """One launch: a kernel of ``ptx``, its shape, its arguments, and the bytes of its dynamic shared memory."""

    ptx: str
    entry: str
    grid: Shape
    block: Shape
    args: tuple[At | int, ...]
    cluster: Shape | None = None
    shared: int = 0

    def argument(self, index: int, value: At | int) -> Launch:
        """The launch with one argument replaced."""
        return replace(self, args=(*self.args[:index], value, *self.args[index + 1 :]))


@dataclass(frozen=True, eq=False)
class Scene:
    """Launches, one after another, on one memory."""

    name: str
    buffers: dict[str, Buffer]
    launches: tuple[Launch, ...]

    def with_buffer(self, name: str, buffer: Buffer) -> Scene:
        """The scene with the buffer ``name`` replaced."""
        return replace(self, buffers={**self.buffers, name: buffer})

    def with_launch(self, index: int, launch: Launch | None) -> Scene:
        """The scene with launch number ``index`` replaced, or removed."""
        rest = [x for k, x in enumerate(self.launches) if k != index]
        return replace(self, launches=tuple(rest if launch is None else [*rest[:index], launch, *rest[index:]]))


def values(array: Any) -> Buffer:
    """A buffer that holds an array."""
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return Buffer(raw.size, raw)


def nothing(nbytes: int) -> Buffer:
    """An uninitialised buffer."""
    return Buffer(nbytes)


@dataclass(frozen=True)
class Report:
    """A finding, the number of threads it names, and the PTX of its launch."""

    kind: str
    line: int
    text: str
    words: str
    threads: int
    ptx: str


def examine(scene: Scene, max_steps: int = 20_000, seed: int | None = None) -> list[Report]:
    """The findings in a scene, launch by launch, up to the first launch with findings; ``seed`` draws a schedule."""
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
            shared_bytes=launch.shared,
            cluster=launch.cluster,
            max_steps=max_steps,
            seed=seed,
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
