"""Groups of races that one barrier, or one wait for a copy, would order: each group becomes one finding.

So do findings of one kind in the same source lines.

Lines of the PTX stand for the order of the program. A barrier orders two accesses if it stands after the line of the
first and before the line of the second. If a loop runs the second line before the first, the barrier may also stand
between the first line and the end of the loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from .findings import Finding

_SHOWN = 3
"""The number of further pairs of lines that a finding names."""
_RANK = ("shared-race", "global-race", "cluster-race", "warp-synchrony")
"""Kinds of races, the one that needs the widest barrier first: that barrier orders the later kinds as well."""


@dataclass
class _Race:
    """A finding that a barrier orders if it stands after line ``after`` and before line ``before``."""

    finding: Finding
    after: int
    before: int


def grouped(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, with races that one barrier would order joined to one finding, at the position of the first."""
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
    return _of_source([joined.get(k, f) for k, f in enumerate(found) if k not in gone])


def _of_source(findings: list[Finding]) -> list[Finding]:
    """The findings, with those of one kind in the same source lines joined, as of a loop that is unrolled."""
    out: dict[object, Finding] = {}
    lines: dict[object, list[int]] = {}
    for k, finding in enumerate(findings):
        sources = tuple(place.source for place in finding.threads)
        key: object = (finding.kind, sources) if sources and sources[0] is not None else k
        first = out.setdefault(key, finding)
        lines.setdefault(key, []).append(finding.line)
        if first is not finding:
            out[key] = replace(first, count=first.count + finding.count)
    for key, finding in out.items():
        others = sorted({*lines[key]} - {finding.line})
        if others:
            shown = ", ".join(map(str, others[:_SHOWN])) + (
                f" and {len(others) - _SHOWN} more" * (len(others) > _SHOWN)
            )
            what = "so does line" if len(others) == 1 else "so do lines"
            out[key] = replace(finding, words=f"{finding.words}; {what} {shown} of the same source line")
    return list(out.values())


def _level(finding: Finding) -> str:
    """The level of the barrier that would order the two accesses; empty for findings that no barrier would resolve."""
    if finding.kind in _RANK and finding.words.startswith("the copy that"):
        return "copy"
    if finding.kind not in _RANK or not finding.words.startswith("nothing orders"):
        return ""
    if finding.threads[0].cta == finding.threads[1].cta:
        return "CTA"
    return "cluster" if finding.kind == "cluster-race" else "grid"


def _around(races: list[_Race]) -> None:
    """Extends races around a loop, whose second line comes first: their barrier may stand up to the end of the loop.

    The known end of a loop is the last line of the overlapping races.
    """
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
    """The fewest groups of races such that one line lies between the two lines of every race of a group."""
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
    """The first finding of the kind that needs the widest barrier, with the lines of the other races added."""
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
