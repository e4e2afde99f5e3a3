"""Parses ``--launch``, which has CUDA's launch syntax.

    [kernel]<<<grid, block[, dynamic_shared[, cluster]]>>>(argument, ...)

A kernel is named as in the PTX or as in C++ (``tools::sum<float, 256>``), or by the beginning of its C++ name.
A grid, block or cluster is ``132``, ``(16, 4)`` or ``dim3(16, 4, 1)``. There is one argument for each ``.param``:

    f32[4096x1024]  f32[1024]=0  f32[1024]=arange  f32[1024]=uninit  f32[1024]=data.npy  data.npy    new arrays
    x:f32[1024]  x:data.npy  x                                        a named one, and the same again later
    1024  0.5  1024:u64  null                                         a scalar, of the parameter's type or a named one
    p:{x:f32[64], n:i32=64}  {x, 64:i32, {u8[4], 1:u8}}               a structure: its fields, laid out as in C
    hex:0000803f00000040                                              a structure: its bytes, in the order of memory

An array without ``=`` is random; a field ``n:i32`` without is 0. An array in a structure is a pointer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from ...compiler.dtypes import DType, dtype
from ...compiler.errors import DTypeError, WarpfoldError, error

FILLS = ("arange", "uninit")
_TOKEN = re.compile(
    r"""\s*(?:hex:(?P<hex>(?:[0-9a-fA-F]{2})+)(?![\w.])
      | (?P<path>[^\s,()\[\]=<>:;]+\.npy)
      | (?P<mark><<<|>>>|[(),:=\[\]{}])
      | (?P<number>[+-]?(?:0[xX][0-9a-fA-F]+|inf\b|nan\b|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])))
      | (?P<shape>\d+(?:[xX]\d+)+)
      | (?P<name>[A-Za-z_$%][\w$%]*)
      | (?P<end>;?\s*$))""",
    re.VERBOSE,
)
_AROUND = 120
"""Characters of a long launch that an error shows on each side of the caret."""
_DIGITS = 4000
"""Greatest number of digits in a number."""
_DEEPEST = 8
"""Most structures in each other."""
_SPELLED = re.compile(r"\s*([A-Za-z_$%(][^;=]*?)\s*(?=<<<)")
"""A kernel's name in C++ spelling."""
_SCALARS = {f"{k}{n}": n // 8 for k in "usbi" for n in (8, 16, 32, 64)} | {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}
"""Types of a scalar in the spelling of PTX or warpfold, with their bytes."""


@dataclass(frozen=True)
class Token:
    """One token of a launch; ``at`` is its offset in the text."""

    kind: str
    text: str
    at: int


@dataclass(frozen=True)
class Argument:
    """One argument; ``at`` is its offset in the text."""

    at: int


@dataclass(frozen=True)
class Scalar(Argument):
    """A number; ``type`` is as written, or empty for the type of the parameter."""

    value: int | float
    type: str = ""

    @property
    def size(self) -> int | None:
        """Bytes of the type; None if no type is written."""
        return _SCALARS.get(self.type)


@dataclass(frozen=True)
class Raw(Argument):
    """The bytes of a structure that is passed by value."""

    data: bytes


@dataclass(frozen=True)
class Structure(Argument):
    """A structure that is passed by value."""

    fields: tuple[Argument, ...]


@dataclass(frozen=True)
class Made(Argument):
    """A new array.

    Attributes:
        name: as written, or empty.
        dtype, shape: None if a file gives them.
        fill: a number, one of ``FILLS``, the path of a ``.npy`` file, or None for random elements.
    """

    name: str
    dtype: DType | None
    shape: tuple[int, ...] | None
    fill: int | float | str | None


@dataclass(frozen=True)
class Again(Argument):
    """A reference to an array that was named before."""

    name: str


@dataclass(frozen=True)
class Launching:
    """One launch; ``kernel`` may be empty; ``end`` is the offset of the last parenthesis."""

    text: str
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    cluster: tuple[int, int, int] | None
    arguments: tuple[Argument, ...]
    end: int

    def fail(self, code: str, at: int, **facts: object) -> WarpfoldError:
        """The error ``code`` with this launch and a caret under offset ``at``."""
        return error(code, where=None, place=caret(self.text, at), **facts)


def caret(text: str, at: int) -> str:
    """``text`` (of a long one the part around ``at``) with a caret under offset ``at``, on lines of their own."""
    if len(text) > 2 * _AROUND:
        start = max(0, at - _AROUND)
        before, after = "..." * (start > 0), "..." * (at + _AROUND < len(text))
        text, at = before + text[start : at + _AROUND] + after, at - start + len(before)
    return f"\n  {text}\n  {' ' * at}^"


def _short(text: str) -> str:
    return text if len(text) <= _AROUND else f"{text[:8]}... of {len(text)} characters"


def read(text: str) -> Launching:
    """The launch that ``text`` describes.

    Raises:
        ArgumentError: WF820 with the position, the expected and the found token.
    """
    return _Reader(" ".join(text.split())).launching()


class _Reader:
    """A recursive-descent parser over the tokens of one launch."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[Token] = []
        self.at = 0
        place = 0
        if match := _SPELLED.match(text):
            self.tokens.append(Token("name", match[1], match.start(1)))
            place = match.end()
        while not self.tokens or self.tokens[-1].kind != "end":
            match = _TOKEN.match(text, place)
            if match is None or match.lastgroup is None:
                start = place + len(text[place:]) - len(text[place:].lstrip())
                self._refuse(
                    "a kernel's name, a number, a type or one of <<< >>> ( ) [ ] , : =", Token("", text[start], start)
                )
            kind = match.lastgroup
            self.tokens.append(Token(kind, match[kind], match.start(kind)))
            if kind in ("number", "shape") and not _countable(match[kind]):
                self._refuse(f"a finite number, or inf, of at most {_DIGITS} digits", self.tokens[-1])
            place = match.end()

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.at]

    def launching(self) -> Launching:
        """A whole launch."""
        kernel = self._take("name").text if self.token.kind == "name" else ""
        self._mark("<<<")
        grid = self._sizes()
        self._mark(",")
        block = self._sizes()
        shared = self._integer("the bytes of dynamic shared memory") if self._accept(",") else 0
        cluster = self._sizes() if self._accept(",") else None
        self._mark(">>>")
        self._mark("(")
        arguments: list[Argument] = []
        while self.token.text != ")":
            if arguments:
                self._mark(",", "')' or ','")
            arguments.append(self._argument())
        end = self._mark(")").at
        if self.token.kind != "end":
            self._refuse("nothing behind the ')'")
        return Launching(self.text, kernel, grid, block, shared, cluster, tuple(arguments), end)

    def _sizes(self) -> tuple[int, int, int]:
        """``132``, ``(16, 4)`` or ``dim3(16, 4, 1)``."""
        if self.token.text != "dim3" and self.token.text != "(":
            return self._integer("a size, (x, y, z) or dim3(x, y, z)", 1), 1, 1
        self._accept("dim3")
        self._mark("(")
        sizes = [self._integer("a size", 1)]
        while self._accept(","):
            sizes.append(self._integer("a size", 1))
        if len(sizes) > 3:
            self._refuse("at most three sizes")
        self._mark(")", "')' or ','")
        x, y, z = (*sizes, 1, 1)[:3]
        return x, y, z

    def _argument(self, depth: int = 0) -> Argument:
        at = self.token.at
        if self.token.text == "{":
            return self._structure(at, depth)
        if self.token.kind == "number":
            return self._scalar(at)
        if self.token.kind == "hex":
            return Raw(at, bytes.fromhex(self._take("hex").text))
        if self.token.kind == "path":
            return Made(at, "", None, None, self._take("path").text)
        what = "an argument: an array such as f32[1024], a name, a number, null, {fields} or hex:00ff"
        name = self._take("name", what).text
        if name == "null":
            return Scalar(at, 0)
        if self._accept(":"):
            if self.token.kind == "path":
                return Made(at, name, None, None, self._take("path").text)
            if self.token.text == "{":
                return self._structure(at, depth)
            if depth and self.token.text in _SCALARS and self.tokens[self.at + 1].text != "[":
                type_ = self._take("name").text
                return Scalar(at, self._value() if self._accept("=") else 0, type_)
            return self._array(at, name, self._take("name", "the array behind its name: f32[1024] or data.npy"))
        return self._array(at, "", self.tokens[self.at - 1]) if self.token.text == "[" else Again(at, name)

    def _structure(self, at: int, depth: int) -> Structure:
        """``{x:f32[64], n:i32=64}``: the fields in their order."""
        if depth == _DEEPEST:
            self._refuse(f"at most {_DEEPEST} structures in each other")
        self._mark("{")
        fields: list[Argument] = []
        while self.token.text != "}":
            if fields:
                self._mark(",", "'}' or ','")
            fields.append(self._argument(depth + 1))
            if isinstance(fields[-1], Scalar) and not fields[-1].type and self.tokens[self.at - 1].text != "null":
                self._refuse("':' and the type of the number, such as 64:i32")
        self._mark("}")
        return Structure(at, tuple(fields))

    def _value(self) -> int | float:
        if self.token.kind != "number":
            self._refuse("a number")
        return _number(self._take("number").text)

    def _scalar(self, at: int) -> Scalar:
        value = _number(self._take("number").text)
        if not self._accept(":"):
            return Scalar(at, value)
        type_ = self._take("name", "a type").text
        if type_ not in _SCALARS:
            self.at -= 1
            self._refuse(f"one of the types {' '.join(_SCALARS)}")
        return Scalar(at, value, type_)

    def _array(self, at: int, name: str, type_: Token) -> Made:
        try:
            found = dtype(type_.text)
        except DTypeError:
            self._refuse("an element type such as f32 or i64", type_)
        self._mark("[")
        if self.token.kind not in ("shape", "number") or not re.fullmatch(r"[\dx]+", self.token.text.lower()):
            self._refuse("a shape such as 1024 or 4096x1024")
        shape = tuple(int(n) for n in self._take(self.token.kind).text.lower().split("x"))
        self._mark("]")
        return Made(at, name, found, shape, self._fill() if self._accept("=") else None)

    def _fill(self) -> int | float | str:
        if self.token.kind == "number":
            return _number(self._take("number").text)
        if self.token.kind != "path" and self.token.text not in FILLS:
            self._refuse(f"a number, {', '.join(FILLS)} or a .npy file")
        return self._take(self.token.kind).text

    def _integer(self, what: str, least: int = 0) -> int:
        value = _number(self.token.text) if self.token.kind == "number" else None
        if not isinstance(value, int) or value < least:
            self._refuse(f"{what}, not below {least}")
        self.at += 1
        return value

    def _take(self, kind: str, what: str = "") -> Token:
        token = self.token
        if token.kind != kind:
            self._refuse(what or f"a {kind}")
        self.at += 1
        return token

    def _mark(self, mark: str, what: str = "") -> Token:
        token = self.token
        if token.text != mark:
            self._refuse(what or f"{mark!r}")
        self.at += 1
        return token

    def _accept(self, text: str) -> bool:
        found = self.token.text == text
        self.at += found
        return found

    def _refuse(self, expected: str, token: Token | None = None) -> NoReturn:
        token = token or self.token
        got = repr(_short(token.text)) if token.text.strip("; ") else "the end"
        raise error("WF820", expected=expected, got=got, place=caret(self.text, token.at))


def _countable(text: str) -> bool:
    """Whether all numbers of ``text`` are short, and finite unless written as infinite."""
    if max(map(len, re.split("[xX]", text))) > _DIGITS:
        return False
    return "x" in text.lower() or not any(c in text for c in ".eE") or abs(float(text)) < float("inf")


def _number(text: str) -> int | float:
    try:
        return int(text, 0)
    except ValueError:
        return float(text)
