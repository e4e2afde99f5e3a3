"""Edits of PTX text that plant a mistake: each finds its line by the instruction, or raises if there is none.

Lines keep their numbers, so reports can be compared with the original text.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Edit = Callable[[str], str]


def edit(pattern: str, replacement: str, which: int | None = 0) -> Edit:
    """Replaces ``pattern`` in line number ``which`` of those that match it (-1 is the last; None: all)."""

    def apply(ptx: str) -> str:
        lines = ptx.splitlines()
        hits = [k for k, line in enumerate(lines) if re.search(pattern, line)]
        if not hits or (which is not None and not -len(hits) <= which < len(hits)):
            raise LookupError(f"expected instruction {which} that matches {pattern!r}, found {len(hits)} of them")
        for k in hits if which is None else [hits[which]]:
            lines[k] = re.sub(pattern, replacement, lines[k])
        return "\n".join(lines)

    return apply


def drop(pattern: str, which: int | None = 0) -> Edit:
    """Removes an instruction."""
    return edit(rf"^.*(?:{pattern}).*$", "", which)


def both(*edits: Edit) -> Edit:
    """Applies several edits in order."""

    def apply(ptx: str) -> str:
        for one in edits:
            ptx = one(ptx)
        return ptx

    return apply


def within(entry: str, change: Edit) -> Edit:
    """The edit applied to one kernel of a module alone."""

    def apply(ptx: str) -> str:
        begin = ptx.index(f".entry {entry}(")
        end = ptx.find(".visible .entry", begin)
        end = len(ptx) if end < 0 else end
        return ptx[:begin] + change(ptx[begin:end]) + ("\n" if ptx[:end].endswith("\n") else "") + ptx[end:]

    return apply


def barrier(which: int) -> Edit:
    """Removes a barrier of the CTA."""
    return drop(r"bar\.sync|barrier\.sync", which)


def offset(pattern: str, by: int, which: int = 0) -> Edit:
    """Moves the address of an access by some bytes."""
    return edit(rf"({pattern}.*\[%?\w+)(?:\+(-?\d+))?\]", rf"\g<1>+{by}]", which)


def mask(pattern: str, value: int, which: int | None = 0) -> Edit:
    """Gives a warp-wide instruction another constant mask."""
    return edit(rf"({pattern}.*, )(?:-1|%r\d+);", rf"\g<1>{value};", which)


NARROW = edit(r"((?:atom|fence)\.\w+)\.gpu", r"\1.cta", None)
"""Narrows all fences and atomics to the scope of a CTA."""


def ordered(to: str) -> Edit:
    """Gives the atomics another order: ``acquire``, ``release``, or ``relaxed`` (none)."""
    return edit(r"atom\.acq_rel", f"atom.{to}", None)


def fenced(*, before: bool = False, after: bool = False) -> Edit:
    """Puts a fence before or after the atomics, in the same line."""
    order = "fence.acq_rel.gpu; "
    return edit(r"^\t(atom\..*;)$", "\t" + order * before + r"\1 " + order * after, None)


def load_and_store(ptx: str) -> str:
    """Replaces the ticket's atomic by a load, arithmetic and a store."""
    found = re.search(r"^\t.*atom\.acq_rel\.gpu\.global\.inc\.u32\s+(%r\d+), (\[[^\]]+\]), (%r\d+);", ptx, re.MULTILINE)
    if found is None:
        raise LookupError("expected the atomic that takes a ticket")
    got, place, top = found.groups()
    steps = (
        "{ .reg .pred %last; .reg .b32 %next;"
        f" ld.volatile.global.b32 {got}, {place};"
        f" setp.ge.u32 %last, {got}, {top}; add.s32 %next, {got}, 1; selp.b32 %next, 0, %next, %last;"
        f" st.volatile.global.b32 {place}, %next; }}"
    )
    return ptx[: found.start()] + "\t" + steps + ptx[found.end() :]


def guarded_by_first_lane(pattern: str, which: int = 0) -> Edit:
    """Lets only the first thread of each warp run an instruction."""
    guard = r"{ .reg .pred %one; .reg .b32 %who; mov.u32 %who, %laneid; setp.eq.u32 %one, %who, 0; @%one \g<1> }"
    return edit(rf"^\t(.*{pattern}.*;)$", "\t" + guard, which)
