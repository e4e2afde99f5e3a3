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
OTHERS = 4
"""Number of calls that a function made for a form does not repeat, after which calls enter the one for any call again.
A change takes as long as one call gains."""
Enter = Callable[[Callable[..., Any]], None]


class Entering:
    """Changes what the calls of a program enter.

    Attributes:
        memo: the calls that it remembers.
        call: takes any call.
        keyed: finds the recipe of a call by its key, see ``function.py``.
        enter: makes calls of the program enter another function.
        is_own: whether the one that they enter is made for a form.
        others: the number of calls since then that it did not repeat, besides those of shapes that take turns.
        seen: the recipe of the latest call that was found by its key, and is not written with arrays alone by position.
    """

    is_own, others = False, 0
    seen: Recipe | None = None

    def __init__(self, memo: Memo, call: Callable[..., Any], keyed: Callable[..., Any], enter: Enter) -> None:
        self.memo, self.call, self.keyed, self.enter = memo, call, keyed, enter
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
        self.is_own, self.memo.tried = False, None
        self.enter(self.call)

    def _missed(self) -> None:
        self.others += 1
        if self.others >= OTHERS and self.is_own:
            self.left()

    def _enter(self, written: Written, key: Hashable, latest: Latest | None) -> None:
        if self.is_own:
            return
        made = self.memo.entries
        if written not in made:
            if len(made) >= MADE:
                made.clear()
            made[written] = self._made(written, key, latest)
        if (entry := made.get(written)) is not None:
            self.is_own, self.others = True, 0
            self.enter(entry)

    def _made(self, written: Written, key: Hashable, latest: Latest | None) -> Callable[..., Any] | None:
        memo, call, keyed, recent, ends = self.memo, self.call, self.keyed, self.memo.recent, written.ends
        arguments = written.arguments if latest is None else lambda arrays: (arrays, None, dict(written.how))
        places, names = len(written.xs), [name for name, _ in written.how]

        def missed(*arrays: Any) -> Any:
            for i in ends:
                if arrays[i] is MISS:
                    return other(*arguments(arrays))
            if latest is None or memo.latest is latest:
                found = recent(key, arrays)
                if found is not MISS:
                    return found
                return keyed(*arguments(arrays), written.recipe)
            self._missed()
            xs, out, how = arguments(arrays)
            return call(*xs, out=out, **how)

        def other(xs: tuple[Any, ...], out: Any, how: dict[str, Any]) -> Any:
            self._missed()
            if places and xs[places - 1] is MISS:
                xs = tuple(x for x in xs if x is not MISS)
            for name in names:
                if how[name] is MISS:
                    del how[name]
            return call(*xs, out=out, **how)

        made = entered(written, missed, other)
        if made is not None:
            made.__dict__.update(call.__dict__)  # what PyTorch's tracers know
            mark(made.__code__)
        return made
