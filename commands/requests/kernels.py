"""Finds the kernel that a launch names, by its PTX name or its C++ spelling."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...compiler.errors import near
from ...runtime.emulator.ptx.demangle import demangle

_NAMESPACES = re.compile(r"(?:(?:\w+|\(anonymousnamespace\))::)*")


def called(text: str, names: Sequence[str]) -> list[str]:
    """The kernels in ``names`` that match ``text``: a PTX name, a C++ spelling, or a prefix of one.

    Spaces do not count, and namespaces may be left out. A prefix that is a complete name takes precedence.
    """
    if text in names:
        return [text]
    wanted = "".join(text.split())
    spelled = [(name, s) for name in names if (s := "".join(demangle(name).split())) != name]
    within = [(name, s[_NAMESPACES.match(s).end() :]) for name, s in spelled]  # type: ignore[union-attr]
    for known in (spelled, within):
        rests = {name: s[len(wanted) :] for name, s in known if s.startswith(wanted)}
        for end in (r"$", r"[(]", r"[^\w$]", ""):
            if found := [name for name, rest in rests.items() if re.match(end, rest)]:
                return found
    return []


def unknown(text: str, found: Sequence[str], names: Sequence[str]) -> tuple[str, str]:
    """The message for a ``text`` that matches no kernel or several, with the kernels that exist."""
    spelled = [demangle(name) for name in found or names]
    known = ("; " if any(" " in s for s in spelled) else " ").join(spelled)
    if not text:
        return "the launch names no kernel", known
    if found:
        return f"several kernels are called {text!r}", known
    return f"no kernel is called {text!r}{near(text, list(dict.fromkeys([*names, *spelled])))}", known
