"""Races that one barrier, or one wait for a copy, would order, as one finding: what is to be mended.

Lines of the PTX stand for the order of the program. A barrier orders two accesses if it stands behind the first and in
front of the second; where the second comes around a loop again, also at the end of the loop, behind the first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from .findings import Finding

_SHOWN = 3
"""Further pairs of lines that a finding names."""
_RANK = ("shared-race", "global-race", "cluster-race", "warp-synchrony")
"""Kinds of races, those before the others whose barrier orders them as well."""


@dataclass
class _Race:
    """A finding, and the lines behind which (``after``) and in front of which (``before``) a barrier would order it."""

    finding: Finding
    after: int
    before: int


def grouped(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, those races joined that one barrier would order; each stands where its first one stood."""
    found = list(findings)
    joined: dict[int, Finding] = {}
    gone: set[int] = set()
    for level in ("copy", "CTA", "cluster", "grid"):
        races = [_Race(f, f.threads[1].line, f.line) for f in found if _level(f) == level]
        _around(races)
        for group in _stabbed(races):
            positions = sorted(next(k for k, f in enumerate(found) if f is race.finding) for race in group)
            joined[positions[0]] = _one(group)
            gone.update(positions[1:])
    return [joined.get(k, f) for k, f in enumerate(found) if k not in gone]


def _level(finding: Finding) -> str:
    """Whose barrier would order the two accesses; nothing for what is no race of that kind."""
    if finding.kind in _RANK and finding.words.startswith("the copy that"):
        return "copy"
    if finding.kind not in _RANK or not finding.words.startswith("nothing orders"):
        return ""
    if finding.threads[0].cta == finding.threads[1].cta:
        return "CTA"
    return "cluster" if finding.kind == "cluster-race" else "grid"


def _around(races: list[_Race]) -> None:
    """Where the second access stands first, in a loop, a barrier may stand up to the loop's end, as far as known."""
    ends: list[tuple[int, int]] = []
    for race in sorted((r for r in races if r.before <= r.after), key=lambda r: r.before):
        low, high = race.before, race.after
        if ends and low <= ends[-1][1]:
            ends[-1] = ends[-1][0], max(high, ends[-1][1])
        else:
            ends.append((low, high))
    for race in races:
        if race.before <= race.after:
            race.before = next(high for low, high in ends if low <= race.before <= high) + 1


def _stabbed(races: list[_Race]) -> list[list[_Race]]:
    """As few groups as can be, in each of which some place lies between the two lines of every race."""
    groups: list[list[_Race]] = []
    line = -1
    for race in sorted(races, key=lambda r: r.before):
        if race.after < line:
            groups[-1].append(race)
        else:
            groups.append([race])
            line = race.before
    return groups


def _one(group: list[_Race]) -> Finding:
    """The first of the kind that takes the widest barrier, with the lines of the others."""
    kind = min((r.finding.kind for r in group), key=_RANK.index)
    first = next(r.finding for r in group if r.finding.kind == kind)
    pair = first.threads[1].line, first.line
    others = sorted({(r.finding.threads[1].line, r.finding.line) for r in group} - {pair})
    words = first.words
    if others:
        shown = ", ".join(f"{there} and {here}" for there, here in others[:_SHOWN])
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        what = "1 pair of lines" if len(others) == 1 else f"{len(others)} pairs of lines"
        words += f"; what orders them would order {what} more: {shown}{more}"
    return replace(first, words=words, count=sum(r.finding.count for r in group))
