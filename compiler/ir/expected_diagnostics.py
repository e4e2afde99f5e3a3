"""Expected diagnostics, as tests write them: reads the comments of an MLIR file and compares.

``// expected-error @+1 {{text}}`` says that an error holding ``text`` comes from the next line. The kinds are error,
warning, remark and note; the place is this line, ``@+N``, ``@-N``, ``@above``, ``@below`` or ``@unknown``; after
``expected-error-re`` the text may hold regular expressions in double braces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_COMMENT = re.compile(
    r"expected-(?P<kind>error|warning|remark|note)(?P<re>-re)?\s*"
    r"(?:@(?P<place>[+-]\d+|above|below|unknown)\s*)?\{\{(?P<text>.*)\}\}\s*$"
)
_SUSPECT = re.compile(r"//.*\bexpected-(error|warning|remark|note)")
_EMBEDDED = re.compile(r"\{\{(.*?)\}\}")


@dataclass(frozen=True)
class Diagnostic:
    """A diagnostic from MLIR: ``kind`` is error, warning, remark or note; ``line`` is None if it is unknown."""

    kind: str
    line: int | None
    column: int
    text: str


@dataclass(frozen=True)
class Expectation:
    """The diagnostic that the comment on line ``written`` expects: ``kind``, ``line`` and matching text."""

    kind: str
    line: int | None
    text: str
    pattern: re.Pattern[str]
    written: int

    def meets(self, came: Diagnostic) -> bool:
        """Whether ``came`` is what this expectation asks for."""
        return (came.kind, came.line) == (self.kind, self.line) and self.pattern.search(came.text) is not None


def expectations(lines: Sequence[str], first_line: int = 1) -> list[Expectation]:
    """The expectations written in ``lines``, the first of which is line ``first_line`` of its file.

    Raises:
        ValueError: a comment that looks like an expectation and is not one, which would otherwise pass silently.
    """
    found = []
    for index, line in enumerate(lines):
        match = _COMMENT.search(line)
        if match is not None:
            target = _target(lines, index, match["place"])
            place = None if target is None else target + first_line
            pattern = re.compile(_regex(match["text"]) if match["re"] else re.escape(match["text"]))
            found.append(Expectation(match["kind"], place, match["text"], pattern, index + first_line))
        elif _SUSPECT.search(line):
            raise ValueError(f"{index + first_line}: not a well-formed expectation: {line.strip()}")
    return found


def mismatches(expected: Iterable[Expectation], came: Iterable[Diagnostic]) -> list[Diagnostic]:
    """What is wrong, as error diagnostics: each that came unexpected, then each expectation that nothing met."""
    open_ones = list(expected)
    wrong = []
    for diagnostic in came:
        met = next((e for e in open_ones if e.meets(diagnostic)), None)
        if met is not None:
            open_ones.remove(met)
        else:
            text = f"unexpected {diagnostic.kind}: {diagnostic.text}"
            wrong.append(Diagnostic("error", diagnostic.line, diagnostic.column, text))
    for e in open_ones:
        wrong.append(Diagnostic("error", e.written, 1, f'expected {e.kind} "{e.text}" was not produced'))
    return wrong


def _target(lines: Sequence[str], index: int, place: str | None) -> int | None:
    """The index of the line that a place means; above and below skip lines that hold expectations themselves."""
    if place is None:
        return index
    if place == "unknown":
        return None
    if place in ("above", "below"):
        step = -1 if place == "above" else 1
        index += step
        while 0 <= index < len(lines) and _COMMENT.search(lines[index]):
            index += step
        return index
    return index + int(place)


def _regex(text: str) -> str:
    """A regular expression for text that is literal outside its double braces."""
    pieces = _EMBEDDED.split(text)
    return "".join(piece if index % 2 else re.escape(piece) for index, piece in enumerate(pieces))
