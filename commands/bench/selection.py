"""Chooses the cases of a run by groups, names and patterns."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from ...compiler.errors import error, near
from . import cases
from .cases import CASES, PLAIN
from .peers import AnyCase
from .programs import case as programs
from .programs.cases import BACKWARD, CHOSEN, FUSED, MASKS, SCANS, SHAPES, STANDARD
from .programs.operations import OPERATIONS, split

LISTS: dict[str, Mapping[str, AnyCase]] = {
    "plain": PLAIN, programs.GROUP: FUSED, "standard": STANDARD, "shapes": SHAPES,
    "masks": MASKS, "backward": BACKWARD, "scan": SCANS, "topk": CHOSEN,
}  # fmt: skip
"""The lists of cases with a name: groups are named by their cases."""


def select(text: str, only: str = "*") -> list[AnyCase]:
    """The cases that a comma-separated list names, as far as their names match one of the patterns ``only``.

    An item is a group, a list, a name, a pattern, or a name with another shape. An empty text means all reductions.

    Raises:
        ArgumentError: WF740.
    """
    found: dict[str, AnyCase] = {}
    for word in filter(None, map(str.strip, text.split(","))):
        found |= _named(word)
    patterns = [pattern.strip() for pattern in only.split(",")]
    chosen = [c for c in (found or CASES).values() if any(fnmatchcase(c.name, pattern) for pattern in patterns)]
    if not chosen:
        raise _unknown(only)
    return chosen


def _named(word: str) -> dict[str, AnyCase]:
    """The cases of one item of the list."""
    if word in LISTS:
        return dict(LISTS[word])
    every: dict[str, AnyCase] = {**CASES, **FUSED, **BACKWARD, **SCANS, **CHOSEN}
    if word in cases.GROUPS:
        return {name: case for name, case in every.items() if case.group == word}
    known = {name: case for name, case in every.items() if fnmatchcase(name, word)}
    own = cases.parse(word) or programs.parse(word)
    if not known and own is None:
        raise _unknown(word)
    return known or {word: own}  # type: ignore[dict-item]


def _unknown(word: str) -> Exception:
    """The error for a name or a pattern that no case has."""
    groups = " ".join((*cases.GROUPS, *LISTS))
    return error("WF740", name=word, near=_slip(word), groups=groups)


def _slip(word: str) -> str:
    """The message for an unknown name: its first unknown part, or a case with a similar name."""
    parts = word.split(".")
    known: tuple[tuple[str, ...], ...] = (
        cases.GROUPS, (*cases.REDUCTIONS, *cases.ALIASES), tuple(cases.DTYPES),
    )  # fmt: skip
    if len(parts) == 3 and parts[0] not in cases.GROUPS:
        known = (tuple(OPERATIONS), tuple(programs.DTYPES))
        parts[0] = split(parts[0])[0]
    if len(parts) > len(known):
        for part, names in zip(parts, known, strict=False):
            if not any(fnmatchcase(name, part) for name in names):
                return f" ({part!r} is none of {' '.join(names)})"
    return near(word, [*cases.GROUPS, *LISTS, *CASES, *FUSED, *BACKWARD, *SCANS, *CHOSEN])
