"""Runs OP or FILE.ptx on the emulator under a tool, for ``sanitize``, ``profile`` and ``run FILE.ptx``.

``watch(work, tool)`` makes the arrays, runs all launches under the tool, and returns the arrays by name. An OP runs on
a new backend, so its scratch memory is uninitialised: ``Allocation.initialised`` is false for ``partials`` and
``result 0``, true for ``input 0`` and ``counters``. An array of FILE.ptx has the name that the launch gives it, else
the name of its file or ``argument 0``; with ``=uninit`` it is uninitialised. All launches share their memory.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from ..compiler import files
from ..compiler.dtypes import DType, dtype
from ..compiler.errors import error
from ..runtime.calls.operands import Operands
from ..runtime.emulator.ptx.demangle import demangle
from . import run, terminal
from .checking import random_inputs
from .output_file import Output
from .requests import inputs, launch_syntax
from .requests.kernels import called, unknown
from .requests.launch_syntax import Again, Launching, Made, Raw, Scalar
from .requests.request import Array, Request

if TYPE_CHECKING:
    from ..runtime.emulator import Memory, Module, Tool
    from ..runtime.emulator.ptx.types import Variable

POINTER = 8
"""Bytes of a parameter that takes an array's address."""
DIGITS = 40
"""Greatest number of digits that an error shows of a number."""


@dataclass
class Work:
    """What runs under a tool, as given on the command line.

    Attributes:
        request: OP and the options of ``of_what``; its ``op`` may be the path of a ``.ptx`` file.
        launches: the texts of ``--launch`` in order, for a ``.ptx`` file.
        max_steps: the budget of each launch; None for the default of the emulator.
    """

    request: Request
    launches: tuple[str, ...] = ()
    max_steps: int | None = None

    def __post_init__(self) -> None:
        r = self.request
        given = {"--input": r.files, "--shape": r.shape, "--dtype": r.dtype, "--axis": r.axis_text, "--plan": r.plan,
                 "--param": r.param_texts}  # fmt: skip
        if not self.is_ptx:
            if self.launches:
                remedy = "write FILE.ptx in place of OP, or leave --launch out"
                raise error("WF827", problem=f"--launch is for a program, and {r.op} is none", remedy=remedy)
            return
        for option, value in given.items():
            if value:
                problem = f"{r.op} is a program, and takes no {option}"
                raise error("WF827", problem=problem, remedy="say it in --launch: kernel<<<...>>>(f32[1024])")
        if not self.launches:
            remedy = "add --launch 'kernel<<<grid, block>>>(arguments)', as often as kernels shall run"
            raise error("WF827", problem=f"{r.op} is a program, and no --launch says how to run it", remedy=remedy)

    @property
    def is_ptx(self) -> bool:
        """Whether a PTX file runs, rather than an operation."""
        return self.request.op.endswith(".ptx")


@dataclass
class Watched:
    """A finished run.

    Attributes:
        title: the run in words.
        elements: size of one input array of an OP, or of the largest array of a FILE.ptx.
        nbytes: bytes of an OP's inputs and results; None for a FILE.ptx, whose arrays may be either.
        arrays: the arrays by name after all launches; ``named`` are those that a launch names.
        outcome: plan and results of an OP; None for a FILE.ptx.
    """

    title: str
    elements: int
    nbytes: int | None
    arrays: dict[str, Array] = field(default_factory=dict)
    named: tuple[str, ...] = ()
    outcome: run.Outcome | None = None


def watch(work: Work, tool: Tool | None, *, json: bool = False) -> Watched:
    """Runs all launches under ``tool``.

    Output of kernels goes to standard output, or to standard error with ``json``.

    Raises:
        WarpfoldError: the request is wrong (WF8xx, WF5xx, WF70x), or a kernel fails (WF71x, WF72x).
    """
    return _program(work, tool, sys.stderr if json else None) if work.is_ptx else _operation(work, tool)


def show(work: Work, *, device: str, output: str | None, json: bool) -> None:
    """Runs the launches of a FILE.ptx, prints the arrays afterwards, and writes the one that ``output`` names.

    Raises:
        ArgumentError: WF827 for a device other than the emulator, WF828 for an output that names no array.
    """
    if device == "cuda":
        remedy = "leave --device out: launches run on the emulator"
        raise error("WF827", problem=f"{work.request.op} is a program, and does not run on cuda", remedy=remedy)
    name, _, path = (output or "").partition("=")
    target = Output(path) if path else None
    watched = watch(work, None, json=json)
    if output is not None and (target is None or name not in watched.named):
        raise error("WF828", text=output, known=" ".join(watched.named) or "none, since no array has a name")
    if target is not None:
        target.write(lambda f: np.save(f, watched.arrays[name], allow_pickle=False))
    if json:
        facts = {"title": watched.title, "arrays": [_plain(n, x) for n, x in watched.arrays.items()]}
        terminal.show(terminal.as_json(facts))
        return
    lines: list[tuple[str, object]] = [("run", work.request.op), *(("launch", text) for text in work.launches)]
    for key, x in watched.arrays.items():
        lines.append((key, f"{dtype(x.dtype).name}{list(x.shape)}"))
        lines.append(("", np.array2string(x, threshold=run.SMALL, edgeitems=3, max_line_width=100)))
    terminal.facts([*lines, *([("written", path)] if target is not None else [])])


def _plain(name: str, x: Array) -> dict[str, object]:
    """An array as plain values, for JSON; with its elements only if it is small."""
    small = x.size <= run.SMALL and x.dtype.kind in "fiub"
    return {"name": name, "dtype": dtype(x.dtype).name, "shape": list(x.shape), "value": x.tolist() if small else None}


def _operation(work: Work, tool: Tool | None) -> Watched:
    from ..runtime.backends.emulator_backend import EmulatorBackend

    request, backend = work.request, EmulatorBackend()
    backend.tool, backend.max_steps = tool, work.max_steps
    xs = [inputs.aligned(x) for x in request.arrays]
    arrays = _Aligned.of(xs, "emulator")
    arrays.backend = backend
    outcome = run.perform(request, arrays, keepdims=False)
    named = {f"input {i}": x for i, x in enumerate(xs)} | {f"result {i}": r for i, r in enumerate(outcome.results)}
    nbytes = sum(x.nbytes for x in named.values())
    return Watched(request.title(), prod(arrays.shape), nbytes, named, outcome=outcome)


class _Aligned(Operands):
    """Operands whose results are aligned as on a GPU, so that every run touches the same number of sectors."""

    def allocate(
        self, axes: tuple[int, ...], types: Sequence[DType], out: Any = None, keepdims: bool = False, checks: int = 0,
        order: tuple[int, ...] | None = None,
    ) -> None:  # fmt: skip
        """Makes the result arrays in C order, like the copies of the inputs."""
        shape = tuple(n for axis, n in enumerate(self.shape) if axis not in axes)
        out = tuple(inputs.empty(shape, t.numpy) for t in types) if out is None else out
        super().allocate(axes, types, out, keepdims, checks, order)


def _program(work: Work, tool: Tool | None, out: TextIO | None) -> Watched:
    from ..runtime.emulator import Memory, launch, parse

    launches = [launch_syntax.read(text) for text in work.launches]
    module = parse(_text(work.request.op))
    arena = _Arena(Memory(), np.random.default_rng(work.request.seed))
    calls = [_call(work.request.op, module, one, arena) for one in launches]
    for one, (kernel, values) in zip(launches, calls, strict=True):
        launch(
            module, kernel, one.grid, one.block, values, arena.memory,
            shared_bytes=one.shared, cluster=one.cluster, max_steps=work.max_steps, tool=tool, out=out,
        )  # fmt: skip
    title = "; ".join([work.request.op, *(one.text for one in launches)])
    most = max((x.size for x in arena.arrays.values()), default=0)
    return Watched(title, most, None, arena.arrays, tuple(arena.named))


def _text(path: str) -> str:
    """Reads a PTX file."""
    try:
        return files.read_text(path, "WF506")
    except UnicodeDecodeError as e:
        raise error("WF826", path=path, reason="it is no text in UTF-8") from e


@dataclass
class _Arena:
    """The arrays of all launches; random arrays are drawn in the order of the arguments."""

    memory: Memory
    rng: np.random.Generator
    arrays: dict[str, Array] = field(default_factory=dict)
    addresses: dict[str, int] = field(default_factory=dict)
    named: list[str] = field(default_factory=list)

    def make(self, one: Launching, made: Made, position: int) -> int:
        """The address of a new array."""
        if made.name in self.named:
            raise one.fail("WF824", made.at, problem=f"there is an array {made.name!r} already")
        name = made.name or self._free(made.fill if made.dtype is None else f"argument {position}")
        values = self._values(one, made)
        uninitialised = made.fill == "uninit"
        address = self.memory.allocate(values.nbytes, name=name, initialised=not uninitialised)
        held = self.memory.view(address, values.nbytes) if values.nbytes else np.zeros(0, np.uint8)
        if not uninitialised:
            held[:] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        self.arrays[name] = held.view(values.dtype).reshape(values.shape)
        self.addresses[name] = address
        self.named += [made.name] if made.name else []
        return address

    def again(self, one: Launching, wanted: Again) -> int:
        """The address of an array named before."""
        if wanted.name not in self.named:
            known = f"expected one of {' '.join(self.named)}" if self.named else "none has a name so far"
            raise one.fail("WF824", wanted.at, problem=f"there is no array {wanted.name!r}: {known}")
        return self.addresses[wanted.name]

    def _free(self, name: object) -> str:
        """``name``, with a number appended if an array has it."""
        taken = [n for n in self.arrays if n.partition(" #")[0] == str(name)]
        return f"{name} #{len(taken) + 1}" if taken else str(name)

    def _values(self, one: Launching, made: Made) -> Array:
        from ..runtime.arrays.conversion import load_npy

        if isinstance(made.fill, str) and made.fill not in launch_syntax.FILLS:
            found = load_npy(made.fill)
            if found.dtype.type is np.void and found.dtype.names is None:
                if made.dtype is None:
                    known = " or ".join(inputs.UNNAMED.values())
                    problem = f"{made.fill} does not name the type of its elements: write it before, as of {known}"
                    raise one.fail("WF825", made.at, problem=problem)
                found = inputs.typed(made.fill, found, made.dtype)
            problem = f"{made.fill} has {found.dtype} elements of shape {found.shape}"
            if made.dtype is not None and (found.dtype, found.shape) != (made.dtype.numpy, made.shape):
                raise one.fail("WF825", made.at, problem=problem)
            return found if found.dtype.isnative else found.astype(found.dtype.newbyteorder("="))
        assert made.dtype is not None
        assert made.shape is not None
        if len(made.shape) > inputs.MOST_SIZES:
            problem = f"it has {len(made.shape)} dims, and may have {inputs.MOST_SIZES}"
            raise one.fail("WF825", made.at, problem=problem)
        _fits_memory(one, made, random_inputs.elements(made.shape) * made.dtype.itemsize)
        return _filled(one, made, made.dtype, made.shape, self.rng)


def _fits_memory(one: Launching, made: Made, needed: int) -> None:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > memory:
        raise one.fail("WF825", made.at, problem=f"it takes {needed} bytes, this machine has {memory}")


def _filled(one: Launching, made: Made, t: DType, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """The elements of an array that is not read from a file."""
    if made.fill is None:
        return random_inputs.random(rng, shape, t)
    if made.fill == "uninit":
        return np.empty(shape, t.numpy)
    if made.fill == "arange":
        return np.arange(prod(shape)).astype(t.numpy).reshape(shape)
    assert not isinstance(made.fill, str)
    if not _is_value(t, made.fill):
        raise one.fail("WF825", made.at, problem=f"{t} has no value {_short(made.fill)}")
    return np.full(shape, made.fill, t.numpy)


def _is_value(t: DType, value: float) -> bool:
    """Whether type ``t`` has ``value``, to which floats may round."""
    if t.kind in ("float", "complex"):
        return _holds(t, value)
    return isinstance(value, int) and t.lowest <= value <= (1 if t.kind == "bool" else t.highest)


def _call(path: str, module: Module, one: Launching, arena: _Arena) -> tuple[str, list[int | bytes]]:
    """The kernel of a launch and the values of its parameters; makes the arrays."""
    from ..runtime.emulator.ptx.types import Variable

    kernel = _kernel(path, module, one)
    params = [p for p in module.functions[kernel].params if isinstance(p, Variable)]
    if len(params) != len(one.arguments):
        signature = f"({', '.join(f'.{p.type} {_parameter(kernel, p)}' for p in params)})"
        at = one.arguments[len(params)].at if len(one.arguments) > len(params) else one.end
        facts = {"expected": len(params), "got": len(one.arguments), "signature": signature}
        raise one.fail("WF823", at, kernel=demangle(kernel), **facts)
    values: list[int | bytes] = []
    for k, (param, argument) in enumerate(zip(params, one.arguments, strict=True)):
        expected, got = _misfit(param, argument)
        if expected:
            facts = {"index": k, "kernel": demangle(kernel), "expected": expected, "got": got}
            raise one.fail("WF822", argument.at, name=_parameter(kernel, param), **facts)
        match argument:
            case Scalar():
                values.append(_number(param, argument))
            case Raw(data=data):
                values.append(data)
            case Again():
                values.append(arena.again(one, argument))
            case Made():
                values.append(arena.make(one, argument, k))
    return kernel, values


def _parameter(kernel: str, param: Variable) -> str:
    """The name of a parameter in messages: without the mangled name of its kernel."""
    return param.name if demangle(kernel) == kernel else param.name.removeprefix(f"{kernel}_")


def _kernel(path: str, module: Module, one: Launching) -> str:
    if not module.entries:
        raise error("WF829", path=path)
    if not one.kernel and len(module.entries) == 1:
        return module.entries[0]
    found = called(one.kernel, module.entries) if one.kernel else []
    if len(found) != 1:
        problem, known = unknown(one.kernel, found, module.entries)
        raise one.fail("WF821", 0, problem=problem, path=path, known=known)
    return found[0]


def _number(param: Variable, scalar: Scalar) -> int | bytes:
    """The value of a number; a float as its bits."""
    t = _float_type(param, scalar)
    return int(scalar.value) if t is None else np.array(scalar.value, t.numpy).tobytes()


def _float_type(param: Variable, scalar: Scalar) -> DType | None:
    """The float type of a number: the written one, the parameter's, or for untyped bits the one of their size."""
    name = scalar.type or param.type
    if name[0] == "b" and name != "bf16" and isinstance(scalar.value, float):
        name = {4: "f32", 8: "f64"}.get(param.size, name)
    return dtype(name) if name in ("f16", "bf16", "f32", "f64") else None


def _misfit(param: Variable, argument: launch_syntax.Argument) -> tuple[str, str]:
    """What the parameter takes and what the argument is; empty if they match."""
    takes, size = f".{param.type} of {param.size} bytes", param.size
    if isinstance(argument, Raw):
        return ("", "") if len(argument.data) == size else (takes, f"{len(argument.data)} bytes")
    if not isinstance(argument, Scalar):
        fits = size == POINTER and param.type[0] != "f"
        return ("", "") if fits else (takes, f"an array, whose address has {POINTER}")
    if argument.size not in (None, size):
        return takes, f"a .{argument.type} of {argument.size} bytes"
    if size not in (1, 2, 4, 8):
        return takes, "a number"
    t, value = _float_type(param, argument), argument.value
    if isinstance(value, float):
        hint = f"; write {value!r}:f16 or {value!r}:bf16" if size == 2 and param.type[0] == "b" else ""
        return (
            ("", "")
            if t is not None and _holds(t, value)
            else (takes, f"the float {value!r}{hint if t is None else ''}")
        )
    fits = -(1 << 8 * size - 1) <= value < 1 << 8 * size if t is None else _holds(t, value)
    return ("", "") if fits else (takes, f"the integer {_short(value)}")


def _holds(t: DType, value: float) -> bool:
    """Whether a finite ``value`` stays finite in the float type ``t``."""
    try:
        wide = float(value)
    except OverflowError:
        return False
    with np.errstate(over="ignore"):
        return not np.isfinite(wide) or bool(np.isfinite(np.array(wide).astype(t.numpy)))


def _short(value: float) -> str:
    """A number shortened to ``DIGITS`` digits."""
    text = str(value)
    return text if len(text) <= DIGITS else f"{text[:8]}... of {len(text)} digits"
