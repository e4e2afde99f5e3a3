"""Compiles kernels through all passes and runs their PTX in the emulator, with a launch recipe of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from warpfold.compiler.driver.artifact import Artifact
from warpfold.compiler.driver.compile import compile_program, session
from warpfold.compiler.driver.pipeline import run as run_steps
from warpfold.compiler.dtypes import dtype
from warpfold.compiler.ir.build import before, find, from_memory, to_memory
from warpfold.compiler.ir.build import replace as replace_op
from warpfold.compiler.ir.elementwise import mlir_type
from warpfold.compiler.ir.emit import scalars
from warpfold.compiler.ir.mlir import gpu, ir
from warpfold.compiler.plan.abi import partial_geometry, value
from warpfold.compiler.plan.fields import Determinism
from warpfold.compiler.plan.launch import cells_of
from warpfold.compiler.plan.launch import launch as plan_launch
from warpfold.compiler.plan.rounds import second_plan
from warpfold.compiler.plan.shared_memory import global_states
from warpfold.compiler.planner import choose as planner
from warpfold.compiler.planner.task import Choice, Task
from warpfold.compiler.program.graph import SCALAR, Expr, Program
from warpfold.compiler.program.symbols import Sym
from warpfold.compiler.program.tracing import program
from warpfold.compiler.space import geometry as g
from warpfold.compiler.target import DEFAULT
from warpfold.passes import steps
from warpfold.runtime.emulator import Memory, launch, parse


def compile_text(text: str) -> Any:
    """The emulator's module of a ``gpu.module`` with stage ops."""
    return parse(ptx_of_text(text))


def ptx_of_text(text: str) -> str:
    """The PTX of a ``gpu.module`` with stage ops."""
    with session():
        return _to_ptx(ir.Module.parse(text))


def _to_ptx(module: Any) -> str:
    run_steps(steps(DEFAULT), module)
    binary = next(o for o in module.body.operations if o.operation.name == "gpu.binary")
    ptx = gpu.ObjectAttr(ir.ArrayAttr(binary.operation.attributes["objects"])[0]).object
    return str(ptx.decode().rstrip("\0"))


THREADS = 128


def elementwise(function: Callable[..., Any], *arrays: Any) -> Any:
    """``function`` of traced values, applied by a kernel to each element of arrays of one length."""
    types = tuple(dtype(a.dtype) for a in arrays)
    root = _traced(function, types)
    n = len(arrays[0])
    padded = [np.pad(a, (0, -n % THREADS), constant_values=1) for a in arrays]
    out = np.zeros(len(padded[0]), root.dtype.numpy)
    module = parse(_elementwise_ptx(root, types))
    (found,) = run_text(module, "k", padded, [out], (len(out) // THREADS, 1, 1), THREADS)
    return found[:n]


def elementwise_ptx(function: Callable[..., Any], *types: Any) -> str:
    """The PTX of the kernel that ``elementwise`` runs."""
    return _elementwise_ptx(_traced(function, types), types)


def _traced(function: Callable[..., Any], types: Sequence[Any]) -> Expr:
    return function(*(Sym(Expr("param", (), t, SCALAR, i)) for i, t in enumerate(types))).expr  # type: ignore[no-any-return]


def _elementwise_ptx(root: Expr, types: Sequence[Any]) -> str:
    with session():
        module = ir.Module.parse(_elementwise_text([str(mlir_type(t)) for t in types], str(mlir_type(root.dtype))))
        marker = find(module.operation, "builtin.unrealized_conversion_cast")[0]
        with before(marker):
            args = [from_memory(x, mlir_type(t)) for x, t in zip(marker.operands, types, strict=True)]
            replace_op(marker, [to_memory(x) for x in scalars([root], args)])
        return _to_ptx(module)


def _elementwise_text(inputs: Sequence[str], output: str) -> str:
    """A kernel in which a cast stands for the function; a truth value is a byte in memory."""
    held = ["i8" if t == "i1" else t for t in (*inputs, output)]
    loads = "".join(
        f"%p{i} = llvm.getelementptr %a{i}[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, {t}\n"
        f"%x{i} = llvm.load %p{i} : !llvm.ptr<1> -> {t}\n"
        for i, t in enumerate(held[:-1])
    )
    arguments = ", ".join(f"%a{i}: !llvm.ptr<1>" for i in range(len(held)))
    values = ", ".join(f"%x{i}" for i in range(len(inputs)))
    return f"""gpu.module @device {{
      gpu.func @k({arguments}) kernel attributes {{known_block_size = array<i32: {THREADS}, 1, 1>}} {{
        %tid = gpu.thread_id x
        %bid = gpu.block_id x
        %dim = gpu.block_dim x
        %first = arith.muli %bid, %dim : index
        %i = arith.addi %first, %tid : index
        %at = arith.index_cast %i : index to i32
        {loads}
        %y = builtin.unrealized_conversion_cast {values} : {", ".join(held[:-1])} to {held[-1]}
        %to = llvm.getelementptr %a{len(inputs)}[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, {held[-1]}
        llvm.store %y, %to : {held[-1]}, !llvm.ptr<1>
        gpu.return
      }}
    }}"""


def place(memory: Memory, array: Any, skew: int = 0, *, initialised: bool = True) -> tuple[int, Any]:
    """An allocation with the bytes of ``array``, ``skew`` bytes after a boundary of 256: its address, and its bytes."""
    raw = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
    room = np.empty(raw.size + skew + 256, np.uint8)
    at = -room.ctypes.data % 256 + skew
    own = room[at : at + raw.size]
    own[:] = raw
    return memory.bind(own, initialised=initialised), own


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
    """Runs a kernel on the addresses of ``inputs``, then of copies of ``outputs``; returns these copies."""
    memory = Memory()
    addresses = [put(memory, a) for a in (*inputs, *outputs)]
    launch(module, entry, grid, (threads, 1, 1), addresses, memory)
    return [get(memory, a, o.shape, o.dtype) for a, o in zip(addresses[len(inputs) :], outputs, strict=True)]


@dataclass
class Outcome:
    """The result arrays of a run, and its plan and launch."""

    results: list[Any]
    choice: Choice


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
    determinism: Determinism = "run",
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
    task = Task(traced, geometry, (source, *outs), DEFAULT, 4, determinism)
    choice = planner.choose(task, options)
    if wide:
        choice.facts = replace(choice.facts, index_bits=64)
    artifact, module = _compiled(traced, choice.facts, choice.plan)
    split, n_kept = choice.run.split, geometry.n_kept
    width, by_row = second_plan(choice.plan).vector_kept, choice.facts.by_row
    cells = cells_of(choice.plan, n_kept, choice.facts.row(geometry))
    partials = [memory.allocate(max(1, split * cells * t.itemsize)) for t in artifact.state]
    counter = put(memory, np.zeros(choice.run.tiles, np.uint32))
    for k in artifact.kernels:
        here, run = geometry, choice.run
        pointers = {"input": [source], "output": outs, "partial": partials, "counter": [counter]}
        if k.role != "main":
            states = 1 if choice.plan.finish == "atomic" else choice.plan.parts(split)
            parts = states if k.role == "second" else 0
            here = partial_geometry(_outputs_only(geometry), len(partials), parts, width, by_row=by_row)
            run = plan_launch(k.plan, n_kept, here.n_reduced)
            pointers["input"] = partials
            if k.role == "init":
                pointers["output"] = partials
                here = partial_geometry(_partials_only(geometry, len(partials)), len(partials), 0)
        exchanged = run.tiles * run.split * global_states(k.plan)
        pointers["exchange"] = [memory.allocate(max(1, exchanged * t.itemsize)) for t in artifact.state]
        here = here.padded(k.facts.kept_rank, k.facts.reduced_rank)
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
    """The geometry of the cells of an atomic finish: one for each result, in order."""
    strides = [
        int(np.prod([d.size for d in geometry.kept[i + 1 :]], dtype=np.int64)) for i in range(len(geometry.kept))
    ]
    kept = tuple(g.Dim(d.size, (s,) * states) for d, s in zip(geometry.kept, strides, strict=True))
    return g.Geometry(kept, (), (0,) * states)
