"""Compiles basic blocks to Python functions over NumPy arrays.

A block becomes ``def block(m, L)``: it reads the registers it needs into local variables once, calls a function for
each op, and puts the registers that live on back at the end. A variable is deleted after its last use, so a long block
holds no more arrays than it needs. Registers are kept as unsigned words; a use with another type takes a view, which is
made once. A move compiles to nothing: its register shares the variables of its source.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from ..instructions.move import same
from ..instructions.op import choose
from ..ptx.text import float_of
from ..ptx.types import DTYPE, STORAGE, WIDTH, Array, Imm, Not, Operand, Reg, Special, Sym, is_float
from .program import Block, Item, Program

TOGETHER = 8
"""So many variables without further use, of a block, are deleted at a time."""
SOURCES = 4096
"""The sources of blocks whose code is kept."""
_SPECIAL_WIDTH = {"gridid": 64, "is_explicit_cluster": 1}


def constant(imm: Imm, type_: str) -> Array:
    """A literal as an array of one element of ``type_``; a float literal by its value, or by its bits for bit types."""
    dtype = DTYPE[type_]
    if type_ == "pred":
        return np.array([bool(imm.value)])
    if is_float(type_) and dtype.kind == "f":
        if isinstance(imm.value, int) and imm.width == WIDTH[type_]:
            return np.array([imm.value], STORAGE[imm.width]).view(dtype)
        return np.array([float_of(imm)], dtype)
    if type_ == "b128":
        return np.array([int(imm.value) & (2**64 - 1), int(imm.value) >> 64 & (2**64 - 1)], np.uint64).view(dtype)
    if imm.width == 64 and WIDTH[type_] == 32 and type_ != "addr":
        return np.array([float_of(imm)], np.float32).view(dtype)
    if isinstance(imm.value, float):
        return np.array([imm.value], np.float64).view(np.uint64).astype(STORAGE[WIDTH[type_]])
    width = 64 if type_ == "addr" else WIDTH[type_]
    return np.array([int(imm.value) & ((1 << width) - 1)], STORAGE[width]).view(dtype)


class BlockCompiler:
    """Compiles one block.

    Attributes:
        lines: the statements, each with the variables that it uses.
        namespace: the globals of the function: constants, dtypes, and the functions of the ops.
        known: register -> dtype code -> the variable that holds the register with this dtype.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.lines: list[tuple[str, list[str]]] = []
        self.namespace: dict[str, Any] = {"where": choose}
        self.known: dict[int, dict[str, str]] = {}
        self.count = 0

    def compile(self, block: Block) -> Any:
        """The compiled function of ``block``."""
        result = self._body(block)
        self._put(block)
        body = [f"    {line}" for line in self._with_deletes(result)]
        return self._made("\n".join(["def block(m, L):", *body, f"    return {result}\n"]), f"block {block.number}")

    def _made(self, source: str, what: str) -> Any:
        """The function that ``source`` defines; ``what`` is its name in tracebacks."""
        exec(_code(source), self.namespace)
        made = self.namespace[what.split()[0]]
        made.__code__ = made.__code__.replace(co_filename=f"<{self.program.kernel.name} {what}>")
        return made

    def _body(self, block: Block) -> str:
        """Writes the ops of ``block``; returns the variable that says how the block ends, or "None"."""
        result = "None"
        for item in block.items:
            if item.op.end:
                result = self._end(item)
            else:
                self._item(item)
        return result

    def _line(self, text: str, *uses: str, effect: bool = False) -> None:  # noqa: ARG002
        """Adds a statement; without ``effect`` its result depends only on the variables ``uses``."""
        self.lines.append((text, [u for u in uses if u[:1] == "v"]))

    def _name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def _bind(self, prefix: str, value: Any) -> str:
        name = f"{prefix}{len(self.namespace)}"
        self.namespace[name] = value
        return name

    def _value(self, op: Operand, type_: str) -> str:
        """The variable holding operand ``op`` viewed as ``type_``."""
        match op:
            case Imm():
                return self._bind("k", constant(op, type_))
            case Reg():
                return self._register(op.index, WIDTH[op.type], type_)
            case Special():
                width = _SPECIAL_WIDTH.get(op.name, 32)
                return self._register(self.program.special(op.name), width, type_)
            case Not(reg):
                inner, name = self._register(reg.index, 1, "pred"), self._name()
                self._line(f"{name} = ~{inner}", inner)
                return name
            case Sym():
                return self._symbol(op, type_)
        raise AssertionError(op)

    def _symbol(self, sym: Sym, type_: str) -> str:
        if sym.where >= 0:
            return self._bind("k", constant(Imm(sym.where + sym.offset), type_))
        name, variable = self._name(), self._bind("k", sym.variable)
        dtype = self._bind("k", DTYPE[type_])
        self._line(f"{name} = m.launch.symbol({variable}, {sym.offset}, {dtype})")
        return name

    def _register(self, index: int, width: int, type_: str) -> str:
        return self._viewed(index, width, DTYPE[type_])

    def _viewed(self, index: int, width: int, dtype: np.dtype[Any]) -> str:
        """The variable holding register ``index`` of ``width`` bits as ``dtype``."""
        views = self.known.setdefault(index, {})
        if dtype.str in views:
            return views[dtype.str]
        if not views:
            name = views[STORAGE[width].str] = self._name()
            self._line(f"{name} = m.read(L, {index})")
            if dtype.str in views:
                return name
        code, have = next(iter(views.items()))
        name = self._name()
        if np.dtype(code).itemsize == dtype.itemsize:
            self._line(f"{name} = {have}.view({self._dtype(dtype)})", have)
        else:
            words = STORAGE[width].str
            base = views[words] if words in views else f"{have}.view({self._dtype(STORAGE[width])})"
            same = self._dtype(np.dtype(f"u{dtype.itemsize}"))
            view = "" if dtype.kind == "u" else f".view({self._dtype(dtype)})"
            self._line(f"{name} = {base}.astype({same}){view}", have, views.get(words, ""))
        views[dtype.str] = name
        return name

    def _dtype(self, dtype: np.dtype[Any]) -> str:
        name = "T" + dtype.str[1:].replace("?", "b1")
        self.namespace[name] = dtype
        return name

    def _arguments(self, item: Item) -> list[str]:
        return [self._value(op, type_) for op, type_ in item.op.reads]

    def _guard(self, item: Item) -> str | None:
        if item.guard is None:
            return None
        return self._value(Not(item.guard) if item.negated else item.guard, "pred")

    def _item(self, item: Item) -> None:
        op = item.op
        if op.run is None:
            return
        if op.run is same and item.guard is None and isinstance(op.writes[0][0], Reg):
            self._move(op.reads[0], op.writes[0][0])
            return
        guard, arguments = self._guard(item), self._arguments(item)
        leading = ["m", "L", guard or "None"] if op.effect else []
        call = f"{self._bind('f', op.run)}({', '.join(leading + arguments)})"
        uses = [*arguments, guard or ""]
        names = [self._name() if isinstance(d, Reg) else "_" for d, _ in op.writes]
        if not names:
            self._line(call, *uses, effect=True)
            return
        self._line(f"{', '.join(names)} = {call}", *uses, effect=op.effect)
        for (dest, type_), name in zip(op.writes, names, strict=True):
            if isinstance(dest, Reg):
                self._write(dest, type_, name, guard)

    def _move(self, source: tuple[Operand, str], dest: Reg) -> None:
        value, type_ = source
        if not isinstance(value, Reg):
            self.known[dest.index] = {DTYPE[type_].str: self._value(value, type_)}
            return
        if not self.known.get(value.index):
            self._viewed(value.index, WIDTH[value.type], STORAGE[WIDTH[value.type]])
        self.known[dest.index] = dict(self.known[value.index])

    def _write(self, reg: Reg, type_: str, name: str, guard: str | None) -> None:
        width, dtype = WIDTH[reg.type], DTYPE[type_]
        if width > WIDTH[type_]:
            wide = np.dtype(f"{'i' if dtype.kind == 'i' else 'u'}{width // 8}")
            wider = self._name()
            self._line(f"{wider} = {name}.astype({self._dtype(wide)})", name)
            name, dtype = wider, wide
        if guard is not None:
            views = self.known.get(reg.index, {})
            old = views.get(dtype.str) or self._old(reg, width, dtype)
            merged = self._name()
            self._line(f"{merged} = where({guard}, {name}, {old})", guard, name, old)
            name = merged
        self.known[reg.index] = {dtype.str: name}

    def _old(self, reg: Reg, width: int, dtype: np.dtype[Any]) -> str:
        words = self._register(reg.index, width, f"b{width}" if width > 1 else "pred")
        if dtype == STORAGE[width]:
            return words
        name = self._name()
        self._line(f"{name} = {words}.view({self._dtype(dtype)})", words)
        return name

    def _put(self, block: Block) -> None:
        """Puts back the registers that the block wrote and that live on, and names those that do not."""
        text, uses = self._putting(written([block]), block.live_in, block.live_out)
        if text:
            self._line(text, *uses, effect=True)

    def _putting(self, changed: dict[int, Reg], live_in: int, live_out: int) -> tuple[str, list[str]]:
        """The statement that puts back the registers of ``changed`` that live on, and the variables it uses."""
        pairs, uses = [], []
        for index, reg in changed.items():
            if live_out >> index & 1:
                words = STORAGE[WIDTH[reg.type]]
                code, name = next(iter(self.known[index].items()))
                name = self.known[index].get(words.str, name)
                view = "" if words.str in self.known[index] or code == words.str else f".view({self._dtype(words)})"
                pairs.append(f"{index}: {name}{view}")
                uses.append(name)
        died = live_in & ~live_out
        dead = tuple(k for k in range(died.bit_length()) if died >> k & 1)
        return (f"m.put(L, {{{', '.join(pairs)}}}, {dead})" if pairs or dead else ""), uses

    def _end(self, item: Item) -> str:
        """The variable of the value that the block returns: it tells the machine where its threads go."""
        if item.op.end in ("branch", "exit", "trap"):
            return self._guard(item) or "None"
        if not item.op.reads:
            return "None"
        arguments, name = self._arguments(item), self._name()
        self._line(f"{name} = ({', '.join(arguments)},)", *arguments)
        return name

    def _with_deletes(self, *kept: str) -> list[str]:
        """The statements, with a ``del`` of the variables, except those ``kept``, whose last use is over.

        Some at a time are deleted: a statement for each would take as long to compile as a statement of the block.
        """
        last: dict[str, int] = {}
        for k, (_, uses) in enumerate(self.lines):
            for name in uses:
                last[name] = k
        for name in kept:
            last.pop(name, None)
        out, dying = list[str](), list[str]()
        for k, (text, uses) in enumerate(self.lines):
            out.append(text)
            dying += {name for name in uses if last.get(name) == k}
            if len(dying) >= TOGETHER:
                out.append(f"del {', '.join(sorted(dying))}")
                dying.clear()
        return out


@lru_cache(SOURCES)
def _code(source: str) -> CodeType:
    """The code of a source: more than half of the blocks of kernels in tests are written like one before."""
    return compile(source, "", "exec")


def written(blocks: Iterable[Block]) -> dict[int, Reg]:
    """The registers that ``blocks`` write, by number."""
    items = (item for block in blocks for item in block.items)
    return {op.index: op for item in items for op, _ in item.op.writes if isinstance(op, Reg)}


def function_of(program: Program, block: Block) -> Any:
    """The function of the block, compiled when it first runs."""
    if block.run is None:
        block.run = BlockCompiler(program).compile(block)
    return block.run
