"""Warpfold's own kernels as scenes: calls run on the emulator, and their launches are recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from catalogue import Case
from scene import At, Buffer, Launch, Scene, nothing, values

import warpfold as wf
from warpfold.compiler.driver.artifact import Artifact
from warpfold.compiler.dtypes import dtype
from warpfold.compiler.plan.ladder import RUNGS
from warpfold.runtime import api
from warpfold.runtime.backends import emulator_backend, select
from warpfold.runtime.backends.kernel_calls import Call
from warpfold.runtime.emulator.machine.address_map import POISON


class Recorder(emulator_backend.EmulatorBackend):
    """An emulator that records each launch, and the memory before the first one."""

    def __init__(self) -> None:
        super().__init__()
        self.buffers: dict[str, Buffer] = {}
        self.launches: list[Launch] = []
        self._names: dict[int, str] = {}

    def launch(self, artifact: Artifact, calls: Sequence[Call], stream: int) -> None:
        for call in calls:
            args = tuple(self._argument(a) for a in call.args)
            self.launches.append(Launch(artifact.ptx, call.name, call.grid, call.block, args, shared=call.shared))
        super().launch(artifact, calls, stream)

    def _argument(self, value: int) -> At | int:
        found = self.memory.find(value)
        if found is None:
            return value
        name = self._names.get(found.address)
        if name is None:
            name = self._names[found.address] = found.name if found.name not in self.buffers else f"{found.name} again"
            unwritten = not found.read_only and (found.name.startswith("result") or (found.buffer == POISON).all())
            held = nothing(found.size) if unwritten else values(found.buffer.copy())
            self.buffers[name] = held
        return At(name, value - found.address)


@contextmanager
def _recording() -> Any:
    """Replaces the emulator, and the GPU if there is one, by a recorder."""
    made = emulator_backend._made
    before, made.backend = made.backend, Recorder()
    default, select._default = select._default, lambda: made.backend
    try:
        yield made.backend
    finally:
        made.backend, select._default = before, default


def record(name: str, call: Callable[[], Any]) -> Scene:
    """The launches of a call of warpfold's."""
    with _recording() as recorder:
        call()
    return Scene(name, recorder.buffers, tuple(recorder.launches))


def numbers(shape: tuple[int, ...], kind: Any = "float32") -> np.ndarray:
    """Small numbers, the same on every machine, aligned like allocations of a GPU."""
    n = int(np.prod(shape))
    raw = np.zeros(n * np.dtype(kind).itemsize + 256, np.uint8)
    at = -raw.ctypes.data % 256
    out = raw[at : at + n * np.dtype(kind).itemsize].view(kind)
    out[:] = np.arange(n) * 7 % 11
    return out.reshape(shape)


@wf.program
def _twice(x: Any) -> Any:
    """A program with two folds of a row, the second of what follows from the first."""
    y = wf.exp(x - wf.max(x, axis=-1, keepdims=True))
    return y / wf.sum(y * y, axis=-1, keepdims=True)


_OFFSETS = [0, 3, 3, 900, 2500, 2501, 4000]
_SECTIONS = wf.vjp(lambda x, w, b: wf.group_norm(x, 2, w, b))
_CHUNKS = "resident=l2,vector=1,warps=2,held=2"
_STRIPS = "resident=l2,fast=kept,warps=2,held=2"
_TEAMS = "resident=grid,persistent=1,fast=kept,vector=4,lanes=4,warps=2,held=1,unroll=1"
"""Three teams of 40 CTAs take four tiles."""
_GRID = "resident=grid,warps=2,held=1,in_registers=1,unroll=1"


CALLS: dict[str, Callable[[], Any]] = {
    "row sum": lambda: wf.sum(numbers((5, 1003)), axis=1, plan="lanes=32,warps=4,warps_kept=1,finish=cta"),
    "last block": lambda: wf.sum(numbers((40_000,)), plan="cluster=1,warps=4,finish=last_block"),
    "kept last block": lambda: wf.sum(numbers((600, 40)), axis=0, plan="finish=last_block"),
    "kept columns": lambda: wf.max(numbers((77, 300), "float64"), axis=0, plan="finish=cta"),
    "two kernels": lambda: wf.sum(numbers((40_000,)), plan="cluster=1,warps=4,finish=two_kernels"),
    "cluster": lambda: wf.sum(numbers((40_000,)), plan="cluster=8,warps=4,finish=cta,arrivals=barrier"),
    "clusters of columns": lambda: wf.max(numbers((600, 40)), axis=0, plan="cluster=4,warps=4,finish=last_block"),
    "states of a cluster": lambda: _twice(numbers((2, 600)), plan="resident=shared,cluster=2,warps=2"),
    "state of a cluster": lambda: wf.sum(numbers((9_000,)), plan="cluster=4,warps=2,finish=cta"),
    "atomic": lambda: wf.sum(numbers((40_000,), "int32"), plan="cluster=1,warps=4,finish=atomic"),
    "argmax": lambda: wf.argmax(numbers((3, 2000), "f8"), axis=1, plan="lanes=32,warps=4,warps_kept=1,finish=cta"),
    "variance": lambda: wf.var(numbers((6, 700), "float64"), axis=1, plan="lanes=32,warps=2,warps_kept=1,finish=cta"),
    "any": lambda: wf.any(numbers((4, 3000), "bool"), axis=1, plan="lanes=32,warps=4,warps_kept=1,finish=cta"),
    "whole maximum": lambda: wf.max(
        numbers((3, 3000), "int32"), axis=1, plan="lanes=32,warps=4,warps_kept=1,finish=cta"
    ),
    "short rows": lambda: wf.sum(numbers((100, 6)), axis=1),
    "copied rows": lambda: wf.sum(numbers((100, 7)), axis=1, plan=_TILE),
    "ragged rows": lambda: wf.segment_reduce(numbers((4000,)), _OFFSETS, "sum"),
    "chunks": lambda: wf.softmax(numbers((5, 1024)), axis=1, plan=_CHUNKS),
    "side folds": lambda: wf.vjp(wf.rms_norm)(
        numbers((20, 256)), numbers((20, 256)), numbers((256,)), plan="persistent=1,warps=2,warps_kept=1,vector=4"
    ),
    "sections of rows": lambda: _SECTIONS(*(numbers(s) for s in ((2, 4, 8, 8), (2, 4, 8, 8), (4,), (4,)))),
    "rows of the grid": lambda: wf.softmax(numbers((40, 901)), axis=1, plan=f"{_GRID},vector=1"),
    "exchanged block": lambda: wf.maximum(numbers((67, 70)).T, numbers((70, 67))),
    "exchanged halves": lambda: wf.maximum(numbers((131, 67), "float16").T, numbers((67, 131), "float16")),
    "exchanged bits": lambda: wf.relu(numbers((72, 131), "float16").T, keep="bits"),
    "teams of the grid": lambda: wf.softmax(numbers((320, 100)), axis=0, plan=_TEAMS),
    "counts": lambda: wf.histogram(numbers((40_000,)), 100, (-2, 2)),
    "scan": lambda: wf.cumulative_sum(numbers((2, 2000)), axis=1, plan="vector=1,warps=2,held=1"),
    "scan with roles": lambda: wf.cumulative_sum(numbers((6000,)), plan="persistent=1,warps=8,held=1"),
    "scan of columns": lambda: wf.cumulative_sum(numbers((90, 40), "f8"), axis=0, plan="warps=2,held=2"),
    "parts of columns": lambda: wf.cumulative_sum(numbers((70, 13)), axis=0, plan=_PARTS),
    "strips of columns": lambda: wf.softmax(numbers((320, 40)), axis=0, plan=f"{_STRIPS},vector=4,lanes=8"),
}


def catalogued(case: Case) -> Callable[[], Any]:
    """A call of the kernel of a catalogue case, at a size that the emulator runs quickly."""
    ready = api.plan_for(case.what, case.shape, case.dtype, axis=case.axis, plan=case.plan)
    plan = ",".join(f"{key}={value}" for key, value in ready.choice.plan.to_dict().items() if key != "tree")
    axes = range(len(case.shape)) if case.axis is None else np.atleast_1d(case.axis) % len(case.shape)
    most = {1: (9000, 0), 2: (600, 40)}.get(len(case.shape), (14, 14))
    shape = tuple(_smaller(n, most[k not in axes]) for k, n in enumerate(case.shape))
    x = numbers(shape, dtype(case.dtype).numpy)
    return lambda: wf.reduce(x, what=case.what, axis=case.axis, plan=plan)


def _smaller(n: int, most: int) -> int:
    """A size near ``most`` with the same remainder modulo 16 as ``n``, so that rows keep their alignment."""
    return n if n <= most else -(-most // 16) * 16 + n % 16


def rung(name: str) -> Callable[[], Any]:
    """A call of the kernel that a rung of the ladder names."""
    return lambda: wf.sum(numbers((5003,)), plan=name, determinism="none")


_LAYOUTS: tuple[tuple[tuple[int, ...], int | tuple[int, ...] | None], ...] = (
    ((1,), None), ((17,), None), ((37, 5), 1), ((20, 65), 1), ((3, 5000), 1), ((1, 20_000), 1), ((70, 3), 0),
    ((300, 7), 0), ((500, 33), 0), ((1000, 1), 0), ((5, 6, 7), (0, 2)), ((9, 13, 11), 1), ((2, 3, 4, 5), (1, 3)),
)  # fmt: skip
_OPS = ("sum float32", "argmax float32", "var float64", "any bool", "mean float16", "max int8", "prod int64")
_PARTS = "fast=kept,vector=1,lanes=4,warps=1,warps_kept=2,held=3,tile_bytes=1024,persistent=1"
_TILE = "tile_bytes=1024,lanes=2,warps_kept=2"
_COLUMNS, _LINE = numbers((50, 60)), numbers((1001,))
_STAGGERED = "walk=staggered,warps=4,unroll=2"


def _reduced(op: str, shape: tuple[int, ...], axis: Any) -> Callable[[], Any]:
    what, kind = op.split()
    return lambda: wf.reduce(numbers(shape, kind), what=what, axis=axis)


OTHERS: dict[str, Callable[[], Any]] = {
    f"{op} of {shape} over {axis}": _reduced(op, shape, axis)
    for k, (shape, axis) in enumerate(_LAYOUTS)
    for op in (_OPS[k % len(_OPS)], _OPS[(k + 3) % len(_OPS)])
} | {
    "unaligned": lambda: wf.sum(_LINE[1:]),
    "strided": lambda: wf.sum(_LINE[::3]),
    "reversed": lambda: wf.argmax(_LINE[::-1]),
    "transposed": lambda: wf.sum(_COLUMNS.T, axis=1),
    "expanded elements": lambda: wf.var(np.broadcast_to(numbers((9, 1, 300)), (9, 5, 300)), axis=(1, 2)),
    "expanded results": lambda: wf.sum(np.broadcast_to(numbers((9, 1, 6000)), (9, 50, 6000)), axis=2),
    "staggered warps": lambda: wf.sum(numbers((70, 263)), axis=0, plan=f"{_STAGGERED},vector=4,finish=cta"),
    "staggered warps of many CTAs": lambda: wf.argmax(
        numbers((90, 263), "float16"), axis=0, plan=f"{_STAGGERED},vector=4,coarsening=2,finish=last_block"
    ),
    "masked": lambda: wf.sum(_COLUMNS, axis=1, where=_COLUMNS > 3),
    "NaN ignored": lambda: wf.max(_COLUMNS, axis=0, nan="ignore"),
    "NaN refused": lambda: wf.sum(_COLUMNS, axis=0, nan="raise"),
    "several at once": lambda: wf.reduce(_COLUMNS, what=("sum", "max", "argmin"), axis=1),
    "portable": lambda: wf.sum(numbers((20_000,)), determinism="portable"),
    "in any order": lambda: wf.sum(numbers((20_000,)), determinism="none"),
    "copied rows of words": lambda: wf.max(numbers((90, 37), "int8")[1:], axis=1, plan=f"{_TILE},vector=4"),
    "copied halves": lambda: wf.sum(numbers((90, 37), "float16")[1:], axis=1, plan=f"{_TILE},vector=2"),
    "copied rows and masks": lambda: wf.sum(_COLUMNS[:, 1:], axis=1, where=_COLUMNS[:, 1:] > 3, plan=_TILE),
    "copied middle axes": lambda: wf.argmax(numbers((31, 5, 7)), axis=1, plan=_TILE),
    "copied large elements": lambda: wf.var(numbers((31, 13), "float64"), axis=1, plan=_TILE),
    "copied rows with gaps": lambda: wf.sum(numbers((40, 9), "int8")[:, 1:8], axis=1, plan=_TILE),
    "copied rows of nothing": lambda: wf.sum(_COLUMNS[:, 3:3], axis=1, plan=_TILE),
    "a copied row": lambda: wf.sum(_LINE[1:200], plan=_TILE),
    "short segments": lambda: wf.segment_reduce(_LINE, list(range(0, 1001, 10)), "argmax"),
    "one segment": lambda: wf.segment_reduce(_LINE, [0, 1001], "max"),
    "cut chunks": lambda: wf.softmax(numbers((5, 1003)), axis=1, plan=_CHUNKS),
    "shifted chunks": lambda: wf.softmax(numbers((5, 1003)), axis=1, plan="resident=l2,vector=4,warps=2,held=2"),
    "shifted rows of the grid": lambda: wf.softmax(numbers((40, 901)), axis=1, plan=f"{_GRID},vector=4"),
    "strips of odd columns": lambda: wf.layer_norm(
        numbers((301, 41)), numbers((301,)), numbers((301,)), axis=0, plan=f"{_STRIPS},vector=1,lanes=4"
    ),
}
"""Calls for every class of plan and every way in which arrays are read."""

CALLS |= {f"ladder's {r.name}": rung(r.name) for r in RUNGS}


@cache
def scene(name: str) -> Scene:
    """The scene of one of ``CALLS``."""
    return record(name, CALLS[name])
