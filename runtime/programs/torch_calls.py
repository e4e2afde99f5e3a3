"""Calls without their tensors, each with a text that names it in PyTorch's graphs, and how their results nest."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ...compiler.dtypes import DType
from ...compiler.program.tracing import tuple_type
from .torch_graphs import ENTRIES, Entry, Symbolic

TENSOR = "a tensor"
"""In place of a tensor among the arguments in a call's text."""
TUPLES: dict[str, Any] = {}
"""Types of results that are tuples with names."""
CALLS: dict[str, Call] = {}
"""All calls that were traced, by their texts."""
_PROCESS = uuid.uuid4().hex[:12]
"""Tells what only this process knows: PyTorch keeps compiled graphs on the disk."""
_objects: dict[int, tuple[int, Any]] = {}


@dataclass
class Call:
    """A call without its tensors.

    Attributes:
        text: names it in graphs.
        entry: the function.
        xs, how: the arguments, with TENSOR in place of tensors.
        structure: see ``structure_of``.
    """

    text: str
    entry: Entry
    xs: tuple[Any, ...]
    how: dict[str, Any]
    structure: Any = 0

    def with_tensors(self, tensors: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments, with tensors in the places of TENSOR."""
        rest = iter(tensors)
        xs = [next(rest) if x is TENSOR else x for x in self.xs]
        return xs, {name: next(rest) if x is TENSOR else x for name, x in self.how.items()}

    def symbolic(self, tensors: Sequence[Any]) -> Symbolic:
        """The call as one of a function of symbolic arrays."""
        return self.entry.symbolic(*self.with_tensors(tensors))

    @property
    def determinism(self) -> dict[str, Any]:
        """The option of the call that its gradient and its batches have, too."""
        return {name: value for name, value in self.how.items() if name == "determinism"}

    @property
    def places(self) -> list[int | str]:
        """Where tensors stand among the arguments: positions, and keywords."""
        slots: dict[int | str, Any] = dict(enumerate(self.xs))
        slots.update(self.how)
        return [place for place, x in slots.items() if x is TENSOR]

    def run(self, tensors: Sequence[Any]) -> list[Any]:
        """The results, of real tensors."""
        xs, how = self.with_tensors(tensors)
        leaves: list[Any] = []
        self.structure = structure_from(self.entry.run(*xs, **how), leaves)
        return [r.contiguous() for r in leaves] if self.symbolic(tensors).row_major else leaves


def described(entry: int, names: Sequence[str], *values: Any) -> str:
    """The text of a call: arguments by position, then by keyword, with TENSOR in place of tensors."""
    position = len(values) - len(names)
    own = [_text(v) for v in values[:position]] + [
        f"{name}={_text(v)}" for name, v in zip(names, values[position:], strict=True)
    ]
    text = f"{_label(entry)}({', '.join(own)})"
    if text not in CALLS:
        how = dict(zip(names, values[position:], strict=True))
        CALLS[text] = Call(text, ENTRIES[entry], tuple(values[:position]), how)
    return text


def structure_of(text: str) -> Any:
    """How the results of a call nest, known once it was traced: a number each, or the name of a type and members."""
    return CALLS[text].structure


def _label(entry: int) -> str:
    return ENTRIES[entry].label or f"{ENTRIES[entry].name}#{entry}@{_PROCESS}"


def _text(value: Any) -> str:
    """The text of a parameter; of an object that only this process knows, a number."""
    if type(value) is tuple:
        return f"({', '.join(map(_text, value))})"
    if value is None or type(value) in (bool, int, float, complex, str, torch.dtype, DType):
        return repr(value) if not isinstance(value, DType) else value.name
    number, _ = _objects.setdefault(id(value), (len(_objects), value))
    return f"{type(value).__name__}#{number}@{_PROCESS}"


# --- how results nest ---------------------------------------------------------------------------------------------
def nested(structure: Any, found: Sequence[Any]) -> Any:
    """Results as the function nests them."""
    if isinstance(structure, int):
        return found[structure]
    members = [nested(s, found) for s in structure[1]]
    return TUPLES[structure[0]](*members) if structure[0] else tuple(members)


def structure_from(results: Any, leaves: list[Any]) -> Any:
    """How results nest; adds them to ``leaves``, and copies of arrays that are there: those of an op lie apart."""
    if not isinstance(results, tuple):
        leaves.append(results.clone() if any(results is x for x in leaves) else results)
        return len(leaves) - 1
    fields = getattr(results, "_fields", ())
    return _tuple(type(results).__name__, fields, tuple(structure_from(r, leaves) for r in results))


def structure_of_program(structure: Any) -> Any:
    """How the results of a program nest."""
    if isinstance(structure, int):
        return structure
    name, fields, members = structure
    return _tuple(name, tuple(fields), tuple(map(structure_of_program, members)))


def _tuple(name: str, fields: tuple[str, ...], members: tuple[Any, ...]) -> Any:
    if not fields:
        return "", members
    key = f"{name}({', '.join(fields)})"
    TUPLES.setdefault(key, tuple_type(name, fields))
    return key, members
