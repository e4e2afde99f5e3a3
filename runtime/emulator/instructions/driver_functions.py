"""The functions that a GPU's driver defines: ``vprintf`` and ``__assertfail``, which ``printf`` and ``assert`` call.

A module that declares such a function gets a body for it: loads of its parameters, and one instruction that PTX text
cannot spell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..machine.address_resolution import Access, locate
from ..machine.printing import formatted
from ..machine.threads import Threads
from ..ptx.module import Function, Module
from ..ptx.types import Array, Instruction, Mem, Operand, Reg, Sym, Variable, nbytes
from .load_store import unit_of
from .op import Builder, Form, Op, broadcast

if TYPE_CHECKING:
    from ..machine.machine import Machine

_LONGEST = 1 << 16
"""The most bytes of a string that are read."""
_SIGNATURES = {"vprintf": (("b64", "b64"), ("b32",)), "__assertfail": (("b64", "b64", "b32", "b64", "b64"), ())}


def define(module: Module) -> None:
    """Adds bodies to the driver's functions that ``module`` declares."""
    for name, (params, returns) in _SIGNATURES.items():
        function = module.functions.get(name)
        if function is not None and not function.defined and _fits(function, params, returns):
            _write(function, params, returns)


def _fits(function: Function, params: tuple[str, ...], returns: tuple[str, ...]) -> bool:
    found = (function.params, params), (function.returns, returns)
    return all(
        len(formals) == len(types)
        and all(isinstance(f, Variable) and f.size == nbytes(t) for f, t in zip(formals, types, strict=True))
        for formals, types in found
    )


def _write(function: Function, params: tuple[str, ...], returns: tuple[str, ...]) -> None:
    """Writes the body of a function. Its instructions have line 0, which stands for the line of the call."""
    registers = [Reg(len(function.registers) + k, t, f"%{k}") for k, t in enumerate((*params, *returns))]
    function.registers += registers
    values, results = registers[: len(params)], registers[len(params) :]

    def add(opcode: str, mods: tuple[str, ...], *operands: Operand) -> None:
        function.code.append(Instruction(opcode, mods, operands, 0, ""))

    for formal, register in zip(function.params, values, strict=True):
        add("ld", ("param", register.type), register, _memory_of(formal))
    add(f"call {function.name}", (), *results, *values)
    for formal, register in zip(function.returns, results, strict=True):
        add("st", ("param", register.type), _memory_of(formal), register)
    function.defined = True


def _memory_of(formal: Variable | Reg) -> Mem:
    assert isinstance(formal, Variable)
    return Mem(Sym(formal), 0)


@dataclass
class _Reader:
    """Reads the memory of one thread at generic addresses."""

    ins: Instruction
    machine: Machine
    lane: Threads

    def read(self, address: int, size: int) -> bytes:
        """``size`` aligned bytes of one array."""
        access = Access(self.ins, "generic", 0, size, unit_of(size), "read")
        (piece,) = locate(access, self.machine, self.lane, None, np.array([address], np.int64))
        return piece.view.take(piece.index).tobytes()

    def string(self, address: int) -> bytes:
        """The bytes before the next zero."""
        found = self.machine.launch.memory.find(address)
        if found is not None:
            start = address - found.address
            text = found.buffer[start : start + _LONGEST].tobytes()
            if b"\0" in text:
                return text[: text.index(b"\0")]
        out = bytearray()
        while len(out) < _LONGEST and (byte := self.read(address + len(out), 1)) != b"\0":
            out += byte
        return bytes(out)


def _each(machine: Machine, lanes: Threads, mask: Array | None, ins: Instruction) -> list[tuple[int, _Reader]]:
    """The positions in ``lanes`` of the threads that take part, each with a reader of its memory."""
    chosen = np.arange(lanes.n) if mask is None else np.flatnonzero(broadcast(mask, lanes.n))
    positions = np.arange(lanes.n)
    return [(int(k), _Reader(ins, machine, lanes.select(positions == k))) for k in chosen]


def _vprintf(form: Form) -> Op:
    result, text, values = form.operands(3)
    ins = form.ins

    def run(machine: Machine, lanes: Threads, mask: Array | None, texts: Array, arguments: Array) -> Array:
        out = np.zeros(lanes.n, np.uint32)
        texts, arguments = broadcast(texts, lanes.n), broadcast(arguments, lanes.n)
        known: dict[int, bytes] = {}
        for k, reader in _each(machine, lanes, mask, ins):
            address = int(texts[k])
            if address not in known:
                known[address] = reader.string(address)
            said, count = formatted(known[address], int(arguments[k]), reader.read, reader.string)
            machine.launch.printed.add(said)
            out[k] = count
        return out

    return Op(((text, "addr"), (values, "addr")), ((result, "b32"),), run, effect=True)


def _assertfail(form: Form) -> Op:
    ins = form.ins
    message, file, line, function, width = form.operands(5)

    def run(machine: Machine, lanes: Threads, mask: Array | None, *values: Array) -> None:
        for k, reader in _each(machine, lanes, mask, ins):
            texts = [reader.string(int(broadcast(values[at], lanes.n)[k])).decode(errors="replace") for at in (0, 1, 3)]
            number, thread = int(broadcast(values[2], lanes.n)[k]), int(lanes.numbers[k])
            facts = {"message": texts[0], "file": texts[1], "line": number, "function": texts[2]}
            raise machine.launch.located("WF723", ins, machine, thread, **facts)

    reads = ((message, "addr"), (file, "addr"), (line, "u32"), (function, "addr"), (width, "addr"))
    return Op(reads, (), run, effect=True)


TABLE: dict[str, Builder] = {"call vprintf": _vprintf, "call __assertfail": _assertfail}
