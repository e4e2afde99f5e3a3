"""The parts of mangled names: the letters of the Itanium C++ ABI, types as two texts, and a cursor."""

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
"""The suffix that C++ writes after an integer of each type."""
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
    """Raised for text that is no mangled name, or one of an unknown kind."""


class Type(NamedTuple):
    """A type as the texts to the left and to the right of a declared name, such as ``void (*`` and ``)(int)``."""

    left: str
    right: str = ""
    compound: bool = False  # a function or an array: a pointer to it needs parentheses
    pack: tuple[Type, ...] | None = None

    @property
    def text(self) -> str:
        """The type without a declared name."""
        if self.pack is not None:
            return ", ".join(t.text for t in self.pack)
        return self.left + " " * self.right.startswith("(") * self.compound + self.right

    def declared(self, mark: str) -> Type:
        """A pointer or reference to the type."""
        if self.pack is not None:
            return Type("", pack=tuple(t.declared(mark) for t in self.pack))
        space = " " * (mark[0] not in "*& ")
        if self.compound:
            return Type(f"{self.left} ({mark.strip()}", f"){self.right}")
        return Type(self.left + space + mark, self.right)


class Characters:
    """A position in a mangled name."""

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
        """The number of a substitution in base 36: 0 for ``_``, 1 for ``0_``, 2 for ``1_``."""
        digits = self.match(_SEQUENCE)[1]
        return int(digits, 36) + 1 if digits else 0

    def until_end(self, one: Callable[[], Type]) -> list[Type]:
        """The text before the next ``E``."""
        found = []
        while not self.accept("E"):
            found.append(one())
        return found
