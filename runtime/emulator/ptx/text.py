"""Splits PTX text into tokens with line numbers; drops comments and debug directives."""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from ....compiler.errors import WarpfoldError, error
from ....compiler.lazy import lazy
from .limits import short
from .origins import Origins
from .types import Imm

_TOKEN = re.compile(
    r"""[ \t\r]*+
      (?: (?P<newline>\n)
      | (?P<skip>//[^\n]*|\.(?:loc|file)(?![\w$.%])[^\n]*)
      | (?P<plain>[a-z]\w*(?:\.\w+(?:::\w+)*)*[ \t]+%\w+
          (?:,[ \t]*(?:%\w+|-?[1-9]\d{0,9}|0|0f[0-9A-F]{8}|0d[0-9A-F]{16}))*;)
      | (?P<id>[.%$_A-Za-z][\w$.%]*(?:::[\w.]+)*)
      | (?P<comment>/\*.*?\*/)
      | (?P<punct>[{}()\[\];:,@!|+\-<>=*&~/^?])
      | (?P<number>0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?
          |\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+U?)
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<end>\Z))""",
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """One token; ``kind`` is string, number, id, punct, plain or end; ``start`` is its offset in the text.

    A *plain* token is a whole instruction whose operands are registers and numbers, as most are: it is read in half the
    time of its parts.
    """

    kind: str
    text: str
    line: int
    start: int = 0


class Source:
    """The text of a module and its lines, for errors that name and quote a line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")

    @lazy
    def origins(self) -> Origins:
        """The origins of the lines in other languages."""
        return Origins(self.lines)

    def quote(self, line: int) -> str:
        """The text of 1-based ``line``, stripped."""
        return short(" ".join(self.lines[line - 1].split())) if 0 < line <= len(self.lines) else ""

    def syntax(self, line: int, problem: str) -> WarpfoldError:
        """The error for text that is not known PTX."""
        return error("WF701", line=line, text=self.quote(line), problem=problem)


def tokenize(source: Source) -> list[Token]:
    """All tokens of ``source``, ended by one of kind ``end``."""
    out: list[Token] = []
    line, at, text, new = 1, 0, source.text, tuple.__new__
    for match in iter(_TOKEN.scanner(text).match, None):  # type: ignore[attr-defined]
        kind, at = match.lastgroup, match.end()
        if kind == "newline":
            line += 1
        elif kind == "comment":
            line += match.group().count("\n")
        elif kind == "end":
            break
        elif kind != "skip":  # a comment, or a debug directive, which ends with its line and not with a semicolon
            word = match[kind]
            start = at - len(word)
            if word.startswith(".reg."):  # written without a space: two tokens
                out += (Token(kind, ".reg", line, start), Token(kind, word[4:], line, start))
            else:
                out.append(new(Token, (kind, word, line, start)))  # in half the time of ``Token(...)``
    else:
        at += len(text[at:]) - len(text[at:].lstrip(" \t\r"))
        raise source.syntax(line, f"expected a PTX token, got {text[at]!r}")
    out.append(Token("end", "end of text", line))
    return out


_LONGEST = 400
"""The most characters of a number: more than any 64-bit number has, in any form."""


def literal(text: str) -> Imm | None:
    """The value of a number token; None if 64 bits cannot hold it. Hexadecimal floats keep their exact bits."""
    try:
        found = _literal(text) if len(text) <= _LONGEST else None
    except ValueError:  # 09
        return None
    if found is None or (abs(found.value) == float("inf") if found.width else found.value >= 1 << 64):
        return None
    return found


def _literal(text: str) -> Imm:
    head = text[:2].lower()
    if head in ("0f", "0d"):
        width = 32 if head == "0f" else 64
        return Imm(int(text[2:], 16), width)
    body = text.rstrip("U") if head != "0x" or text.endswith("U") else text
    if head == "0x":
        return Imm(int(body, 16))
    if head == "0b":
        return Imm(int(body[2:], 2))
    if any(mark in body for mark in ".eE"):
        return Imm(float(body), 64)
    return Imm(int(body, 8) if len(body) > 1 and body[0] == "0" else int(body))


def float_of(imm: Imm) -> float:
    """The real value of a float literal."""
    if isinstance(imm.value, float):
        return imm.value
    if imm.width == 32:
        return float(struct.unpack("<f", struct.pack("<I", imm.value))[0])
    if imm.width == 64:
        return float(struct.unpack("<d", struct.pack("<Q", imm.value))[0])
    return float(imm.value)
