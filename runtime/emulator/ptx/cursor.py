"""A cursor over the tokens of a module, with the operations of which parsing functions are made."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from ....compiler.errors import WarpfoldError, error
from . import unsupported
from .limits import ALIGN, ARRAY, NESTED, short
from .text import Source, Token, float_of, literal, tokenize
from .types import DTYPE, WIDTH, Imm, Variable, nbytes


class Cursor:
    """The token stream with one token of look-ahead."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = tokenize(source)
        self.at = self.depth = 0

    @property
    def token(self) -> Token:
        """The next token, which is not yet taken."""
        return self.tokens[self.at]

    def take(self) -> Token:
        """Takes one token."""
        token = self.tokens[self.at]
        if token.kind != "end":
            self.at += 1
        return token

    def accept(self, text: str) -> bool:
        """Takes the next token if its text is ``text``."""
        token = self.tokens[self.at]
        if token.text != text or token.kind == "string":
            return False
        self.at += 1
        return True

    def expect(self, text: str) -> Token:
        """Takes the next token, whose text must be ``text``."""
        token = self.tokens[self.at]
        if token.text != text:
            raise self.fail(f"expected {text!r}, got {token.text!r}")
        self.at += 1
        return token

    def kind(self, kind: str) -> Token:
        """Takes the next token, which must be of ``kind``."""
        token = self.tokens[self.at]
        if token.kind != kind:
            raise self.fail(f"expected {kind}, got {token.text!r}")
        self.at += 1
        return token

    def fail(self, problem: str) -> WarpfoldError:
        """The error at the next token's line."""
        return self.source.syntax(self.token.line, problem)

    def number(self) -> Imm:
        """A literal with an optional minus sign."""
        minus = self.accept("-")
        token = self.kind("number")
        imm = literal(token.text)
        if imm is None:
            raise self.source.syntax(token.line, f"expected a number of 64 bits, got {short(token.text)}")
        if not minus:
            return imm
        return Imm(-float_of(imm), 64) if imm.width else Imm(-imm.value)

    def integer(self) -> int:
        """An integer literal."""
        imm = self.number()
        if not isinstance(imm.value, int) or imm.width:
            raise self.fail(f"expected an integer, got {self.tokens[self.at - 1].text}")
        return imm.value

    def count(self, what: str, most: int) -> int:
        """An integer from 0 to ``most``."""
        value = self.integer()
        if not 0 <= value <= most:
            raise self.fail(f"expected {what} from 0 to {most}, got {value}")
        return value

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Enters a nested construct; raises if they are nested too deeply."""
        self.depth += 1
        if self.depth > NESTED:
            problem = f"expected at most {NESTED} blocks or lists, one in another"
            raise error("WF724", line=self.token.line, text=self.source.quote(self.token.line), problem=problem)
        yield
        self.depth -= 1

    def integers(self) -> tuple[int, ...]:
        """Integers separated by commas."""
        values = [self.integer()]
        while self.accept(","):
            values.append(self.integer())
        return tuple(values)

    def type_(self) -> str:
        """A fundamental type such as ``.f32``."""
        name = self.kind("id").text
        if name[1:] not in WIDTH or not name.startswith("."):
            raise self.fail(f"expected a type such as .b32, got {name!r}")
        return name[1:]

    def skip_braces(self) -> None:
        """Skips a balanced ``{ ... }``."""
        self.expect("{")
        depth = 1
        while depth:
            token = self.take()
            if token.kind == "end":
                raise self.fail("expected '}', got the end of the text")
            depth += {"{": 1, "}": -1}.get(token.text, 0)

    def skip_parentheses(self) -> None:
        """Skips a balanced ``( ... )``."""
        self.expect("(")
        while not self.accept(")"):
            if self.take().kind == "end":
                raise self.fail("expected ')', got the end of the text")

    def skip_statement(self) -> None:
        """Skips a statement to its semicolon, brackets in pairs."""
        open_: list[str] = []
        while open_ or self.token.text != ";":
            token = self.take()
            if token.kind == "end" or token.text in _CLOSES.values():
                if not open_ or token.text != open_.pop():
                    raise self.source.syntax(token.line, f"expected ';', got {token.text!r}")
            elif token.text in _CLOSES and token.kind == "punct":
                open_.append(_CLOSES[token.text])
        self.expect(";")


_CLOSES = {"(": ")", "[": "]", "{": "}"}


def variables(cursor: Cursor, space: str) -> list[Variable]:
    """The variables declared after a state space: ``.align 4 .b8 name[16] = {...}, other``; leaves the end token."""
    align, lanes = 0, 1
    while cursor.token.text in (".align", ".ptr", ".attribute", ".noalias") or cursor.token.text in _PTR_SPACES:
        word = cursor.take().text
        if word == ".align":
            align = cursor.count("an alignment", ALIGN)
            if align < 1 or align & (align - 1):
                raise cursor.fail(f"expected a power of two as the alignment, got {align}")
        elif word == ".attribute":
            cursor.skip_parentheses()
    if cursor.token.text in (".v2", ".v4"):
        lanes = int(cursor.take().text[2:])
    lacks = unsupported.OPAQUE.get(cursor.token.text, "")
    if lacks:
        cursor.take()
    type_ = "b64" if lacks else cursor.type_()
    while cursor.token.text in (".ptr", ".align") or cursor.token.text in _PTR_SPACES:
        if cursor.take().text == ".align":
            cursor.integer()  # .ptr .global .align 16: what the pointer points at, not the parameter
    out = [_variable(cursor, space, type_, lanes, align, lacks)]
    while space not in ("param", "stack") and cursor.accept(","):
        out.append(_variable(cursor, space, type_, lanes, align, lacks))
    return out


_PTR_SPACES = (".global", ".const", ".local", ".shared")


def _variable(cursor: Cursor, space: str, type_: str, lanes: int, align: int, lacks: str) -> Variable:
    name = cursor.kind("id").text
    count, external = lanes, False
    while cursor.accept("["):
        if cursor.accept("]"):
            external = True
        else:
            count *= cursor.count("a number of elements", ARRAY)
            if count * nbytes(type_) > ARRAY:
                raise cursor.fail(f"expected at most {ARRAY} bytes in {short(name)!r}, got {count * nbytes(type_)}")
            cursor.expect("]")
    init = None
    if cursor.accept("=") and lacks:
        cursor.skip_braces()
    elif cursor.tokens[cursor.at - 1].text == "=":
        init, lacks = _initial(cursor, type_)
    if external and init is not None:
        count, external = len(init) // nbytes(type_), False
    size = 0 if external else count * nbytes(type_)
    if init is not None and len(init) > size:
        raise cursor.fail(f"expected an initialiser of at most {size} bytes for {short(name)!r}, got {len(init)}")
    return Variable(name, space, max(align, nbytes(type_) * lanes), size, type_, init, external, lacks)


def _initial(cursor: Cursor, type_: str) -> tuple[bytes, str]:
    """The bytes of an initialiser, and what the emulator does not support in it.

    Nested braces are flattened, since PTX fills whole rows.
    """
    if cursor.accept("{"):
        found = []
        with cursor.nested():
            while not cursor.accept("}"):
                found.append(_initial(cursor, type_))
                cursor.accept(",")
        return b"".join(part for part, _ in found), next((lacks for _, lacks in found if lacks), "")
    if cursor.token.kind == "id":
        _address(cursor)
        return bytes(nbytes(type_)), unsupported.ADDRESSES
    imm = cursor.number()
    if cursor.token.text == "(":  # a byte of an address: 0xFF00(name)
        cursor.skip_parentheses()
        return bytes(nbytes(type_)), unsupported.ADDRESSES
    if type_ == "f32":
        return struct.pack("<f", np.float32(float_of(imm))) if imm.width != 32 else struct.pack("<I", imm.value), ""
    if type_ == "f64":
        return struct.pack("<d", float_of(imm)), ""
    mask = (1 << WIDTH[type_]) - 1
    return (int(imm.value) & mask).to_bytes(np.dtype(DTYPE[type_]).itemsize, "little"), ""


def _address(cursor: Cursor) -> None:
    """``name``, ``generic(name)``, and an offset."""
    cursor.kind("id")
    if cursor.token.text == "(":
        cursor.skip_parentheses()
    if cursor.accept("+") or cursor.token.text == "-":
        cursor.integer()
