"""Launches: checks the entry, its arguments and its shape, then runs the CTAs in batches."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, TextIO

import numpy as np

from ....compiler.errors import WarpfoldError, error
from ....compiler.lazy import lazy
from ....compiler.target import DEFAULT
from ..instructions.driver_functions import define
from ..ptx.demangle import demangle
from ..ptx.limits import LOCAL, PARAMETERS, too_large
from ..ptx.limits import memory as machine_memory
from ..ptx.module import Function, Module
from ..ptx.origins import Origins
from ..ptx.parser import read_module
from ..ptx.regions import align_up
from ..ptx.types import STORAGE, WIDTH, Array, Instruction, Variable
from ..tool import Tool, in_turn
from .address_map import POISON
from .machine import Machine
from .memory import Memory, StoreBuffer
from .printing import Printed
from .program import Program
from .schedule import Lockstep, Schedule, Seeded, may_wait

LOCAL_BYTES = 1 << 28
"""The most bytes of local memory that the threads of a batch have together."""
TOGETHER = 1 << 16
"""The most threads of a batch whose CTAs do not wait for others: its registers then stay in a processor's cache."""
_PTX_LINE = re.compile(r"PTX line (\d{1,9}): ")
_WORKSPACE = 64  # bytes
_WATCHED = 64
"""The bytes that tools keep for each CTA, as an estimate."""
DEFAULT_STEPS = 1 << 22
LARGEST_GRID = (2**31 - 1, 65535, 65535)
LARGEST_BLOCK = (1024, 1024, 64)
MAX_THREADS = 1024
MAX_SHARED = 227 * 1024
Argument = int | float | bytes


@dataclass
class LaunchStats:
    """Counts of a launch: instructions summed over threads, threads, CTAs, and blocks run by sets of threads."""

    instructions: int = 0
    threads: int = 0
    ctas: int = 0
    steps: int = 0


@lru_cache(maxsize=512)
def parse(text: str) -> Module:
    """The module of a PTX text. All its kernels are built here, so an unknown instruction raises here."""
    try:
        module = read_module(text)
        define(module)
        return _built(module)
    except WarpfoldError as e:
        if e.location is None and (match := _PTX_LINE.match(e.message)):
            e.locate(Origins(text.split("\n")).at(int(match[1])))
        raise


def _built(module: Module) -> Module:
    for function in module.functions.values():
        if function.entry:
            try:
                module.programs[function.name] = Program(module, function)
            except WarpfoldError as e:
                if e.code != "WF724":
                    raise
                module.refused[function.name] = e
    return module


class Launch:
    """One launch: what the machines of its batches share.

    ``tool`` is told of every event. Under a seeded schedule, ``store_buffer`` is a part of it.
    """

    def __init__(
        self,
        program: Program,
        shape: tuple[tuple[int, int, int], tuple[int, int, int], tuple[int, int, int]],
        args: Sequence[Argument],
        memory: Memory,
        shared_bytes: int,
        max_steps: int | None,
        tool: Tool | None = None,
        seed: int | None = None,
    ) -> None:
        self.schedule: Schedule = Lockstep() if seed is None else Seeded(seed)
        self.store_buffer = StoreBuffer(self.schedule.random) if isinstance(self.schedule, Seeded) else None
        self.tool = (
            in_turn(self.store_buffer, tool)
            if self.store_buffer is not None and tool is not None
            else self.store_buffer or tool
        )
        self.program, self.memory = program.stepwise if self.schedule.stepwise else program, memory
        if tool is not None and tool.single:
            self.program = program.single
        self.grid, self.block, self.cluster = shape
        self.threads, self.cluster_size = prod(self.block), prod(self.cluster)
        self.dynamic_shared = shared_bytes
        self.shared_size = program.flat.shared.size + shared_bytes
        self.shared_stride = align_up(self.shared_size, 32)
        self.local_stride = align_up(program.flat.local.size, 32)
        self.max_steps = DEFAULT_STEPS if max_steps is None else max_steps
        self.printed = Printed()
        self.stats = LaunchStats(threads=prod(self.grid) * self.threads, ctas=prod(self.grid))
        _check_shape(self)
        raw = _pack(program.kernel, program, args)
        self.param_size = len(raw)
        self._params = np.frombuffer(raw.ljust(align_up(max(len(raw), 1), 32), bytes([POISON])), np.uint8)
        self._symbols = memory.modules.setdefault(program.module, {})

    def run(self) -> LaunchStats:
        """Runs all CTAs in batches of those that are resident together; clusters stay together."""
        total, per = prod(self.grid), self._resident()
        if self.tool is not None:
            self.tool.launch(self)
        with np.errstate(all="ignore"):
            for first in range(0, total, per):
                Machine(self, first, min(per, total - first)).run()
        if "workspace" in vars(self):
            self.memory.free(self.workspace)
        if self.tool is not None:
            self.tool.finish(self)
        return self.stats

    @lazy
    def workspace(self) -> int:
        """The address of the grid barrier's memory in a cooperative launch, as cooperative groups expect it."""
        address = self.memory.allocate(_WORKSPACE, name="grid workspace", initialised=True)
        self.memory.view(address, _WORKSPACE)[:] = 0
        return address

    def _resident(self) -> int:
        """The CTAs of a batch: as many as fit the SMs, and the limit of local memory; fewer where that is the same."""
        threads = align_up(self.threads, 32)
        per_sm = DEFAULT.occupancy(self.threads, self.shared_size).ctas
        most = min(per_sm * DEFAULT.sms, LOCAL_BYTES // max(1, self.local_stride * threads))
        few = TOGETHER // threads
        if self.tool is None and few < min(most, self.stats.ctas) and not may_wait(self.program):
            most = few
        return max(most // self.cluster_size, 1) * self.cluster_size

    def param_view(self, dtype: np.dtype[Any]) -> Array:
        """The parameters as an array of ``dtype``."""
        return self._params.view(dtype)

    def zero(self, index: int) -> Array:
        """The value of a register that has never been written."""
        register = self.program.types.get(index, "b32")
        return np.zeros(1, STORAGE[WIDTH[register]])

    def symbol(self, variable: Variable, offset: int, dtype: np.dtype[Any]) -> Array:
        """The address of a module-level variable in this memory, in which it is allocated on first use."""
        found = self._symbols.get(variable)
        if found is None:
            data = _zeros(variable.name, variable.size)
            data[: len(variable.init or b"")] = np.frombuffer(variable.init or b"", np.uint8)
            found = self.memory.place(variable, data, variable.align, variable.space == "const")
            self._symbols[variable] = found
        return np.array([(found.address + offset) % (1 << 64)], np.uint64).astype(dtype)

    def in_constant(self, addresses: Array) -> Array:
        """Which of ``addresses`` lie in a ``.const`` variable."""
        out = np.zeros(addresses.shape, bool)
        for found in self._symbols.values():
            if found.constant:
                out |= (addresses >= np.uint64(found.address)) & (addresses < np.uint64(found.end))
        return out

    def describe(self, space: str, address: int, size: int) -> str:
        """The position of ``address`` relative to the variables of shared, local or parameter memory, in words."""
        flat = self.program.flat
        region = {"shared": flat.shared, "local": flat.local, "param": flat.params}[space]
        near = region.nearest(address)
        side = f"{address - size} bytes past the end of the {size} bytes of {space} memory"
        if address < 0:
            side = f"{-address} bytes before the start of the {size} bytes of {space} memory"
        elif address < size:
            side = f"over the end of the {size} bytes of {space} memory"
        if near is None:
            return side
        variable, at = near
        return f"{side}; nearest variable {demangle(variable.name)!r} of {variable.size} bytes at {at:#x}"

    def located(self, code: str, ins: Instruction, machine: Machine, thread: int, **facts: object) -> WarpfoldError:
        """The error ``code`` with its PTX line and its CTA and thread; ``thread`` is a number within the batch."""
        number, within = divmod(thread, machine.per_cta)
        cta, own = self.coordinates(int(machine.order[number]), within)
        kernel, origins = demangle(self.program.kernel.name), self.program.module.source.origins
        place = f"kernel {kernel!r}, PTX line {ins.line}: '{ins.text}', CTA {cta}, thread {own}"
        return error(code, where=origins.at(ins.line), place=place, **facts)

    def coordinates(self, order: int, within: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The coordinates (x, y, z) of the CTA at position ``order`` in cluster order, and of its thread ``within``."""
        cluster, rank = divmod(order, self.cluster_size)
        clusters = [-(-g // c) for g, c in zip(self.grid, self.cluster, strict=True)]
        shapes = zip(_unravel(cluster, clusters), _unravel(rank, self.cluster), self.cluster, strict=True)
        return tuple(c * size + r for c, r, size in shapes), tuple(_unravel(within, self.block))


def _unravel(linear: int, shape: Sequence[int]) -> list[int]:
    out = []
    for size in shape:
        linear, rest = divmod(linear, size)
        out.append(rest)
    return out


def _zeros(name: str, size: int) -> Array:
    """Zeroed memory for a variable, aligned to 256 bytes."""
    refused = too_large(f"the variable {name!r}", size)
    if refused is not None:
        raise refused
    raw = np.zeros(size + 256, np.uint8)
    return raw[-raw.ctypes.data % 256 :][:size]


def _check_shape(launch: Launch) -> None:
    limits = launch.program.kernel.limits
    name = demangle(launch.program.kernel.name)
    for what, shape in (("grid", launch.grid), ("block", launch.block), ("cluster", launch.cluster)):
        sizes = list(shape)
        if len(sizes) != 3 or min(sizes) < 1:
            raise error("WF708", kernel=name, problem=f"expected a {what} of three positive sizes, got {shape}")
    if launch.threads > MAX_THREADS:
        raise error("WF708", kernel=name, problem=f"expected at most {MAX_THREADS} threads, got {launch.threads}")
    for what, shape, largest in (("grid", launch.grid, LARGEST_GRID), ("block", launch.block, LARGEST_BLOCK)):
        if any(n > limit for n, limit in zip(shape, largest, strict=True)):
            raise error("WF708", kernel=name, problem=f"expected a {what} of at most {largest}, got {shape}")
    most = limits.get("maxntid")
    if most is not None and launch.threads > prod(most):
        raise error("WF708", kernel=name, problem=f"expected at most {prod(most)} threads, got {launch.threads}")
    exact = limits.get("reqntid")
    if exact is not None and (*exact, 1, 1)[:3] != launch.block:
        raise error("WF708", kernel=name, problem=f"expected a block of {(*exact, 1, 1)[:3]}, got {launch.block}")
    cluster = limits.get("reqnctapercluster")
    if cluster is not None and (*cluster, 1, 1)[:3] != launch.cluster:
        problem = f"expected a cluster of {(*cluster, 1, 1)[:3]}, got {launch.cluster}"
        raise error("WF708", kernel=name, problem=problem)
    if any(g % c for g, c in zip(launch.grid, launch.cluster, strict=True)):
        problem = f"expected a grid that clusters of {launch.cluster} divide, got {launch.grid}"
        raise error("WF708", kernel=name, problem=problem)
    if launch.shared_size > MAX_SHARED or launch.dynamic_shared < 0:
        static = launch.program.flat.shared.size
        raise error("WF709", kernel=name, most=MAX_SHARED, static=static, dynamic=launch.dynamic_shared)

    _check_memory(launch)


def _check_memory(launch: Launch) -> None:
    flat, name = launch.program.flat, launch.program.kernel.name
    for what, most, size in (("parameters", PARAMETERS, flat.params.size), ("local memory", LOCAL, flat.local.size)):
        if size > most:
            raise error("WF725", kernel=name, what=what, most=most, size=size)
    if launch.tool is not None:
        refused = too_large(f"what a tool keeps of {launch.stats.ctas} CTAs", launch.stats.ctas * _WATCHED)
        if refused is not None:
            raise refused


def _pack(kernel: Function, program: Program, args: Sequence[Argument]) -> bytes:
    """The bytes of the parameters, each argument with the width of its parameter."""
    params = [p for p in kernel.params if isinstance(p, Variable)]
    if len(args) != len(params):
        raise error("WF706", kernel=demangle(kernel.name), expected=len(params), got=len(args))
    out = bytearray(program.flat.params.size)
    for k, (param, value) in enumerate(zip(params, args, strict=True)):
        at = program.flat.params.at[param]
        out[at : at + param.size] = _bytes_of(kernel, k, param, value)
    return bytes(out)


def _bytes_of(kernel: Function, k: int, param: Variable, value: object) -> bytes:
    kinds = {"f32": "<f", "f64": "<d", "f16": "<e"}
    if isinstance(value, bytes | bytearray | memoryview):
        if len(value) == param.size:
            return bytes(value)
        got = f"{len(value)} bytes"
    elif isinstance(value, float | np.floating):
        code = kinds.get(param.type) or {4: "<f", 8: "<d"}.get(param.size)
        if code is not None and param.type[0] not in "us":
            return struct.pack(code, float(np.float32(value)) if code == "<f" else float(value))
        got = f"the float {value!r}"
    elif isinstance(value, int | np.integer):
        if param.type in kinds:
            return struct.pack(kinds[param.type], float(value))
        if param.size in (1, 2, 4, 8, 16):
            return (int(value) & ((1 << 8 * param.size) - 1)).to_bytes(param.size, "little")
        got = f"the int {value!r}"
    else:
        got = f"a {type(value).__name__}"
    size = param.size
    raise error(
        "WF707", kernel=demangle(kernel.name), index=k, name=demangle(param.name), type=param.type, size=size, got=got
    )


def launch(
    module: Module,
    entry: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    args: Sequence[Argument],
    memory: Memory,
    *,
    shared_bytes: int = 0,
    cluster: tuple[int, int, int] | None = None,
    max_steps: int | None = None,
    tool: Tool | None = None,
    seed: int | None = None,
    out: TextIO | None = None,
) -> LaunchStats:
    """Runs kernel ``entry`` to its end.

    Args:
        module: the module that holds the kernel.
        entry: the name of the kernel.
        grid: the CTAs of the grid (x, y, z).
        block: the threads of a CTA (x, y, z).
        args: one value for each parameter. An int is wrapped to the width of its parameter, a float is rounded to it,
            and bytes are taken as they are.
        memory: the global memory.
        shared_bytes: the bytes of dynamic shared memory of each CTA.
        cluster: the CTAs of a cluster (x, y, z). None: the sizes that the kernel prescribes, or one CTA.
        max_steps: the number of steps (blocks run by sets of threads) after which an endless loop is assumed; 2**22 by
            default.
        tool: an instrument that watches the launch.
        seed: draws a schedule, always the same for the same seed, in which threads, CTAs and weak stores come in any
            order that the hardware allows. Without a seed the schedule is lockstep.
        out: where the kernel prints; standard output by default.

    Raises:
        EmulatorError: WF705 to WF709 and WF733 if the kernel cannot be launched; WF710 to WF717, and WF730 to WF732
            for a launch without end, if the kernel is at fault.
    """
    if entry in module.refused:
        raise module.refused[entry]
    program: Program | None = module.programs.get(entry)
    if program is None:
        raise error("WF705", entry=entry, known=", ".join(module.entries) or "no kernel")
    if cluster is None:
        x, y, z = (*program.kernel.limits.get("reqnctapercluster", ()), 1, 1, 1)[:3]
        cluster = x, y, z
    made = Launch(program, (grid, block, cluster), args, memory, shared_bytes, max_steps, tool, seed)
    try:
        return made.run()
    except MemoryError as e:
        raise error("WF726", what=f"kernel {entry!r}", needed="more", have=machine_memory()) from e
    finally:
        made.printed.show(out)
