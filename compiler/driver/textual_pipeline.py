"""Pass pipelines as text: ``builtin.module(distribute,canonicalize,gpu.module(cse))`` becomes one pass manager.

Our passes are Python callables, which MLIR's own pipeline parser does not know. So the text is cut here: an element
that names one of ours is added as a callable, every other element goes to MLIR's parser as it stands.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import error
from ..ir.mlir import passmanager
from .pipeline import run_pass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .pipeline import Pass

_ROOTS = ("builtin.module", "any")
_UNKNOWN_PASS = re.compile(r"'([^']*)' does not refer to a registered pass")
# The bindings cannot list upstream's passes; these are the ones that pipelines here use, for "did you mean".
_UPSTREAM = (
    "canonicalize",
    "convert-arith-to-llvm",
    "convert-cf-to-llvm",
    "convert-gpu-to-nvvm",
    "convert-index-to-llvm",
    "convert-math-to-llvm",
    "convert-nvvm-to-llvm",
    "convert-scf-to-cf",
    "convert-vector-to-llvm",
    "cse",
    "gpu-module-to-binary",
    "inline",
    "loop-invariant-code-motion",
    "reconcile-unrealized-casts",
    "sccp",
    "symbol-dce",
)


@dataclass(frozen=True)
class Element:
    """One element of a textual pipeline: ``name``, ``name{options}`` or ``name(body)``; ``text`` is all of it."""

    name: str
    options: str
    body: str
    text: str


def split(text: str) -> list[Element]:
    """The elements of a textual pipeline at its outermost level."""
    return [_element(piece) for piece in _pieces(text) if piece]


def build(text: str, passes: Sequence[Pass]) -> Any:
    """A pass manager on ``builtin.module`` for a textual pipeline over ``passes`` and upstream's own.

    Needs a current MLIR context. One manager holds both kinds, so IR printing and verification cover both.
    """
    ours = {p.name: p for p in passes}
    manager = passmanager.PassManager("builtin.module")
    for element in _without_root(split(text)):
        own = ours.get(element.name)
        if own is not None:
            _add_own(manager, own, element)
        else:
            _refuse_nested(element, ours)
            _add_upstream(manager, element, ours)
    return manager


def _pieces(text: str) -> Iterator[str]:
    """``text`` cut at the commas outside all brackets."""
    closers: list[str] = []
    start = 0
    for index, char in enumerate(text):
        if char in "({[":
            closers.append({"(": ")", "{": "}", "[": "]"}[char])
        elif char in ")}]" and (not closers or closers.pop() != char):
            raise error("WF892", reason=f"unexpected {char!r} after {text[:index].strip()!r}")
        elif char == "," and not closers:
            yield text[start:index].strip()
            start = index + 1
    if closers:
        raise error("WF892", reason=f"missing {closers[-1]!r} at the end")
    yield text[start:].strip()


def _element(text: str) -> Element:
    match = re.fullmatch(r"([\w.-]+)\s*(\{.*\})?\s*(?:\((.*)\))?", text, re.DOTALL)
    if match is None:
        raise error("WF892", reason=f"{text!r} is not name, name{{options}} or name(...)")
    return Element(match[1], match[2] or "", match[3] or "", text)


def _without_root(elements: list[Element]) -> list[Element]:
    """The elements inside ``builtin.module(...)``, when that is what the pipeline is wrapped in."""
    if len(elements) == 1 and elements[0].name in _ROOTS and "(" in elements[0].text:
        return split(elements[0].body)
    return elements


def _add_own(manager: Any, own: Pass, element: Element) -> None:
    if element.options or "(" in element.text:
        raise error("WF894", name=own.name, options=element.text.removeprefix(own.name).strip())
    manager.add(lambda op, _: run_pass(own, op), name=own.name, argument=own.name, description=own.summary)


def _refuse_nested(element: Element, ours: dict[str, Pass]) -> None:
    for inner in split(element.body):
        if inner.name in ours:
            raise error("WF893", name=inner.name, anchor=element.name)
        _refuse_nested(inner, ours)


def _add_upstream(manager: Any, element: Element, ours: Iterable[str]) -> None:
    try:
        manager.add(element.text)
    except ValueError as problem:
        unknown = _UNKNOWN_PASS.search(str(problem))
        if unknown is None:
            raise error("WF892", reason=" ".join(str(problem).split())) from problem
        known = [*ours, *_UPSTREAM]
        near = difflib.get_close_matches(unknown[1], known, n=3)
        raise error("WF891", name=unknown[1], near=f" (near: {', '.join(near)})" if near else "") from problem
