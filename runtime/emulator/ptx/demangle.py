"""Demangles C++ names for display: kernels, device functions and shared variables have mangled names in PTX.

``demangle`` reads the Itanium C++ ABI's names as far as CUDA code has them: nested names, templates with types, numbers
and packs, pointers, functions, local names, lambdas. Other names are shown as they are. The spelling is that of
c++filt, except that all anonymous namespaces are ``(anonymous namespace)`` and functions have no result type.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from .mangled import (
    BUILTIN,
    DIGIT,
    EXTENDED,
    LITERAL,
    NUMBER,
    OPERATORS,
    ORDINAL,
    STANDARD,
    Characters,
    Type,
    UnknownError,
)

_PARAMETER = re.compile(r"(.+)_param_(\d+)")
LONGEST = 4096
"""The most characters of a name, mangled or not: substitutions can double it again and again."""
MOST = 256
"""The most elements of a pack."""
DEEPEST = 64
"""The deepest nesting of names and types."""


class _Name(NamedTuple):
    """A name, its template arguments if it ends with some, and the qualifiers of a member function."""

    text: str
    arguments: list[Type] | None = None
    qualifiers: str = ""
    makes: bool = False  # a constructor or destructor, whose templates name no result


@lru_cache(maxsize=4096)
def demangle(name: str) -> str:
    """``name`` as C++ spells it; unchanged if it is not mangled, or in a way that is not known here."""
    if not name.startswith("_Z") or len(name) > LONGEST:
        return name
    if parameter := _PARAMETER.fullmatch(name):
        function = demangle(parameter[1])
        return name if function == parameter[1] else f"parameter {parameter[2]} of {function}"
    try:
        return _Reader(name).whole()
    except (UnknownError, IndexError, KeyError, RecursionError):
        return name


class _Reader(Characters):
    """A recursive-descent parser over one name."""

    def __init__(self, name: str) -> None:
        super().__init__(name, 2)
        self.depth = self.work = 0
        self.known: list[Type] = []
        self.arguments: list[Type] = []
        self.turn: int | None = None  # which element of packs is meant, within an expansion
        self.turns = 0

    # --- what has been seen ------------------------------------------------------------------------------------------
    def note(self, t: Type) -> Type:
        """Records a component that a substitution may stand for."""
        if len(t.left) + len(t.right) > LONGEST:
            raise UnknownError
        self.known.append(t)
        return t

    def substitution(self) -> Type:
        """``S_``, ``S0_``, or a name of the standard library."""
        self.expect("S")
        if standard := STANDARD.get(self.name[self.at]):
            self.at += 1
            return Type(standard)
        n = self.sequence()
        if n >= len(self.known):
            raise UnknownError
        return self.known[n]

    def parameter(self) -> Type:
        """``T_``: an argument of the function's template."""
        self.expect("T")
        n = self.sequence()
        if n >= len(self.arguments):
            raise UnknownError
        found = self.arguments[n]
        if found.pack is None or self.turn is None:
            return found
        self.turns = len(found.pack)
        return found.pack[self.turn] if self.turn < len(found.pack) else Type("")

    # --- names -------------------------------------------------------------------------------------------------------
    def whole(self) -> str:
        """The name of a function with its parameters, or of a variable."""
        found = self.encoding()
        if self.at < len(self.name):
            raise UnknownError
        return found

    def encoding(self) -> str:
        """A name, and the parameters if it is a function's."""
        name = self.named()
        if self.at == len(self.name) or self.here("E"):
            return name.text
        outer = self.arguments
        if name.arguments is not None:
            self.arguments = name.arguments
            if not name.makes:
                self.type()  # what it returns
        found = []
        while self.at < len(self.name) and not self.here("E"):
            found.append(self.type())
        self.arguments = outer
        return name.text + _listed(found) + name.qualifiers

    def named(self) -> _Name:
        """A name of any kind."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise UnknownError
        found = self.nested() if self.accept("N") else self.local() if self.accept("Z") else self.unscoped()
        self.depth -= 1
        if len(found.text) > LONGEST:
            raise UnknownError
        return found

    def unscoped(self) -> _Name:
        """A name in no namespace, or in ``std``."""
        if self.here("S") and not self.here("St"):
            name = self.substitution()
        else:
            name = Type("std::" * self.accept("St") + self.unqualified(""))
            if self.here("I"):
                self.note(name)
        return _Name(*self.templated(name.text)) if self.here("I") else _Name(name.text)

    def nested(self) -> _Name:
        """Nested names, up to an ``E``."""
        words = [word for letter, word in (("r", ""), ("V", " volatile"), ("K", " const")) if self.accept(letter)]
        words.append(" &" if self.accept("R") else " &&" if self.accept("O") else "")
        text, arguments, makes, noted = "", None, False, False
        while not self.accept("E"):
            if self.here("S"):
                text = "std" if self.accept("St") else self.substitution().text
                arguments, noted = None, False
                continue
            if self.here("I"):
                text, arguments = self.templated(text)
            elif self.here("T"):
                text, arguments = self.parameter().text, None
            else:
                makes = self.here("C", "D") and bool(text)
                own = self.unqualified(text)
                text, arguments = f"{text}::{own}" if text and own else text or own, None
            noted = True
            self.note(Type(text))
        if not text:
            raise UnknownError
        if noted:
            self.known.pop()  # the whole is noted where it is a type
        return _Name(text, arguments, "".join(words), makes)

    def local(self) -> _Name:
        """The name of an entity that is declared in a function."""
        function = self.encoding()
        self.expect("E")
        own = _Name("string literal") if self.accept("s") else self.named()
        if self.accept("__"):
            self.match(NUMBER)
            self.expect("_")
        elif self.accept("_"):
            self.match(DIGIT)
        return own._replace(text=f"{function}::{own.text}")

    def unqualified(self, around: str) -> str:
        """One name; empty for the namespace of a file that nvcc makes."""
        self.accept("L")  # of a file alone
        if self.name[self.at].isdigit():
            return self.tagged(self.source())
        two = self.name[self.at : self.at + 2]
        if two in OPERATORS:
            self.at += 2
            return self.tagged(f"operator{OPERATORS[two]}")
        if re.fullmatch(r"[CD][0-5]", two) and around:
            self.at += 2
            own = re.sub(r"<.*", "", around, flags=re.DOTALL).rpartition("::")[2]
            return "~" * (two[0] == "D") + own
        if self.accept("Ut"):
            return f"{{unnamed type#{self.ordinal()}}}"
        if self.accept("Ul"):
            parameters = _listed(self.until_end(self.type))
            return f"{{lambda{parameters}#{self.ordinal()}}}"
        raise UnknownError

    def ordinal(self) -> int:
        """The number of an unnamed type or lambda, from 1."""
        digits = self.match(ORDINAL)[1]
        return int(digits) + 2 if digits else 1

    def source(self) -> str:
        """A name with its length before it."""
        length = int(self.match(NUMBER)[0])
        found = self.name[self.at : self.at + length]
        if len(found) < length or not found:
            raise UnknownError
        self.at += length
        if found.startswith("_INTERNAL_"):
            return ""
        return "(anonymous namespace)" if found.startswith("_GLOBAL__N_") else found

    def tagged(self, name: str) -> str:
        """``name`` with its ABI tags."""
        while self.accept("B"):
            name += f"[abi:{self.source()}]"
        return name

    # --- templates ---------------------------------------------------------------------------------------------------
    def templated(self, name: str) -> tuple[str, list[Type]]:
        """``name`` with the template arguments that follow, and the arguments."""
        self.expect("I")
        found = self.until_end(self.argument)
        text = ", ".join(t.text for t in found if t.pack is None or t.pack)
        # of operator<, or where >> would close two lists at once, as c++filt has it
        whole = f"{name}{' ' * name.endswith('<')}<{text}{' ' * text.endswith('>')}>"
        if len(whole) > LONGEST:
            raise UnknownError
        return whole, found

    def argument(self) -> Type:
        """A template argument: a type, a value, or a pack of them."""
        if self.accept("J"):
            return _packed(self.until_end(self.argument))
        if self.accept("L"):
            return Type(self.literal())
        if not self.accept("X"):
            return self.type()
        address = self.accept("ad")
        found = self.parameter() if self.here("T") else self.argument()
        self.expect("E")
        return Type(f"&({found.text})") if address else found

    def literal(self) -> str:
        """A template argument that is a value."""
        if self.accept("_Z"):
            found = self.encoding()
            self.expect("E")
            return found
        letter = self.name[self.at]
        t = self.type()
        end = self.name.index("E", self.at) if "E" in self.name[self.at :] else len(self.name)
        digits, self.at = self.name[self.at : end], end
        self.expect("E")
        if letter in "fde" or not re.fullmatch(r"n?\d+", digits):
            return f"({t.text})[{digits}]" if letter in "fde" and digits else self.nothing(t, digits)
        if letter == "b":
            return {"0": "false", "1": "true"}.get(digits, digits)
        value = digits.replace("n", "-")
        return f"{value}{LITERAL[letter]}" if letter in LITERAL else f"({t.text}){value}"

    def nothing(self, t: Type, digits: str) -> str:
        """``nullptr``, the only value of its type."""
        if digits or t.text != "decltype(nullptr)":
            raise UnknownError
        return "nullptr"

    # --- types -------------------------------------------------------------------------------------------------------
    def type(self) -> Type:
        """A type."""
        self.depth += 1
        self.work += 1
        if self.depth > DEEPEST or self.work > 2 * LONGEST:
            raise UnknownError
        found = self.one_type()
        self.depth -= 1
        return found

    def one_type(self) -> Type:
        letter = self.name[self.at]
        if letter in BUILTIN:
            self.at += 1
            return Type(BUILTIN[letter])
        if letter in "PRO":
            self.at += 1
            return self.note(self.referred({"P": "*", "R": "&", "O": "&&"}[letter]))
        if letter in "rVK":
            return self.note(self.qualified())
        if letter == "D":
            return self.extended()
        makers = {"F": self.function, "A": self.array, "M": self.member, "u": self.vendor, "T": self.parameter}
        if letter in makers:
            if letter != "T":
                self.at += 1
            found = self.note(makers[letter]())
            return self.note(Type(self.templated(found.text)[0])) if letter == "T" and self.here("I") else found
        if letter == "S" and not self.here("St"):
            found = self.substitution()
            return self.note(Type(self.templated(found.text)[0])) if self.here("I") else found
        return self.note(Type(self.named().text))

    def referred(self, mark: str) -> Type:
        """A pointer or reference; a reference to a reference is one."""
        to = self.type()
        if mark[0] == "&" and to.left.endswith("&"):
            return to if mark == "&&" or not to.left.endswith("&&") else to._replace(left=to.left[:-1])
        return to.declared(mark)

    def qualified(self) -> Type:
        """A type with const, volatile or restrict."""
        words = [
            word for letter, word in (("r", "__restrict"), ("V", "volatile"), ("K", "const")) if self.accept(letter)
        ]
        to = self.type()
        if to.pack is not None or to.compound:
            raise UnknownError
        for word in reversed(words):
            to = to._replace(left=f"{to.left} {word}")
        return to

    def extended(self) -> Type:
        """Types that begin with D: those of C++11 and later, and pack expansions."""
        if self.accept("Dp"):
            return self.expanded()
        if self.accept("Dv"):
            count = self.match(NUMBER)[0]
            self.expect("_")
            return self.note(Type(f"{self.type().text} __vector({count})"))
        for letters, text in EXTENDED.items():
            if self.accept(letters):
                return Type(text)
        raise UnknownError

    def expanded(self) -> Type:
        """A pattern for each element of a pack."""
        start, outer, self.turn, self.turns = self.at, self.turn, 0, 0
        found = [self.type()]
        for turn in range(1, self.turns):
            self.at, self.turn, known = start, turn, len(self.known)
            found.append(self.type())
            del self.known[known:]
        self.turn = outer
        return self.note(_packed(found[: self.turns]))

    def function(self) -> Type:
        """A function type."""
        self.accept("Y")  # extern "C"
        found = self.until_end(self.type)
        if not found:
            raise UnknownError
        result, *parameters = found
        return Type(result.left, _listed(parameters) + result.right, compound=True)

    def array(self) -> Type:
        """An array type."""
        count = ""
        if not self.here("_"):
            count = self.parameter().text if self.here("T") else self.match(NUMBER)[0]
        self.expect("_")
        of = self.type()
        return Type(of.left, f" [{count}]{of.right.removeprefix(' ')}", compound=True)

    def member(self) -> Type:
        """A pointer to a member of a class."""
        owner = self.type().text
        return self.type().declared(f"{owner}::*")

    def vendor(self) -> Type:
        """A vendor extended type."""
        return Type(self.source())


def _packed(elements: list[Type]) -> Type:
    """A pack, with nested packs flattened."""
    flat = [e for t in elements for e in (t.pack if t.pack is not None else (t,))]
    if len(flat) > MOST:
        raise UnknownError
    return Type("", pack=tuple(flat))


def _listed(parameters: list[Type]) -> str:
    """The parameters of a function in parentheses; a single ``void`` means none."""
    texts = [t.text for t in parameters if t.pack is None or t.pack]
    return f"({', '.join(texts)})" if texts != ["void"] else "()"
