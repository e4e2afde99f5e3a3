"""The arguments of a program of arrays: which of them are arrays, and which are baked into the kernels.

Arrays of any library are arguments of the kernels, those of rank 0 too. Numbers, tuples, names and None are parameters.
A list is an array where the function takes arrays by position. A keyword-only parameter of NumPy's scalar types is a
number, and a positional one is an array of rank 0, unless it is annotated as a number, a text or an axis.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...compiler.errors import error
from ...compiler.program.exact import exactly, that_change
from ...compiler.program.refusals import Symbolic
from ...compiler.program.signatures import defined, parameters, takes_array, takes_list
from ...compiler.program.spelling import (
    missing_parameter,
    no_array,
    others_by_name,
    too_many,
    twice,
    unknown,
    wrong_count,
)
from ...compiler.program.symbols import is_array
from ..resolve import hashable

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
"""The kinds of parameters that take one argument by position."""
_ARRAYS = ("__dlpack__", "__array__", "__array_interface__", "__cuda_array_interface__", "shape")
"""What arrays have. The shape is asked for last: a nested tensor of PyTorch raises then."""


@dataclass(frozen=True)
class Baked:
    """A parameter in the kernels, and what tells it apart from equal ones."""

    value: Any = field(compare=False)
    exact: Hashable


Slot = int | Baked
"""An argument: the number of an array, or a parameter."""


class Arguments(NamedTuple):
    """A call without its arrays; hashable.

    Attributes:
        positional, named: the arguments by position, and by keyword.
    """

    positional: tuple[Slot, ...]
    named: tuple[tuple[str, Slot], ...]

    @property
    def in_order(self) -> bool:
        """Whether the arguments by position are the arrays, in order, and those by keyword are parameters."""
        baked = all(isinstance(slot, Baked) for _, slot in self.named)
        return baked and self.positional == tuple(range(len(self.positional)))

    @property
    def objects(self) -> tuple[Any, ...]:
        """The parameters that are functions or objects, from which a function may read what changes."""
        slots = (*self.positional, *(slot for _, slot in self.named))
        return that_change(s.value for s in slots if isinstance(s, Baked))

    def call(self, function: Callable[..., Any], arrays: Sequence[Any]) -> Any:
        """The result of ``function`` for these arguments."""
        positional = [_value(slot, arrays) for slot in self.positional]
        return function(*positional, **{name: _value(slot, arrays) for name, slot in self.named})


def _value(slot: Slot, arrays: Sequence[Any]) -> Any:
    return arrays[slot] if isinstance(slot, int) else slot.value


def is_real_array(x: object) -> bool:
    """Whether ``x`` is an array of some library, not a type or a number of Python."""
    no_array = isinstance(x, type | np.dtype | np.generic) or (isinstance(x, Symbolic) and not is_array(x))
    return not no_array and any(hasattr(x, name) for name in _ARRAYS)


def is_array_argument(x: object, *, positional: bool) -> bool:
    """Whether an argument is an array: also a list or a number of NumPy's types, for a parameter that is positional."""
    return is_real_array(x) or (positional and isinstance(x, list | np.generic))


def arguments_of(
    function: Callable[..., Any], xs: Sequence[Any], how: Mapping[str, Any]
) -> tuple[Arguments, list[Any]]:
    """The arguments of a call of ``function``, and its arrays.

    Args:
        function: the traced function.
        xs: the arguments by position.
        how: those by keyword.

    Raises:
        ArgumentError: WF124 for a wrong number of arguments by position or without an array, WF127 for an unknown
            keyword, WF128 for a parameter that cannot be baked in, WF151 for a missing one, WF194 for an array that is
            given twice.
    """
    name = str(getattr(function, "__name__", "the program"))
    taken = {p.name: p for p in parameters(function)}
    positional = [p for p in taken.values() if p.kind in POSITIONAL]
    _check_weights(taken, zip((p.name for p in positional), xs, strict=False), how)
    _check_count(name, taken.values(), xs, how)
    _check_names(name, function, taken, {p.name for p in positional[: len(xs)]}, how)
    arrays: list[Any] = []

    def slot(label: str, value: Any, *, array: bool) -> Slot:
        if is_array_argument(value, positional=array):
            arrays.append(value)
            return len(arrays) - 1
        value = tuple(value) if type(value) is list and label in by_position else value  # axes
        if not hashable(value):
            raise error("WF128", parameter=label, name=name, kind=type(value).__name__)
        return Baked(value, exactly(value))

    by_position = {p.name: takes_array(p) for p in positional}
    labels = [*by_position, *[""] * len(xs)]
    given = tuple(slot(label, x, array=by_position.get(label, True)) for label, x in zip(labels, xs, strict=False))
    named = tuple(sorted((key, slot(key, value, array=by_position.get(key, False))) for key, value in how.items()))
    if not arrays:
        taken_arrays = [name for name, is_array in by_position.items() if is_array]
        raise wrong_count(name, "at least 1", 0, taken_arrays, given=next(filter(_is_number, xs), None))
    return Arguments(given, named), arrays


def _is_number(x: object) -> bool:
    return isinstance(x, int | float | complex)


def _check_weights(
    taken: Mapping[str, inspect.Parameter], given: Iterable[tuple[str, Any]], how: Mapping[str, Any]
) -> None:
    """Checks that weights of the library are arrays: neither lists nor shapes nor numbers."""
    for key, value in (*given, *how.items()):
        if key in taken and not takes_list(taken[key]) and value is not None and not is_real_array(value):
            raise no_array(key, value)


def _check_count(name: str, taken: Collection[inspect.Parameter], xs: Sequence[Any], how: Mapping[str, Any]) -> None:
    """Checks the number of arguments by position."""
    positional = [p for p in taken if p.kind in POSITIONAL]
    several = any(p.kind is p.VAR_POSITIONAL for p in taken)
    by_name = [*(p.name for p in taken if p.kind is p.KEYWORD_ONLY), "out"]
    least = sum(p.default is p.empty for p in positional)
    given = len(xs) + sum(p.name in how for p in positional[len(xs) :])
    if given < least or (len(xs) > len(positional) and not several):
        if len(xs) > len(positional) and not all(map(takes_array, positional)):
            raise too_many(name, " ".join(p.name for p in positional), len(xs), others_by_name(by_name))
        for p in positional[len(xs) :]:
            if p.default is p.empty and p.name not in how and not takes_array(p):
                raise missing_parameter(name, p.name)
        expected = f"{least} to {len(positional)}" if least < len(positional) else least
        raise wrong_count(name, expected, max(given, len(xs)), [p.name for p in positional], by_name)


def _check_names(
    name: str,
    function: Callable[..., Any],
    taken: Mapping[str, inspect.Parameter],
    given: set[str],
    how: Mapping[str, Any],
) -> None:
    """Checks the keywords of a call."""
    any_name = any(p.kind is p.VAR_KEYWORD for p in taken.values())
    free = {k: p for k, p in taken.items() if k not in given and p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    for key in how:
        if key in given:
            raise twice(name, key, [p.name for p in taken.values() if p.kind in POSITIONAL])
        if key not in free and not any_name:
            named = [k for k, p in taken.items() if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
            raise unknown(name, key, named, array=False)
    for key, p in free.items():
        if p.kind is p.KEYWORD_ONLY and p.default is p.empty and key not in how:
            raise missing_parameter(name, key, where=defined(function))
