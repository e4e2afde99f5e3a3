"""Parses function bodies: declarations, labels and instructions, with every name resolved at its use."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from ....compiler.errors import error
from . import unsupported
from .cursor import Cursor, variables
from .limits import short
from .module import Function, Module
from .regions import RESERVED
from .text import literal
from .types import Args, Imm, Instruction, Label, Mem, Name, Not, Operand, Pair, Reg, Sink, Special, Sym, Variable, Vec

_AXES = ("x", "y", "z")
_VECTOR_SPECIALS = ("tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
_SCALAR_SPECIALS = (
    "laneid",
    "warpid",
    "nwarpid",
    "smid",
    "nsmid",
    "gridid",
    "lanemask_eq",
    "lanemask_le",
    "lanemask_lt",
    "lanemask_ge",
    "lanemask_gt",
    "clock",
    "clock_hi",
    "clock64",
    "globaltimer",
    "globaltimer_lo",
    "globaltimer_hi",
    "cluster_ctarank",
    "cluster_nctarank",
    "is_explicit_cluster",
    "dynamic_smem_size",
    "total_smem_size",
    "envreg1",
    "envreg2",
)
SPECIALS: frozenset[str] = frozenset([f"{v}.{a}" for v in _VECTOR_SPECIALS for a in _AXES] + [*_SCALAR_SPECIALS])
_RESERVED = {f"reserved_smem_offset_{part}": at for part, at in (("begin", 0), ("0", 0), ("1", 512), ("end", 1024))}
"""Offsets, in bytes, into the KiB of shared memory that system software reserves; cooperative groups use part 1."""


_DIGITS, _MOST_DIGITS = "0123456789", 12
"""The name of a register of a family, ``%r<8>``, ends with some of these; more are the name of no register."""


@lru_cache(maxsize=1024)
def _parts(word: str) -> tuple[str, tuple[str, ...], str]:
    """The opcode and the modifiers of an instruction, and what of it is not supported."""
    opcode, *mods = word.split(".")
    return opcode, tuple(mods), unsupported.what(opcode, mods)


class Body:
    """Reads one ``{ ... }`` into ``function``; scopes nest as in PTX, inner names hide outer ones."""

    def __init__(self, cursor: Cursor, module: Module, function: Function) -> None:
        self.cursor, self.module, self.function = cursor, module, function
        self.scopes: list[dict[str, Reg | Variable | tuple[str, int]]] = [{}]
        self.path: tuple[int, ...] = (0,)
        self.next_scope = 1
        self.labels: dict[tuple[tuple[int, ...], str], int] = {}
        self.tables: dict[tuple[tuple[int, ...], str], tuple[Label, ...]] = {}
        self.opcode, self.lacks = "", ""  # of the instruction that is read
        self.mods: tuple[str, ...] = ()
        for item in [*function.params, *function.returns]:
            self.scopes[0][item.name] = item

    def read(self) -> None:
        """Reads the body from its opening brace to its closing one."""
        self._block()
        code = self.function.code
        for k, ins in enumerate(code):
            if Label in map(type, ins.operands):
                operands = tuple(self._target(op, ins) if isinstance(op, Label) else op for op in ins.operands)
                code[k] = replace(ins, operands=operands)

    def _block(self) -> None:
        cursor = self.cursor
        cursor.expect("{")
        while not cursor.accept("}"):
            if cursor.token.kind == "end":
                raise cursor.fail(f"expected '}}' to close the body of {self.function.name!r}, got the end of the text")
            if cursor.token.text == "{":
                self._nested()
            else:
                self._statement()

    def _nested(self) -> None:
        outer = self.path
        self.path = (*outer, self.next_scope)
        self.next_scope += 1
        self.scopes.append({})
        with self.cursor.nested():
            self._block()
        self.scopes.pop()
        self.path = outer

    def _statement(self) -> None:
        cursor = self.cursor
        text = cursor.token.text
        if text == ";":
            cursor.take()
        elif text == "@" or not text.startswith("."):
            if cursor.tokens[cursor.at + 1].text == ":" and cursor.token.kind == "id":
                self._label()
            else:
                self._instruction()
        elif text == ".reg":
            self._registers()
        elif text in (".shared", ".local", ".param", ".global", ".const"):
            cursor.take()
            self._declare(variables(cursor, "stack" if text == ".param" else text[1:]))
        elif text == ".pragma":
            cursor.take()
            cursor.kind("string")
            cursor.expect(";")
        else:
            raise cursor.fail(f"expected a statement, got the directive {text!r}")

    def _declare(self, found: list[Variable]) -> None:
        self.cursor.expect(";")
        for variable in found:
            self.scopes[-1][variable.name] = variable
            if variable.space in ("global", "const"):
                self.module.variables.append(variable)
            else:
                self.function.variables.append(variable)

    def _registers(self) -> None:
        cursor = self.cursor
        cursor.expect(".reg")
        type_ = cursor.type_()
        while True:
            name = cursor.kind("id").text
            if cursor.accept("<"):
                self.scopes[-1][name + "<"] = (type_, cursor.count("a number of registers", 1 << 32))
                cursor.expect(">")
            else:
                self._register(name, type_, self.scopes[-1])
            if not cursor.accept(","):
                break
        cursor.expect(";")

    def _register(self, name: str, type_: str, scope: dict[str, Reg | Variable | tuple[str, int]]) -> Reg:
        reg = Reg(len(self.function.registers), type_, name)
        self.function.registers.append(reg)
        scope[name] = reg
        return reg

    def _label(self) -> None:
        cursor = self.cursor
        name = cursor.take().text
        cursor.expect(":")
        if cursor.accept(".branchtargets"):
            names = [cursor.kind("id").text]
            while cursor.accept(","):
                names.append(cursor.kind("id").text)
            cursor.expect(";")
            self.tables[self.path, name] = tuple(Label(n, self.path) for n in names)
            return
        if cursor.token.text in (".callprototype", ".calltargets"):  # for calls through pointers
            cursor.skip_statement()
            return
        if (self.path, name) in self.labels:
            raise cursor.fail(f"expected one label {name!r}, got two")
        self.labels[self.path, name] = len(self.function.code)

    def _target(self, label: Label, ins: Instruction) -> Label | Args:
        """``label`` with its scope filled in; the name of a branch table becomes its labels."""
        for depth in range(len(label.scope), 0, -1):
            key = (label.scope[:depth], label.name)
            if key in self.labels:
                return replace(label, target=self.labels[key])
            if key in self.tables:
                return Args(tuple(self._target(entry, ins) for entry in self.tables[key]))
        raise error("WF704", line=ins.line, text=ins.text, kind="label", name=short(label.name))

    def _instruction(self) -> None:
        cursor = self.cursor
        line, start, negated = cursor.token.line, cursor.token.start, False
        guard: Reg | None = None
        if cursor.accept("@"):
            negated = cursor.accept("!")
            guard = self._guard(cursor.kind("id").text)
        operands = self._words() if cursor.token.kind == "plain" else self._tokens()
        last = cursor.tokens[cursor.at - 1]
        text = " ".join(cursor.source.text[start : last.start + len(last.text)].split())
        made = Instruction(self.opcode, self.mods, operands, line, short(text), guard, negated, self.lacks)
        self.function.code.append(made)

    def _words(self) -> tuple[Operand, ...]:
        """The operands of an instruction that is one token."""
        word, *others = self.cursor.take().text[:-1].replace(",", " ").split()
        self.opcode, self.mods, self.lacks = _parts(word)
        if self.lacks:
            return ()
        known = self.scopes[0] if len(self.scopes) == 1 else {}
        found = [known.get(w) for w in others]
        read = self._word
        return tuple([x if type(x) is Reg else read(w, self.opcode) for w, x in zip(others, found, strict=True)])

    def _tokens(self) -> tuple[Operand, ...]:
        """The operands of an instruction, token by token."""
        cursor = self.cursor
        operands: list[Operand] = []
        self.opcode, self.mods, self.lacks = _parts(cursor.kind("id").text)
        if self.lacks:
            cursor.skip_statement()
            return ()
        while not cursor.accept(";"):
            operands.append(self._operand(self.opcode))
            if cursor.token.text != ";":
                cursor.expect(",")
        return tuple(operands)

    def _word(self, word: str, opcode: str) -> Operand:
        """The register or the number that ``word`` names."""
        if word[0] == "%":
            return self._named(word, opcode)
        found = literal(word.lstrip("-"))
        assert found is not None
        return Imm(-found.value) if word[0] == "-" else found

    def _guard(self, name: str) -> Reg:
        found = self._lookup(name)
        if not isinstance(found, Reg) or found.type != "pred":
            raise self.cursor.fail("expected a predicate register after '@'")
        return found

    def _operand(self, opcode: str) -> Operand:
        cursor = self.cursor
        kind = cursor.token.kind
        if kind == "punct":
            return self._bracketed(opcode)
        if kind == "number":
            return cursor.number()
        first = self._named(cursor.kind("id").text, opcode)
        if cursor.accept("|"):
            return Pair(first, self._named(cursor.kind("id").text, opcode))
        if isinstance(first, Sym) and cursor.token.text in ("+", "-"):
            return replace(first, offset=self._offset())
        return first

    def _bracketed(self, opcode: str) -> Operand:
        """An operand that begins with a bracket or a sign."""
        cursor = self.cursor
        if cursor.accept("["):
            return self._address()
        if cursor.accept("{"):
            return Vec(tuple(self._list("}", opcode)))
        if cursor.accept("("):
            return Args(tuple(self._list(")", opcode)))
        if cursor.accept("!"):
            reg = self._lookup(cursor.kind("id").text)
            if not isinstance(reg, Reg):
                raise cursor.fail("expected a predicate register after '!'")
            return Not(reg)
        return cursor.number() if cursor.token.text == "-" else self._named(cursor.kind("id").text, opcode)

    def _list(self, closer: str, opcode: str) -> list[Operand]:
        items: list[Operand] = []
        with self.cursor.nested():
            while not self.cursor.accept(closer):
                items.append(self._operand(opcode))
                if self.cursor.token.text != closer:
                    self.cursor.expect(",")
        return items

    def _offset(self) -> int:
        minus = self.cursor.take().text == "-"
        value = self.cursor.integer()
        value = -value if minus else value
        return (value + (1 << 63)) % (1 << 64) - (1 << 63)  # as 64 bits hold it

    def _address(self) -> Mem:
        cursor = self.cursor
        if cursor.token.kind == "number" or cursor.token.text == "-":
            base: Operand = cursor.number()
        else:
            base = self._named(cursor.kind("id").text, "")
        offset = self._offset() if cursor.token.text in ("+", "-") else 0
        cursor.expect("]")
        if not isinstance(base, Reg | Sym | Imm):
            raise cursor.fail("expected a register, a variable or a number in brackets")
        return Mem(base, offset)

    def _named(self, name: str, opcode: str) -> Operand:
        if name == "_":
            return Sink()
        found = self._lookup(name)
        if isinstance(found, Reg):
            return found
        if isinstance(found, Variable):
            self.lacks = self.lacks or found.lacks
            return Sym(found)
        if name[:1] == "%" and name[1:] in SPECIALS:
            return Special(name[1:])
        if name[:1] == "%" and name[1:] in _RESERVED:
            return Sym(self._reserved(), _RESERVED[name[1:]])
        if name == "WARP_SZ":
            return Imm(32)
        if opcode in ("bra", "brx"):
            return Label(name, self.path)
        if opcode == "call":
            return Name(name)
        self.lacks = unsupported.POINTERS if name in self.module.functions else unsupported.special(name)
        if self.lacks:
            return Imm(0)
        line = self.cursor.tokens[self.cursor.at - 1].line
        text = self.cursor.source.quote(line)
        raise error("WF704", line=line, text=text, kind="name", name=short(name))

    def _reserved(self) -> Variable:
        """The variable for the shared memory that system software reserves, one for the module."""
        found = next((v for v in self.module.variables if v.name == RESERVED), None)
        if found is None:
            found = Variable(RESERVED, "shared", 16, 1024, "b8")
            self.module.variables.append(found)
        return found

    def _lookup(self, name: str) -> Reg | Variable | None:
        stem = name.rstrip(_DIGITS)
        number = name[len(stem) :]
        for scope in reversed(self.scopes):
            found = scope.get(name)
            if found is not None and type(found) is not tuple:
                return found  # type: ignore[return-value]
            if number:
                declared = scope.get(f"{stem}<")
                if type(declared) is tuple and len(number) <= _MOST_DIGITS and int(number) < declared[1]:
                    return self._register(name, declared[0], scope)
        for variable in self.module.variables:
            if variable.name == name:
                return variable
        return None
