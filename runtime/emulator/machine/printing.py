"""``printf`` of a kernel: formats arguments as C does, and collects the output of a launch up to a limit."""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Callable
from typing import TextIO

from ..ptx.regions import align_up

MOST = 1 << 20
"""The most bytes that a launch prints: the default size of a GPU's buffer."""
_WIDEST = 4096
"""The greatest width and precision of a field, in characters."""
_FIELD = re.compile(
    rb"%(?P<flags>[-+ #0]*)(?P<width>\*|\d*)(?:\.(?P<precision>\*|-?\d*))?(?P<length>hh|h|ll|l|j|z|t|L)?"
    rb"(?P<kind>[diouxXcfFeEgGaAsp%])"
)
_LONG = (b"l", b"ll", b"j", b"z", b"t")


class Printed:
    """The output of a launch. What exceeds ``MOST`` bytes is dropped, and a line at the end says so."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = self.dropped = 0

    def add(self, said: bytes) -> None:
        """Adds ``said``, whole or not at all."""
        if self.dropped or self.size + len(said) > MOST:
            self.dropped += len(said)
            return
        self.parts.append(said)
        self.size += len(said)

    def show(self, out: TextIO | None) -> None:
        """Writes the output to ``out``, or to standard output."""
        if not self.parts:
            return
        out = out or sys.stdout
        if self.dropped:
            self.parts.append(b"\n[printf: %d bytes more are left out]\n" % self.dropped)
        encoding = getattr(out, "encoding", None) or "utf-8"
        text = b"".join(self.parts).decode(errors="replace")
        out.write(text.encode(encoding, "replace").decode(encoding))
        out.flush()
        self.parts, self.size, self.dropped = [], 0, 0


class _Arguments:
    """The arguments in memory, one after another, each at a multiple of its size."""

    def __init__(self, address: int, read: Callable[[int, int], bytes]) -> None:
        self.address, self.read, self.taken = address, read, 0

    def take(self, code: str) -> int | float:
        """The next argument, of a type of ``struct``."""
        size = struct.calcsize(code)
        at = align_up(self.address, size)
        self.address, self.taken = at + size, self.taken + 1
        value: int | float = struct.unpack(f"<{code}", self.read(at, size))[0]
        return value


def formatted(
    text: bytes, address: int, read: Callable[[int, int], bytes], string: Callable[[int], bytes]
) -> tuple[bytes, int]:
    """The output of ``printf`` for the format ``text``, and the number of arguments that it took.

    ``read(address, size)`` and ``string(address)`` read memory; the arguments begin at ``address``. Text that is not a
    conversion of C is printed as it is.
    """
    arguments = _Arguments(address, read)
    out = _FIELD.sub(lambda m: _field(m, arguments, string), text)
    return out, arguments.taken


def _field(match: re.Match[bytes], arguments: _Arguments, string: Callable[[int], bytes]) -> bytes:
    kind, flags = match["kind"].decode(), match["flags"].decode()
    if kind == "%":
        return b"%"
    width = _size(match["width"], arguments)
    if width < 0:
        flags, width = flags + "-", -width
    precision = None if match["precision"] is None else _size(match["precision"], arguments)
    if precision is not None and precision < 0:
        precision = None
    if kind == "s":
        body = string(int(arguments.take("Q")))[:precision]
    elif kind == "c":
        body = bytes([int(arguments.take("i")) & 255])
    elif kind == "p":
        place = int(arguments.take("Q"))
        body = b"0x%x" % place if place else b"(nil)"
    elif kind in "diouxX":
        return _integer(kind, match["length"] or b"", flags, width, precision, arguments)
    else:
        return _real(kind, flags, width, precision, float(arguments.take("d")))
    return body.ljust(width) if "-" in flags else body.rjust(width)


def _size(text: bytes, arguments: _Arguments) -> int:
    value = int(arguments.take("i")) if text == b"*" else int(text[:9] or b"0")
    return max(-_WIDEST, min(_WIDEST, value))


def _integer(kind: str, length: bytes, flags: str, width: int, precision: int | None, arguments: _Arguments) -> bytes:
    bits = 64 if length in _LONG else 32
    value = int(arguments.take("q" if bits == 64 else "i"))
    bits = {b"h": 16, b"hh": 8}.get(length, bits)
    value &= (1 << bits) - 1
    if kind in "di" and value >> bits - 1:
        value -= 1 << bits
    digits = format(abs(value), {"o": "o", "x": "x", "X": "X"}.get(kind, "d"))
    digits = "" if precision == 0 and value == 0 else digits.rjust(precision or 0, "0")
    if kind == "o" and "#" in flags and not digits.startswith("0"):
        digits = "0" + digits
    sign = "0" + kind if kind in "xX" and "#" in flags and value else ""
    if kind in "di":
        sign = "-" if value < 0 else "+" if "+" in flags else " " if " " in flags else ""
    return _padded(sign, digits, flags, width, precision is None)


def _real(kind: str, flags: str, width: int, precision: int | None, value: float) -> bytes:
    sign = "-" if struct.pack(">d", value)[0] >> 7 else "+" if "+" in flags else " " if " " in flags else ""
    size = abs(value)
    finite = size < float("inf")
    if not finite:
        digits = "nan" if value != value else "inf"
    elif kind in "aA":
        sign, digits = sign + "0x", _hexadecimal(size, precision, "#" in flags)
    else:
        alternate = "#" if "#" in flags else ""
        digits = f"{size:{alternate}.{6 if precision is None else precision}{kind.lower()}}"
    if kind.isupper():
        sign, digits = sign.upper(), digits.upper()
    return _padded(sign, digits, flags, width, finite)


def _hexadecimal(size: float, precision: int | None, point: bool) -> str:
    """A number that is not negative in the form of C's ``%a``, without ``0x``."""
    bits = struct.unpack("<Q", struct.pack("<d", size))[0]
    power, fraction = bits >> 52, bits & ((1 << 52) - 1)
    whole, power = (1, power - 1023) if power else (0, -1022 if fraction else 0)
    if precision is None:
        digits = f"{fraction:013x}".rstrip("0")
    elif precision < 13:
        step = 4 * (13 - precision)
        scaled = whole << 52 | fraction
        kept, rest = scaled >> step, scaled & ((1 << step) - 1)
        kept += rest > 1 << step - 1 or (rest == 1 << step - 1 and kept & 1)
        whole = kept >> 4 * precision
        digits = f"{kept & ((1 << 4 * precision) - 1):0{precision}x}" if precision else ""
    else:
        digits = f"{fraction:013x}".ljust(precision, "0")
    return f"{whole}{'.' if digits or point else ''}{digits}p{power:+d}"


def _padded(sign: str, digits: str, flags: str, width: int, zeros: bool) -> bytes:
    if "-" in flags:
        text = (sign + digits).ljust(width)
    elif "0" in flags and zeros:
        text = sign + digits.rjust(width - len(sign), "0")
    else:
        text = (sign + digits).rjust(width)
    return text.encode()
