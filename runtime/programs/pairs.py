"""The gradient of a function as a pair: a forward that keeps values, and a backward that reads them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

from ...compiler.errors import error
from ...compiler.program.arrays.trace import ArrayArg, trace_arrays
from ...compiler.program.frames import caller
from ...compiler.program.gradients.keeping import Keep
from ...compiler.program.gradients.pair import keeping, kept_of, reading
from ...compiler.program.gradients.vjp import Given, backward
from ...compiler.program.symbols import is_array
from .arguments import arguments_of
from .function import DEFAULTS, ArrayFunction, program
from .planned import as_arrays, spec_of
from .traces import of_arrays

Keeping = Literal["fastest", "folds", "least"]
"""Which values a forward keeps."""
OF_FORWARD = ("out", "plan")
"""Arguments of every call that a backward does not take over."""


class Kept(NamedTuple):
    """What a forward keeps for its backward.

    Attributes:
        xs, how: the arguments of the call.
        values: the arrays that are read beside them: results of the call, and values that it returned beside these.
    """

    xs: tuple[Any, ...]
    how: Mapping[str, Any]
    values: tuple[Any, ...] = ()


class Gradient(ArrayFunction[..., Any]):
    """The gradient of a function, from ``vjp``: called with gradients and arguments, it makes values again.

    As a pair it does not, where it is cheaper to keep them: ``y, kept = gradient.forward(x)`` returns what the function
    does, and ``gradient.backward(dy, kept)`` is the gradient.

    Attributes:
        pair: the two programs.
    """

    pair: Pair

    def __new__(
        cls, function: Callable[..., Any], results: int = 1, wrt: tuple[str, ...] | None = None,
        keep: Keeping = "fastest",
    ) -> Gradient:  # fmt: skip
        made = super().__new__(cls, backward(function, results, wrt))
        assert isinstance(made, Gradient)
        made.pair = Pair(function, results, wrt, keep)
        return made

    def forward(self, *xs: Any, **how: Any) -> tuple[Any, Kept]:
        """What the function returns, and what its backward needs; arguments as those of a call of the function."""
        return self.pair.forward(xs, how)

    def backward(self, *arguments: Any) -> Any:
        """The gradients, from those of the results and what the forward kept: the last argument."""
        *gradients, kept = arguments or (None,)
        if not isinstance(kept, Kept):
            raise error("WF908", kind=type(kept).__name__, where=caller())
        return self.pair.backward(gradients, kept)


class Pair:
    """A forward and a backward.

    Attributes:
        function: a function of symbolic arrays.
        results: how many arrays it returns.
        wrt: the parameters whose gradients are wanted; None for those of all arrays of floats.
        keep: ``fastest`` for what costs the fewest bytes, ``folds`` for that where each fold reads its elements again,
            ``least`` for arguments alone.
    """

    def __init__(self, function: Callable[..., Any], results: int, wrt: tuple[str, ...] | None, keep: Keeping) -> None:
        self.function, self.results, self.wrt, self.keep = function, results, wrt, keep
        self.waits = keep != "folds"
        self._found: dict[Hashable, tuple[int | None, ...]] = {}

    def forward(self, xs: Sequence[Any], how: Mapping[str, Any]) -> tuple[Any, Kept]:
        """The results of the function, and what is kept."""
        if self.keep == "least":
            return self.program(*xs, **how), Kept(tuple(xs), how)
        value, beside = self.program(*xs, **how)
        leaves, rest = list(leaves_of(value)), iter(beside)
        values = [next(rest) if result is None else leaves[result] for result in self._kept(xs, how)]
        return value, Kept(tuple(xs), how, tuple(values))

    def backward(self, gradients: Sequence[Any], kept: Kept) -> Any:
        """The gradients of the arguments."""
        how = {name: value for name, value in kept.how.items() if name not in OF_FORWARD}
        return self.reader(len(kept.values))(*gradients, *kept.xs, *kept.values, **how)

    @cached_property
    def program(self) -> ArrayFunction[..., Any]:
        """The forward: it returns what the function does, and in a tuple what is kept beside that."""
        least = self.keep == "least"
        return program(self.function if least else keeping(self.function, self.results, self.wrt, waits=self.waits))

    @lru_cache(maxsize=16)  # noqa: B019 - pairs are kept by their functions
    def reader(self, count: int) -> ArrayFunction[..., Any]:
        """The backward that reads so many kept arrays behind the arguments."""
        own = (self.function, self.results, self.wrt)
        return program(backward(*own) if self.keep == "least" else reading(*own, count, waits=self.waits))

    def _kept(self, xs: Sequence[Any], how: Mapping[str, Any]) -> tuple[int | None, ...]:
        """For each value that is kept the number of the result that it is, or None."""
        own = {name: value for name, value in how.items() if name not in (*DEFAULTS, "out")}
        arguments, arrays = arguments_of(self.function, xs, own)
        specs = [spec_of(x) for x in arrays]
        key = arguments, tuple((s.dtype, tuple(min(n, 2) for n in s.shape)) for s in specs)
        if key not in self._found:
            self._found[key] = tuple(k.result for k in self.kept(xs, own))
        return self._found[key]

    def kept(self, xs: Sequence[Any], how: Mapping[str, Any]) -> list[Keep]:
        """What a call with these arguments keeps; (shape, element type) may stand for an array."""
        arguments, arrays = arguments_of(self.function, *as_arrays(xs, how))
        found: list[Keep] = []

        def look(*xs: Any, **how: Any) -> Any:
            own = Given.of(self.function, xs, how)
            found[:] = kept_of(self.function, self.results, self.wrt, own, waits=self.waits)
            return next(filter(is_array, (*xs, *how.values())))

        specs = [ArrayArg(s.dtype, s.shape) for s in map(spec_of, arrays)]
        if self.keep != "least":
            trace_arrays(of_arrays(look, arguments, len(specs)), specs, {})
        return found


def leaves_of(results: Any) -> Iterator[Any]:
    """The members of nested tuples, as the results of a function are."""
    if isinstance(results, tuple):
        for r in results:
            yield from leaves_of(r)
    else:
        yield results
