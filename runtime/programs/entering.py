"""What the calls of a program enter: a function for any call, or one made for the latest call while it is repeated."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from time import monotonic
from typing import Any

from ..arrays.fast_readers import READERS
from ..arrays.torch_compile import mark
from ..calls.recall import Latest, Memo, Parameters
from ..calls.recipe import MISS, Recipe
from ..calls.written import ARRAY, Written, entered

MADE = 64
"""Greatest number of functions that a program keeps for calls that were repeated."""
TIMES = 3
"""Number of calls of one recipe, with none of another between that the entered function does not repeat either, from
which on calls of this form enter its own."""
SHORT = 300e-6
"""Seconds for which a function must be entered to gain more than two changes cost: 30 to 40 calls."""
SKIPPED = 255
"""Greatest number of repeated calls that change nothing, where calls of other forms came too soon."""
Function = Callable[..., Any]


class Entering:
    """Changes what the calls of a program enter.

    Attributes:
        memo: the calls that it remembers.
        call: takes any call.
        keyed: finds the recipe of a call by its key, see ``function.py``.
        enter: makes calls of the program enter another function.
        is_own: whether the one that they enter is made for a form.
        since: when they entered it, in seconds.
        wait, skip: how many repeated calls change nothing after a call of another form, and how many of them are left.
        previous, times: the recipe of the latest call that the entered function did not repeat, and how often it came.
    """

    is_own, since, times = False, 0.0, 0
    wait, skip = 0, 0
    previous: Recipe | None = None

    def __init__(self, memo: Memo, call: Function, keyed: Function, enter: Callable[[Function], None]) -> None:
        self.memo, self.call, self.keyed, self.enter = memo, call, keyed, enter
        memo.repeated, memo.again, memo.left = self.repeated, self.again, self.left

    def repeated(self, latest: Latest) -> None:
        """Calls are to enter a function that repeats the latest one, whose arrays are all given by position."""
        count, how, recipe, key = latest
        if self.is_own and not self._missed(recipe):
            return
        if self.skip:
            self.skip -= 1
            return
        self.memo.tried = latest
        if not self._enter(recipe, how):
            self._keep(Written((ARRAY,) * count, how, False, recipe), key, are_all=True)

    def again(self, xs: Sequence[Any], out: Any, how: Mapping[str, Any], recipe: Recipe, key: Hashable) -> None:
        """Calls are to enter a function that repeats this one, if the one before had the same recipe."""
        if recipe is not self.previous:
            self.previous, self.times = recipe, 1
            return
        if self.skip:
            self.skip -= 1
            return
        self.memo.tried = recipe
        if type(out) is not tuple:
            written = Written.of(xs, out, how, recipe)
            if not self._enter(recipe, written.parameters):
                self._keep(written, key, are_all=False)

    def left(self) -> None:
        """Calls are to enter the function for any call."""
        self.is_own, self.previous, self.memo.tried = False, None, None
        self.enter(self.call)

    def _left_for_another(self) -> None:
        """A call of another form came: after a short time it is likely to come again."""
        if self.is_own:
            self.wait = 0 if monotonic() - self.since >= SHORT else min(2 * self.wait + 1, SKIPPED)
            self.skip = self.wait
            self.left()

    def _enter(self, recipe: Recipe, how: Parameters) -> bool:
        """Whether there is an answer for calls of this recipe, with the same objects as parameters: they enter it."""
        made = self.memo.entries.get(recipe)
        if made is None:
            return False
        own, entry = made
        if own is not how:
            for (_, x), (_, y) in zip(own, how, strict=True):
                if x is not y:
                    return False
        if entry is not None:
            if not self.is_own:
                self.is_own, self.since = True, monotonic()
            self.previous = None
            self.enter(entry)
        return True

    def _keep(self, written: Written, key: Hashable, are_all: bool) -> None:
        """Makes the answer; ``are_all`` says that all arguments by position are arrays, and no others."""
        if len(self.memo.entries) >= MADE:
            self.memo.entries.clear()
        self.memo.entries[written.recipe] = written.parameters, self._made(written, key, are_all)
        self._enter(written.recipe, written.parameters)

    def _made(self, written: Written, key: Hashable, are_all: bool) -> Function | None:
        made = entered(written, self._missing(written, key, are_all), self._otherwise(written))
        if made is not None:
            made.__dict__.update(self.call.__dict__)  # what PyTorch's tracers know
            mark(made.__code__)
        return made

    def _missed(self, recipe: Recipe) -> bool:
        """Whether a call of this recipe is to enter its own function from now on."""
        if recipe is not self.previous:
            self.previous, self.times = recipe, 1
            return False
        self.times += 1
        return self.times >= TIMES

    def _missing(self, written: Written, key: Hashable, are_all: bool) -> Function:
        """What makes the calls of a form on other arrays."""
        memo, call, keyed, recipe, how = self.memo, self.call, self.keyed, written.recipe, written.how
        ends = written.ends
        arguments = (lambda arrays: (arrays, None, dict(how))) if are_all else written.arguments
        other, parameters = self._otherwise(written), written.parameters

        def missed(*arrays: Any) -> Any:
            for i in ends:
                if arrays[i] is MISS:
                    return other(*arguments(arrays))
            again = memo.of_shape(key, arrays) if READERS[type(arrays[0])] else None
            found = MISS if again is None or again is recipe else again(*arrays)
            if again is None or found is MISS:
                xs, out, own = arguments(arrays)
                latest = memo.latest
                is_other = latest is not None and latest[2] is not recipe and latest[3] == key
                return call(*xs, out=out, **own) if is_other else keyed(xs, out, own, recipe)
            memo.last[key] = again
            if self._missed(again) and not self._enter(again, parameters):
                self._keep(written._replace(recipe=again), key, are_all)
            return found

        return missed

    def _otherwise(self, written: Written) -> Function:
        """What makes the calls of other forms."""
        call, places, names = self.call, len(written.xs), [name for name, _ in written.how]

        def other(xs: tuple[Any, ...], out: Any, how: dict[str, Any]) -> Any:
            if places and xs[places - 1] is MISS:
                xs = tuple(x for x in xs if x is not MISS)
            for name in names:
                if how[name] is MISS:
                    del how[name]
            self._left_for_another()
            return call(*xs, out=out, **how)

        return other
