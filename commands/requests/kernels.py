"""Which kernel of a program file a launch means: by its name in the PTX, or as C++ spells it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...compiler.errors import near
from ...runtime.emulator.ptx.demangle import demangle

_NAMESPACES = re.compile(r"(?:(?:\w+|\(anonymousnamespace\))::)*")


def called(text: str, names: Sequence[str]) -> list[str]:
    """Those of ``names`` that ``text`` may mean: one of them, or how C++ spells it, or the beginning of that.

    Spaces do not count, nor need the namespaces be said. A beginning that is a whole name goes before others.
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
    """What is wrong with ``text``, which ``called`` finds none or several kernels for, and what there is to name."""
    spelled = [demangle(name) for name in found or names]
    known = ("; " if any(" " in s for s in spelled) else " ").join(spelled)
    if not text:
        return "the launch names no kernel", known
    if found:
        return f"several kernels are called {text!r}", known
    return f"no kernel is called {text!r}{near(text, list(dict.fromkeys([*names, *spelled])))}", known
