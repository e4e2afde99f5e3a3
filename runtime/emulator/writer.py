"""Basic blocks to Python functions over NumPy arrays.

A block becomes ``def block(m, L)``: registers it needs are read into local variables once, every op is one call on
them, and those that live on are put back at the end. A variable is deleted after its last use, so a long block holds no
more arrays than it needs. Registers are kept as unsigned words; a differently typed use takes a view, made once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .program import Block, Item, Program
from .text import float_of
from .types import DTYPE, STORAGE, WIDTH, Array, Imm, Not, Operand, Reg, Special, Sym, is_float

_SPECIAL_WIDTH = {"gridid": 64, "is_explicit_cluster": 1}


def constant(imm: Imm, type_: str) -> Array:
    """A literal as a one-element array of ``type_``; float literals are given by value, or by bits for bit types."""
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


class Writer:
    """Writes the function of one block."""

    def __init__(self, program: Program, block: Block) -> None:
        self.program, self.block = program, block
        self.lines: list[tuple[str, list[str]]] = []
        self.namespace: dict[str, Any] = {"where": np.where}
        self.known: dict[int, dict[str, str]] = {}  # register -> dtype code -> variable
        self.count = 0

    def compile(self) -> Any:
        """The block's function."""
        result = "None"
        for item in self.block.items:
            if item.op.end:
                result = self._end(item)
            else:
                self._item(item)
        self._put()
        body = self._with_deletes(result)
        source = f"def block(m, L):\n{body}\n"
        exec(compile(source, f"<{self.program.kernel.name} block {self.block.number}>", "exec"), self.namespace)
        return self.namespace["block"]

    def _line(self, text: str, *uses: str) -> None:
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
        views = self.known.setdefault(index, {})
        dtype = DTYPE[type_]
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
        guard, arguments = self._guard(item), self._arguments(item)
        leading = ["m", "L", guard or "None"] if op.effect else []
        call = f"{self._bind('f', op.run)}({', '.join(leading + arguments)})"
        uses = [*arguments, guard or ""]
        names = [self._name() if isinstance(d, Reg) else "_" for d, _ in op.writes]
        if not names:
            self._line(call, *uses)
            return
        many = len(names) > 1
        self._line(f"{', '.join(names)} = {call}" if many else f"{names[0]} = {call}", *uses)
        for (dest, type_), name in zip(op.writes, names, strict=True):
            if isinstance(dest, Reg):
                self._write(dest, type_, name, guard)

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

    def _put(self) -> None:
        """Puts back the registers this block wrote that live on, and names those that do not."""
        block = self.block
        written = {op.index: op for item in block.items for op, _ in item.op.writes if isinstance(op, Reg)}
        pairs, uses = [], []
        for index, reg in written.items():
            if block.live_out >> index & 1:
                type_ = f"b{WIDTH[reg.type]}" if reg.type != "pred" else "pred"
                name = self._register(index, WIDTH[reg.type], type_)
                pairs.append(f"{index}: {name}")
                uses.append(name)
        died = block.live_in & ~block.live_out
        dead = [k for k in range(died.bit_length()) if died >> k & 1]
        if pairs or dead:
            self._line(f"m.put(L, {{{', '.join(pairs)}}}, {tuple(dead)})", *uses)

    def _end(self, item: Item) -> str:
        """The value the block returns: what the scheduler needs to know to move its threads on."""
        guard = self._guard(item)
        if item.op.end in ("branch", "exit", "trap"):
            result = guard or "None"
        else:
            result = f"({', '.join(self._arguments(item))},)" if item.op.reads else "None"
        name = self._name()
        self._line(f"{name} = {result}", *[r.strip() for r in result.strip("(),").split(",")])
        return name

    def _with_deletes(self, result: str) -> str:
        last: dict[str, int] = {}
        for k, (_, uses) in enumerate(self.lines):
            for name in uses:
                last[name] = k
        last.pop(result, None)
        out = []
        for k, (text, uses) in enumerate(self.lines):
            dying = sorted({name for name in uses if last.get(name) == k})
            out.append(f"    {text}" + (f"; del {', '.join(dying)}" if dying else ""))
        out.append(f"    return {result}")
        return "\n".join(out)


def function_of(program: Program, block: Block) -> Any:
    """The block's function, written the first time it runs."""
    if block.run is None:
        block.run = Writer(program, block).compile()
    return block.run
