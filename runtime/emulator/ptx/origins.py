"""The origins of PTX: the lines of CUDA C++, Python or another language that ``.loc`` and ``.file`` name.

These directives are read only when a line is asked for. A directive with unexpected contents names no line.
"""

from __future__ import annotations

import linecache
import os
import re
import stat
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ....compiler.errors import Location
from .demangle import demangle
from .limits import short

LARGEST = 1 << 24
"""The most bytes of a source file that is read."""
DEEPEST = 8
"""The most inlined calls that an origin lists beside the first."""
_LOC = re.compile(
    r"\s*\.loc\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})"
    r"(?:\s*,\s*function_name\s+([\w$]+)(?:\s*\+\s*(\d{1,9}))?\s*,\s*inlined_at\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9}))?"
    r"\s*;?\s*(?://(.*))?$"
)
_FILE = re.compile(r'\s*\.file\s+(\d{1,9})\s+"((?:[^"\\]|\\.)*)"')
_FUNCTION = re.compile(r"\s*(?:\.(?:visible|weak|extern)\s+)*\.(?:entry|func)\b")
_CALL = re.compile(r"@\[ (.+?):(\d{1,9}):\d{1,9}(?= @\[| \])")
_STRINGS = re.compile(r"\s*\.section\s+\.debug_str\b")
_LABEL = re.compile(r"\s*([\w$]+):\s*$")
_BYTES = re.compile(r"\s*\.b8\s+([\d,\s]+)")
_ESCAPE = re.compile(rb'\\([0-7]{3}|[\\"])')
_Key = tuple[int, int, int]


@dataclass(frozen=True)
class _Place:
    """One ``.loc``: a line of a file and, in an inlined function, the function's name and the place of its call."""

    file: int
    line: int
    function: tuple[str, int] | None = None
    caller: _Place | None = None
    comment: str = ""


class Origins:
    """The origins of the lines of one PTX text."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.files: dict[int, str] = {}
        self._rows: list[int] = []  # PTX lines, ascending, from which on a place holds
        self._places: list[_Place | None] = []
        self._found: dict[int, Location | None] = {}
        self._labels: dict[str, int] = {}
        self._strings = bytearray()
        self._read(iter(lines))

    def at(self, line: int) -> Location | None:
        """The source line of the 1-based PTX line ``line``, with its text.

        Of an inlined function that is the line of the kernel that calls it; the function's own line comes behind.
        """
        if line not in self._found:
            self._found[line] = self._at(line)
        return self._found[line]

    def _at(self, line: int) -> Location | None:
        k = bisect_right(self._rows, line) - 1
        place = self._places[k] if k >= 0 else None
        if place is None or place.file not in self.files or not place.line:
            return None
        file, line = self.files[place.file], place.line
        calls = list(self._calls(place))
        if not calls:
            return Location(file, line, _text(file, line))
        user, at = self._file(calls[-1][0]), int(calls[-1][1])
        return Location(user, at, " ".join(filter(None, (_text(user, at), self._inlined(place, calls[:-1])))))

    def _inlined(self, place: _Place, calls: Sequence[tuple[str, str]]) -> str:
        """The inlined function that a line is in, with its text, and the calls that lead there, the innermost first."""
        name = demangle(self._string(*place.function)) if place.function else ""
        file = self.files[place.file]
        text = _text(file, place.line)
        by = ", ".join(f"{Path(name).name}:{line}" for name, line in calls[:DEEPEST])
        inner = f"{Path(file).name}:{place.line}{f': {text}' if text else ''}"
        return f"(inlined: {f'{name} at ' if name else ''}{inner}{f', called at {by}' if by else ''})"

    def _file(self, name: str) -> str:
        """The path of a file that a comment names by its last component."""
        return next((path for path in self.files.values() if Path(path).name == name), name)

    def _calls(self, place: _Place) -> Iterator[tuple[str, str]]:
        """The file and the line of each call around an inlined place, the innermost first."""
        if place.caller is None:
            yield from _CALL.findall(place.comment)
            return
        caller: _Place | None = place.caller
        while caller is not None:
            yield self.files.get(caller.file, "?"), str(caller.line)
            caller = caller.caller

    def _string(self, label: str, offset: int) -> str:
        """A string of ``.debug_str``."""
        start = self._labels.get(label, len(self._strings)) + offset
        return bytes(self._strings[start : self._strings.find(0, start)]).decode(errors="replace")

    # --- reading -----------------------------------------------------------------------------------------------------
    def _read(self, lines: Iterator[str]) -> None:
        known: dict[_Key, _Place] = {}  # of this function: what is inlined names the line that calls it
        for number, text in enumerate(lines, 1):
            if ".loc" in text and (match := _LOC.match(text)):
                self._note(number, _place(match, known))
            elif ".file" in text and (match := _FILE.match(text)):
                self.files.setdefault(int(match[1]), _path(match[2]))
            elif (".entry" in text or ".func" in text) and _FUNCTION.match(text):
                known = {}
                self._note(number, None)
            elif ".debug_str" in text and _STRINGS.match(text):
                self._read_strings(lines)
                break  # sections come last

    def _note(self, number: int, place: _Place | None) -> None:
        self._rows.append(number)
        self._places.append(place)

    def _read_strings(self, lines: Iterator[str]) -> None:
        for text in lines:
            if match := _LABEL.match(text):
                self._labels[match[1]] = len(self._strings)
            elif match := _BYTES.match(text):
                self._strings += bytes(int(n) & 255 for n in re.findall(r"\d{1,3}", match[1]))
            elif text.strip() == "}":
                return


def _place(match: re.Match[str], known: dict[_Key, _Place]) -> _Place:
    file, line, column = (int(match[k]) for k in (1, 2, 3))
    place = _Place(file, line, comment=match[9] or "")
    if match[4]:
        at: _Key = (int(match[6]), int(match[7]), int(match[8]))
        place = _Place(file, line, (match[4], int(match[5] or 0)), known.get(at, _Place(*at[:2])))
    known[file, line, column] = place
    return place


def _path(text: str) -> str:
    """A path as PTX spells it, with octal escapes for characters beyond ASCII."""
    plain = _ESCAPE.sub(lambda m: m[1] if len(m[1]) == 1 else bytes([int(m[1], 8) & 255]), os.fsencode(text))
    path = os.fsdecode(plain)
    return os.path.normpath(path) if path.startswith("/") else path


def _text(file: str, line: int) -> str:
    """The text of a line, if the file can be read. If it is no plain file, only text that Python holds is used."""
    if file not in linecache.cache:
        try:
            found = Path(file).stat()
        except (OSError, ValueError):
            return ""
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
            return ""
    return short(" ".join(linecache.getline(file, line).split()))
