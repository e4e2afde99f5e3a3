"""What the calls of a program enter: a function for any call, or one made for the latest call while it is repeated."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from ..arrays.torch_compile import mark
from ..calls.recall import Latest, Memo
from ..calls.recipe import MISS, Recipe
from ..calls.written import ARRAY, Written, entered

MADE = 64
"""Greatest number of functions that a program keeps for calls that were repeated."""
CHANGES = 1000
"""Greatest number of changes of what a program enters: calls that are written in several ways in turn gain nothing."""
Enter = Callable[[Callable[..., Any]], None]


class Entering:
    """Changes what the calls of a program enter.

    Attributes:
        memo: the calls that it remembers.
        call: takes any call.
        keyed: finds the recipe of a call by its key, see ``function.py``.
        enter: makes calls of the program enter another function.
        changes: how often that was done.
        seen: the recipe of the latest call that was found by its key, and is not written with arrays alone by position.
    """

    seen: Recipe | None = None

    def __init__(self, memo: Memo, call: Callable[..., Any], keyed: Callable[..., Any], enter: Enter) -> None:
        self.memo, self.call, self.keyed, self.enter, self.changes = memo, call, keyed, enter, 0
        memo.repeated, memo.again, memo.left = self.repeated, self.again, self.left

    def repeated(self, latest: Latest) -> None:
        """Calls are to enter a function that repeats the latest one, whose arrays are all given by position."""
        self.memo.tried = latest
        count, how, recipe, key = latest
        self._enter(Written((ARRAY,) * count, how, False, recipe), key, latest)

    def again(self, xs: Sequence[Any], out: Any, how: Mapping[str, Any], recipe: Recipe, key: Hashable) -> None:
        """Calls are to enter a function that repeats this one, if the one before had the same recipe."""
        if recipe is not self.seen:
            self.seen = recipe
            return
        self.memo.tried = recipe
        if type(out) is not tuple:
            self._enter(Written.of(xs, out, how, recipe), key, None)

    def left(self) -> None:
        """Calls are to enter the function for any call."""
        self.enter(self.call)

    def _enter(self, written: Written, key: Hashable, latest: Latest | None) -> None:
        made = self.memo.entries
        if self.changes >= CHANGES:
            return
        if written not in made:
            if len(made) >= MADE:
                made.clear()
            made[written] = self._made(written, key, latest)
        if (entry := made.get(written)) is not None:
            self.changes += 1
            self.enter(entry)

    def _made(self, written: Written, key: Hashable, latest: Latest | None) -> Callable[..., Any] | None:
        memo, call, keyed, recent, ends = self.memo, self.call, self.keyed, self.memo.recent, written.ends
        arguments = written.arguments if latest is None else lambda arrays: (arrays, None, dict(written.how))

        def missed(*arrays: Any) -> Any:
            for i in ends:
                if arrays[i] is MISS:
                    return other(*arguments(arrays))
            if latest is None or memo.latest is latest:
                found = recent(key, arrays)
                if found is not MISS:
                    return found
                return keyed(*arguments(arrays), written.recipe)
            xs, out, how = arguments(arrays)
            return call(*xs, out=out, **how)

        def other(xs: Sequence[Any], out: Any, how: Mapping[str, Any]) -> Any:
            if out is None or written.out:
                self.left()
            own = {name: value for name, value in how.items() if value is not MISS}
            return call(*(x for x in xs if x is not MISS), out=out, **own)

        made = entered(written, missed, other)
        if made is not None:
            made.__dict__.update(call.__dict__)  # what PyTorch's tracers know
            mark(made.__code__)
        return made
