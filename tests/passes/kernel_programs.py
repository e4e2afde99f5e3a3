"""Kernel programs that read their rows again, built from graph nodes, and run on the emulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from warpfold.compiler.driver.compile import compile_program
from warpfold.compiler.dtypes import F32, DType
from warpfold.compiler.plan.fields import Determinism
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.layouts.factored import launched
from warpfold.compiler.planner.task import Choice, Task
from warpfold.compiler.program import functions
from warpfold.compiler.program.fold import Scope, _reduced
from warpfold.compiler.program.graph import ELEMENT, REDUCED, SCALAR, Expr, Program, Space
from warpfold.compiler.program.library import monoids
from warpfold.compiler.program.symbols import Sym
from warpfold.compiler.program.values import cast
from warpfold.compiler.space.geometry import Dim, Geometry
from warpfold.compiler.target import DEFAULT, Target
from warpfold.passes import steps
from warpfold.runtime.arrays.conversion import view
from warpfold.runtime.backends.emulator_backend import EmulatorBackend
from warpfold.runtime.backends.kernel_calls import calls, scratch

GUARD = 99.0
"""What lies around an array."""


def placed(rows: int, columns: int, pitch: int, begin: int, dtype: Any) -> tuple[Any, Any]:
    """An array that begins ``begin`` elements after a boundary, with rows ``pitch`` apart; and the memory around it."""
    memory = np.full(64 + rows * pitch + 64, GUARD, dtype)
    first = (-memory.ctypes.data // memory.itemsize) % 16 + 16 + begin
    return memory[first : first + rows * pitch].reshape(rows, pitch)[:, :columns], memory


def untouched_around(x: Any, memory: Any) -> bool:
    """Whether the memory around the elements of an array is as ``placed`` left it."""
    around = memory.copy()
    start = (x.ctypes.data - memory.ctypes.data) // memory.itemsize
    np.lib.stride_tricks.as_strided(around[start:], x.shape, x.strides)[:] = GUARD
    return bool((around == GUARD).all())


def operand(number: int, t: DType = F32, space: Space = ELEMENT) -> Sym:
    """The elements of an input, in f32."""
    return cast(Sym(Expr("input", (), t, space, number)), F32)


def total(x: Sym) -> Sym:
    return _reduced(monoids.SUM.typed(F32), [x], Scope(), None)[0]


def greatest(x: Sym) -> Sym:
    return _reduced(monoids.MAX.typed(F32), [x], Scope(), None)[0]


def count() -> Sym:
    return cast(Sym(Expr("count", (), F32, SCALAR)), F32)


def softmax(t: DType = F32) -> Program:
    """exp(x - max) / sum: two folds and a use."""
    x = operand(0, t)
    e = functions.exp(x - greatest(x))
    return Program("softmax", (t,), (cast(e / total(e), t).expr,))


def layer_norm(t: DType = F32, weights: Space = REDUCED) -> Program:
    """With a weight and a bias along the row, or one of each row; the mean is a result of each row."""
    x, w, b = operand(0, t), operand(1, F32, weights), operand(2, F32, weights)
    mean = total(x) / count()
    d = x - mean
    y = d * functions.rsqrt(total(d * d) / count() + 1e-5) * w + b
    return Program("layer_norm", (t, F32, F32), (cast(y, t).expr, mean.expr))


def three_phases() -> Program:
    """Three folds, each of which needs the one before it, and an array that only the results read."""
    x, z = operand(0), operand(1)
    far = functions.maximum(x - greatest(x), -1.0)
    mean = total(far) / count()
    return Program("three", (F32, F32), ((far - mean + z).expr, total((far - mean) * (far - mean)).expr))


def scaled(kept: Space) -> Program:
    """A program without a fold: x * w + k, with w along the row and k along another space."""
    x, w, k = operand(0), operand(1, F32, REDUCED), operand(2, F32, kept)
    return Program("scaled", (F32, F32, F32), ((x * w + k).expr,))


def task_of(
    program: Program, arrays: Sequence[Any], kept: Sequence[int], target: Target = DEFAULT,
    determinism: Determinism = "run",
) -> Task:  # fmt: skip
    """The planner's question for arrays of one rank; those of size 1 along an axis are broadcast."""
    full = np.broadcast_shapes(*(a.shape for a in arrays))

    def dims(axes: Sequence[int]) -> tuple[Dim, ...]:
        strides = [[0 if a.shape[i] == 1 else a.strides[i] // a.itemsize for a in arrays] for i in range(len(full))]
        return tuple(Dim(full[i], tuple(strides[i])) for i in axes if full[i] != 1)

    reduced = [i for i in range(len(full)) if i not in kept]
    geometry = Geometry(dims(kept), dims(reduced), (0,) * len(arrays))
    return Task(program, geometry, tuple(a.ctypes.data for a in arrays), target, target.sms, determinism)


def _shared(backend: EmulatorBackend, pointers: Sequence[int], i: int, arrays: Sequence[Any]) -> int:
    """The address of an array; one that is an input and a result has one address, as on a GPU."""
    last = max(k for k, a in enumerate(arrays) if a is arrays[i])
    if i < last:
        allocation = backend.memory.find(pointers[last])
        assert allocation is not None
        allocation.initialised = True
    return pointers[last]


def run(
    program: Program, inputs: Sequence[Any], outputs: Sequence[Any], kept: Sequence[int] = (0,), plan: str = "",
    tool: Any = None, determinism: Determinism = "run", change: Callable[[str], str] | None = None,
) -> Choice:  # fmt: skip
    """Runs a kernel program into ``outputs``, and returns what the planner chose; ``change`` edits its PTX."""
    arrays = [*inputs, *outputs]
    task = task_of(program, arrays, kept, determinism=determinism)
    choice = choose(task, plan)
    artifact = compile_program(program, choice.facts, choice.plan, DEFAULT, steps(DEFAULT))
    artifact = artifact if change is None else replace(artifact, ptx=change(artifact.ptx))
    backend = EmulatorBackend()
    backend.tool = tool
    pointers = [backend.bind(view(a), write=i >= len(inputs), stream=0) for i, a in enumerate(arrays)]
    pointers = [_shared(backend, pointers, i, arrays) for i in range(len(arrays))]
    geometry = launched(task, choice.plan)
    layout = scratch(artifact, geometry, choice.run)
    space = backend.workspace(layout.nbytes, layout.counters, 0)
    count = task.geometry.count
    backend.launch(artifact, calls(artifact, geometry, choice.run, pointers, space, layout, count=count), 0)
    backend.finish([view(a) for a in arrays], 0)
    return choice
