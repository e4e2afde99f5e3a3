"""Readable IR: values with names, and lines of the user's source beside operations.

Names and lines are in the locations of operations, which MLIR prints as a table at the end. A listing puts names into
values and lines into comments, so it still parses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..ir.source_lines import Lines
from .pipeline import printed

_DEFINED = r"(?m)^(#loc\d*) = loc\((.*)\)$"
_AT_THE_END = r" loc\((#loc\d*)\)$"


@dataclass(frozen=True)
class Listing:
    """How to print an operation.

    Attributes:
        names: whether values are printed with the names that ``locations.named`` gave them.
        comments: what to print beside operations, by number (``ir/source_lines.py``); none leaves locations out.
    """

    names: bool = False
    comments: Sequence[str] = ()

    def __call__(self, operation: Any) -> str:
        """The text of ``operation``, which parses again."""
        text = printed(operation, use_name_loc_as_prefix=self.names)
        if not self.comments:
            return text
        located = printed(operation, use_name_loc_as_prefix=self.names, enable_debug_info=True)
        return "".join(f"{line}{self._beside(number)}\n" for line, number in _numbered(text, located))

    def _beside(self, number: int | None) -> str:
        comment = self.comments[number] if number is not None and number < len(self.comments) else ""
        return comment and f"  // {comment}"


def comments(several: Iterable[Lines]) -> list[str]:
    """The comment beside the operations of each number: file, line and text.

    Operations that belong to the kernel and to no node of the program, which are most, have file and line alone.
    """
    found = []
    for lines in several:
        for i, place in enumerate(lines.places):
            text = "" if place is None else str(place) if i else f"{place.file}:{place.line}"
            found.append(" ".join(text.splitlines()))
    return found


def numbers(several: Iterable[Lines]) -> list[str]:
    """The comment beside the operations of each number: the number itself."""
    return [str(lines.first + i) for lines in several for i in range(len(lines.places))]


def _numbered(text: str, located: str) -> Iterator[tuple[str, int | None]]:
    """Each line of ``text`` with the number of its place, from the same IR printed with locations.

    Both have the same lines but for definitions of aliases, which begin with ``#``.
    """
    defined = dict(re.findall(_DEFINED, located))
    others = (line for line in located.splitlines() if not line.startswith("#"))
    for line in text.splitlines():
        if line.startswith("#"):
            yield line, None
            continue
        alias = re.search(_AT_THE_END, next(others))
        yield line, _number(alias[1], defined) if alias else None


def _number(alias: str, defined: Mapping[str, str]) -> int | None:
    """The number of the first place in a location, which is its column."""
    text = defined[alias]
    if found := re.search(r":\d+:(\d+)$", text):
        return int(found[1])
    parts = (_number(part, defined) for part in re.findall(r"#loc\d*", text))
    return next((n for n in parts if n is not None), None)
