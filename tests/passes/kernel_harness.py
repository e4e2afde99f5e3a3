"""Compiles kernels through all passes and runs their PTX in the emulator; the launch recipe is written out again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from warpfold.compiler import geometry as g
from warpfold.compiler import planner
from warpfold.compiler.abi import partial_geometry, value
from warpfold.compiler.artifact import Artifact
from warpfold.compiler.driver import compile_program, session
from warpfold.compiler.graph import Program
from warpfold.compiler.mlir import gpu, ir
from warpfold.compiler.pipeline import run as run_steps
from warpfold.compiler.plan import launch as plan_launch
from warpfold.compiler.programs import program
from warpfold.compiler.target import DEFAULT
from warpfold.passes import steps
from warpfold.runtime.emulator import Memory, launch, parse


def compile_text(text: str) -> Any:
    """The emulator's module of a ``gpu.module`` with stage ops."""
    with session():
        module = ir.Module.parse(text)
        run_steps(steps(DEFAULT), module)
        binary = next(o for o in module.body.operations if o.operation.name == "gpu.binary")
        ptx = gpu.ObjectAttr(ir.ArrayAttr(binary.operation.attributes["objects"])[0]).object
        return parse(ptx.decode().rstrip("\0"))


def put(memory: Memory, array: Any) -> int:
    """The address of a copy of ``array``."""
    raw = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
    address = memory.allocate(max(1, raw.size))
    memory.view(address, raw.size)[:] = raw
    return address


def get(memory: Memory, address: int, shape: Sequence[int], dtype: Any) -> Any:
    """The array at ``address``."""
    count = int(np.prod(shape, dtype=np.int64))
    return memory.view(address, count * np.dtype(dtype).itemsize).view(dtype).reshape(shape).copy()


def run_text(
    module: Any, entry: str, inputs: Sequence[Any], outputs: Sequence[Any], grid: Any, threads: int
) -> list[Any]:
    """Runs a kernel on the addresses of ``inputs``, then of copies of ``outputs``; gives the latter."""
    memory = Memory()
    addresses = [put(memory, a) for a in (*inputs, *outputs)]
    launch(module, entry, grid, (threads, 1, 1), addresses, memory)
    return [get(memory, a, o.shape, o.dtype) for a, o in zip(addresses[len(inputs) :], outputs, strict=True)]


@dataclass
class Outcome:
    """What a run gave: the result arrays, and the plan and launch that were used."""

    results: list[Any]
    choice: planner.Choice


@cache
def _compiled(traced: Program, facts: Any, plan: Any) -> tuple[Artifact, Any]:
    artifact = compile_program(traced, facts, plan, DEFAULT, steps(DEFAULT))
    return artifact, parse(artifact.ptx)


def reduce_array(
    function: Callable[..., Any],
    types: tuple[Any, ...],
    x: Any,
    axis: Any,
    options: str = "",
    *,
    dtypes: Sequence[Any],
    wide: bool = False,
) -> Outcome:
    """Plans, compiles and runs ``function`` over ``axis`` of ``x``: results of ``dtypes``; ``wide`` for i64 indices."""
    traced = program(function, types)
    axes = g.normalize_axes(axis, x.ndim)
    kept_shape = [n for i, n in enumerate(x.shape) if i not in axes]
    memory = Memory()
    source = put(memory, x)
    outs = [put(memory, np.zeros(kept_shape, d)) for d in dtypes]
    strides = [s // x.itemsize for s in x.strides]
    own = [int(np.prod(kept_shape[i + 1 :], dtype=np.int64)) for i in range(len(kept_shape))]
    reduction: Any = traced.reduces[0].value
    geometry = g.collapse(
        x.shape, axes, [strides], [own] * len(outs), ordered=not reduction.commutative, indexed=traced.uses_index
    )
    choice = planner.choose(planner.Task(traced, geometry, (source, *outs), DEFAULT, 4), options)
    if wide:
        choice.facts = replace(choice.facts, index_bits=64)
    artifact, module = _compiled(traced, choice.facts, choice.plan)
    split, n_kept = choice.run.split, geometry.n_kept
    partials = [memory.allocate(max(1, split * n_kept * t.itemsize)) for t in artifact.state]
    counter = put(memory, np.zeros(choice.run.tiles, np.uint32))
    for k in artifact.kernels:
        here, run = geometry, choice.run
        pointers = {"input": [source], "output": outs, "partial": partials, "counter": [counter]}
        if k.role != "main":
            cells = 1 if choice.plan.finish == "atomic" else split
            here = partial_geometry(_outputs_only(geometry), len(partials), cells if k.role == "second" else 0)
            run = plan_launch(k.plan, n_kept, here.n_reduced)
            pointers["input"] = partials
            if k.role == "init":
                pointers["output"] = partials
                here = partial_geometry(_partials_only(geometry, len(partials)), len(partials), 0)
        args = [
            pointers[p.role][p.operand] if p.role in pointers else value(p, here, run, geometry.n_reduced)
            for p in k.params
        ]
        launch(module, k.name, (run.tiles, run.split, 1), (k.plan.threads, 1, 1), args, memory)
    assert not get(memory, counter, (choice.run.tiles,), np.uint32).any(), "the counters must be zero again"
    return Outcome([get(memory, o, kept_shape, d) for o, d in zip(outs, dtypes, strict=True)], choice)


def _outputs_only(geometry: g.Geometry) -> g.Geometry:
    """The geometry of the outputs alone."""
    kept = tuple(g.Dim(d.size, d.strides[1:]) for d in geometry.kept)
    return g.Geometry(kept, (), geometry.offsets[1:])


def _partials_only(geometry: g.Geometry, states: int) -> g.Geometry:
    """The geometry of the cells of an atomic finish: one a result, in order."""
    strides = [
        int(np.prod([d.size for d in geometry.kept[i + 1 :]], dtype=np.int64)) for i in range(len(geometry.kept))
    ]
    kept = tuple(g.Dim(d.size, (s,) * states) for d, s in zip(geometry.kept, strides, strict=True))
    return g.Geometry(kept, (), (0,) * states)
