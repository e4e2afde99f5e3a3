"""What mangled names are made of: the letters of the Itanium C++ ABI, types as two texts, and a cursor."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

BUILTIN = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double",
    "e": "long double", "g": "__float128", "z": "...",
}  # fmt: skip
EXTENDED = {
    "Dn": "decltype(nullptr)", "Di": "char32_t", "Ds": "char16_t", "Du": "char8_t", "Da": "auto", "Dh": "half",
    "DF16_": "_Float16", "DF16b": "std::bfloat16_t",
}  # fmt: skip
LITERAL = {"i": "", "j": "u", "l": "l", "m": "ul", "x": "ll", "y": "ull"}
"""What C++ writes behind an integer of a type."""
STANDARD = {
    "t": "std", "a": "std::allocator", "b": "std::basic_string", "s": "std::string", "i": "std::istream",
    "o": "std::ostream", "d": "std::iostream",
}  # fmt: skip
OPERATORS = {
    "nw": " new", "na": " new[]", "dl": " delete", "da": " delete[]", "ps": "+", "ng": "-", "ad": "&", "de": "*",
    "co": "~", "pl": "+", "mi": "-", "ml": "*", "dv": "/", "rm": "%", "an": "&", "or": "|", "eo": "^", "aS": "=",
    "pL": "+=", "mI": "-=", "mL": "*=", "dV": "/=", "rM": "%=", "aN": "&=", "oR": "|=", "eO": "^=", "ls": "<<",
    "rs": ">>", "lS": "<<=", "rS": ">>=", "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=",
    "ss": "<=>", "nt": "!", "aa": "&&", "oo": "||", "pp": "++", "mm": "--", "cm": ",", "pm": "->*", "pt": "->",
    "cl": "()", "ix": "[]", "qu": "?",
}  # fmt: skip
NUMBER = re.compile(r"\d{1,4}")
DIGIT = re.compile(r"\d")
ORDINAL = re.compile(r"(\d{0,4})_")
_SEQUENCE = re.compile(r"([0-9A-Z]{0,4})_")


class UnknownError(Exception):
    """A name that is none, or one of more than is read here."""


class Type(NamedTuple):
    """A type as the text on the left of what it declares and that on the right, such as ``void (*`` and ``)(int)``."""

    left: str
    right: str = ""
    compound: bool = False  # a function or an array: a pointer to it needs parentheses
    pack: tuple[Type, ...] | None = None

    @property
    def text(self) -> str:
        """The type of nothing in particular."""
        if self.pack is not None:
            return ", ".join(t.text for t in self.pack)
        return self.left + " " * self.right.startswith("(") * self.compound + self.right

    def declared(self, mark: str) -> Type:
        """A pointer, reference or the like to it."""
        if self.pack is not None:
            return Type("", pack=tuple(t.declared(mark) for t in self.pack))
        space = " " * (mark[0] not in "*& ")
        if self.compound:
            return Type(f"{self.left} ({mark.strip()}", f"){self.right}")
        return Type(self.left + space + mark, self.right)


class Characters:
    """A name and a place in it."""

    def __init__(self, name: str, at: int) -> None:
        self.name, self.at = name, at

    def here(self, *texts: str) -> bool:
        """Whether one of ``texts`` comes next."""
        return self.name.startswith(texts, self.at)

    def accept(self, text: str) -> bool:
        """Takes ``text`` if it comes next."""
        found = self.here(text)
        self.at += len(text) * found
        return found

    def expect(self, text: str) -> None:
        """Takes ``text``."""
        if not self.accept(text):
            raise UnknownError

    def match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Takes what ``pattern`` matches."""
        found = pattern.match(self.name, self.at)
        if found is None:
            raise UnknownError
        self.at = found.end()
        return found

    def sequence(self) -> int:
        """The number of a ``_`` (0), ``0_`` (1), ``1_`` (2): of a substitution in base 36."""
        digits = self.match(_SEQUENCE)[1]
        return int(digits, 36) + 1 if digits else 0

    def until_end(self, one: Callable[[], Type]) -> list[Type]:
        """What comes before an ``E``."""
        found = []
        while not self.accept("E"):
            found.append(one())
        return found
