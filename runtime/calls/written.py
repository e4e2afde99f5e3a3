"""Calls of a program that are written alike: arrays and parameters by the same positions and names.

A function of Python that takes any call has its arguments in a tuple and a dict, and passes them on: with the look at
how the call is written that costs as much as all tests of the arrays. So the recipe of a call that is repeated becomes
a function that takes any call: it compares parameters with its own, and then goes on as the recipe does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from keyword import iskeyword
from typing import Any, NamedTuple

from ..arrays.fast_readers import READERS
from .recall import Parameters
from .recipe import MISS, Form, Recipe, compiled

ARRAY: Any = object()
"""In place of an array."""
_NUMBERED = re.compile(r"(given|[apx])\d+")


class Written(NamedTuple):
    """A call without its arrays.

    Attributes:
        xs: its arguments by position.
        how: those by name.
        out: whether it has an array for the result.
        recipe: what repeats it.
    """

    xs: tuple[Any, ...]
    how: tuple[tuple[str, Any], ...]
    out: bool
    recipe: Recipe

    @classmethod
    def of(cls, xs: Sequence[Any], out: Any, how: Mapping[str, Any], recipe: Recipe) -> Written:
        """A call with these arguments."""
        own = tuple((name, _place(value)) for name, value in how.items())
        return cls(tuple(map(_place, xs)), own, out is not None, recipe)

    @property
    def parameters(self) -> Parameters:
        """The parameters that its function compares; those by position have no name."""
        return (*(("", x) for x in self.xs if x is not ARRAY), *((n, v) for n, v in self.how if v is not ARRAY))

    @property
    def form(self) -> Form:
        """What the source of the function depends on."""
        return tuple(x is ARRAY for x in self.xs), tuple((n, v is ARRAY) for n, v in self.how), self.out

    @property
    def given(self) -> dict[str, Any]:
        """The parameters by their names in the source."""
        return {f"given{i}": value for i, (_, value) in enumerate(self.parameters)}

    @property
    def ends(self) -> tuple[int, ...]:
        """Which arrays are not given where fewer arguments are: the last one by position, and those by name."""
        places = self.xs.count(ARRAY)
        return (*range(places)[-1:], *range(places, places + sum(value is ARRAY for _, value in self.how)))

    def arguments(self, arrays: Sequence[Any]) -> tuple[tuple[Any, ...], Any, dict[str, Any]]:
        """The arguments by position, the array for the result, and the arguments by name of a call with ``arrays``."""
        rest: Iterator[Any] = iter(arrays)
        xs = tuple(next(rest) if x is ARRAY else x for x in self.xs)
        how = {name: next(rest) if value is ARRAY else value for name, value in self.how}
        return xs, next(rest, None), how


def _place(x: Any) -> Any:
    return ARRAY if READERS[type(x)] else x


def entered(written: Written, missed: Callable[..., Any], other: Callable[..., Any]) -> Callable[..., Any] | None:
    """The function that takes any call and repeats those that are written so.

    It is None where the recipe cannot become one, or where a parameter has a name that its source uses.

    Args:
        written: the call.
        missed: makes a call that is written so, and that the recipe does not repeat; takes the arrays.
        other: makes any other; takes the arguments by position, ``out``, and those by name. ``MISS`` is in place of
            what is not given.
    """
    source: Any = getattr(written.recipe, "source", None)
    if source is None:
        return None
    text, values = source
    if not _are_free([name for name, _ in written.how], text()):
        return None

    def away(*arrays: Any) -> Any:
        found = values["elsewhere"](*arrays)
        return missed(*arrays) if found is MISS else found

    held = {**values, **written.given, "missed": missed, "other": other, "elsewhere": away}
    return compiled(text(form=written.form), tuple(held))(**held)


def _are_free(names: Sequence[str], text: str) -> bool:
    """Whether arguments may have these names beside those of a source."""
    used = {*re.findall(r"\w+", text), "xs", "how", "out", "missed", "other"}
    return all(n.isidentifier() and n.isascii() and not iskeyword(n) for n in names) and not any(
        n in used or _NUMBERED.fullmatch(n) for n in names
    )
