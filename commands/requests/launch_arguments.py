"""The arguments of a launch of FILE.ptx: arrays in the emulator's memory, and numbers in the types of parameters."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ...compiler.dtypes import DType, dtype
from ...compiler.errors import error
from ...runtime.emulator.ptx.demangle import demangle
from ...runtime.emulator.ptx.regions import align_up
from ..checking import random_inputs
from . import inputs, launch_syntax
from .kernels import called, unknown
from .launch_syntax import Again, Argument, Launching, Made, Raw, Scalar, Structure
from .request import Array

if TYPE_CHECKING:
    from ...runtime.emulator import Memory, Module
    from ...runtime.emulator.ptx.types import Variable

POINTER = 8
"""Bytes of a parameter that takes an array's address."""
DIGITS = 40
"""Greatest number of digits that an error shows of a number."""
_FLOATS = ("f16", "bf16", "f32", "f64")


@dataclass
class Arena:
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
        from ...runtime.arrays.conversion import load_npy

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


def call(path: str, module: Module, one: Launching, arena: Arena) -> tuple[str, list[int | bytes]]:
    """The kernel of a launch and the values of its parameters; makes the arrays."""
    from ...runtime.emulator.ptx.types import Variable

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
            case Structure():
                values.append(_laid_out(one, argument, k, arena).ljust(param.size, b"\0"))
    return kernel, values


def _laid_out(one: Launching, structure: Structure, position: int, arena: Arena) -> bytes:
    """The bytes of a structure, whose fields lie as in C; makes its arrays."""
    out = b""
    for part in structure.fields:
        size, align = _layout(part)
        match part:
            case Structure():
                data = _laid_out(one, part, position, arena)
            case Raw():
                data = part.data
            case Scalar(type=name) if name in _FLOATS:
                data = np.array(part.value, dtype(name).numpy).tobytes()
            case Scalar():
                data = (int(part.value) & (1 << 8 * size) - 1).to_bytes(size, "little")
            case Made():
                data = arena.make(one, part, position).to_bytes(POINTER, "little")
            case _:
                assert isinstance(part, Again)
                data = arena.again(one, part).to_bytes(POINTER, "little")
        out = out.ljust(align_up(len(out), align), b"\0") + data.ljust(size, b"\0")
    return out


def _layout(argument: Argument) -> tuple[int, int]:
    """The bytes that a field of a structure takes, and their alignment."""
    if isinstance(argument, Structure):
        size, align = _end(argument)
        return align_up(size, align), align
    if isinstance(argument, Raw):
        return len(argument.data), 1
    size = (argument.size or POINTER) if isinstance(argument, Scalar) else POINTER
    return size, size


def _end(structure: Structure) -> tuple[int, int]:
    """Where the last field of a structure ends, and the alignment of the whole."""
    end, most = 0, 1
    for size, align in map(_layout, structure.fields):
        end, most = align_up(end, align) + size, max(most, align)
    return end, most


def _misfit_inside(structure: Structure) -> tuple[str, str]:
    """The first number in a structure that its type has not: what was expected and what is there; else empty."""
    for part in structure.fields:
        if isinstance(part, Structure) and any(found := _misfit_inside(part)):
            return found
        if isinstance(part, Scalar):
            size, value = _layout(part)[0], part.value
            whole = isinstance(value, int) and -(1 << 8 * size - 1) <= value < 1 << 8 * size
            if not (_holds(dtype(part.type), value) if part.type in _FLOATS else whole):
                return f"a value of .{part.type}", f"{_short(value)} in the structure"
    return "", ""


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
    """The float type of a number: the written one, else the parameter's, or for untyped bits that of their size."""
    name = scalar.type or param.type
    if name[0] == "b" and name != "bf16" and isinstance(scalar.value, float):
        name = {4: "f32", 8: "f64"}.get(param.size, name)
    return dtype(name) if name in _FLOATS else None


def _misfit(param: Variable, argument: launch_syntax.Argument) -> tuple[str, str]:
    """What the parameter takes and what the argument is; empty if they match."""
    takes, size = f".{param.type} of {param.size} bytes", param.size
    if isinstance(argument, Structure):
        laid, _ = _layout(argument)
        fits = _end(argument)[0] <= size <= laid
        return _misfit_inside(argument) if fits else (takes, f"a structure of {laid} bytes")
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
