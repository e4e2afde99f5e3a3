"""Random programs of arrays, written for the Array API standard: NumPy runs them, and tracing takes them as they are.

Arrays hold small integers as f64, and every operation is exact on them, so that results must be equal.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

Value = Any
SIZES = (3, 3, 1, 2, 6)
"""Sizes of axes: few, so that many are equal."""
LARGEST = 99.0
REFUSED = ("WF273", "WF274", "WF286")
"""Codes of what programs do not have: reshapes where no whole numbers split a dim, slices of axes that one joined."""


@dataclass
class RandomProgram:
    """A sequence of operations on arrays.

    Attributes:
        arrays: the arguments.
        steps: in order (operation, numbers of the values that it takes); a value is an argument or an earlier result.
        returned: the numbers of the values that are results.
    """

    arrays: list[Any]
    steps: list[tuple[Callable[..., Value], tuple[int, ...]]] = field(default_factory=list)
    returned: tuple[int, ...] = ()

    def __call__(self, *arrays: Value) -> tuple[Value, ...]:
        values = list(arrays)
        for operation, operands in self.steps:
            xp = arrays[0].__array_namespace__()
            values.append(operation(xp, *(values[i] for i in operands)))
        return tuple(values[i] for i in self.returned)

    def __repr__(self) -> str:
        steps = "\n".join(f"  {operation.__name__} {operands}" for operation, operands in self.steps)
        return f"shapes {[a.shape for a in self.arrays]}\n{steps}\n  return {self.returned}"


def positional(program: RandomProgram) -> Callable[..., Any]:
    """A function that calls the program, with a parameter for each of its arrays."""

    def function(*arrays: Value) -> tuple[Value, ...]:
        return program(*arrays)

    kind = inspect.Parameter.POSITIONAL_ONLY
    names = [inspect.Parameter(f"x{i}", kind) for i in range(len(program.arrays))]
    function.__signature__ = inspect.Signature(names)  # type: ignore[attr-defined]
    return function


def distinct(count: int, most: int = 9) -> Iterator[tuple[int, RandomProgram]]:
    """The first ``count`` programs that differ in shapes or operations, and their seeds."""
    seen: set[str] = set()
    for seed in itertools.count():
        if len(seen) == count:
            return
        program = random_program(Random(seed), most)
        if repr(program) not in seen:
            seen.add(repr(program))
            yield seed, program


def named(name: str, operation: Callable[..., Value]) -> Callable[..., Value]:
    operation.__name__ = name
    return operation


def random_program(rng: Random, most: int = 9) -> RandomProgram:
    """A program of up to ``most`` operations."""
    shapes = [[rng.choice(SIZES) for _ in range(rng.randint(0, 3))] for _ in range(rng.randint(1, 3))]
    numbers = np.random.default_rng(rng.randint(0, 1000))
    program = RandomProgram([numbers.integers(-3, 4, shape).astype(np.float64) for shape in shapes])
    values = list(program.arrays)
    for _ in range(rng.randint(3, most)):
        step = rng.choice(KINDS)(rng, values)
        if step is not None:
            program.steps.append(step)
            operation, operands = step
            values.append(np.asarray(operation(np, *(values[i] for i in operands))))
    program.returned = tuple(range(len(values)))
    return program


def _operand(rng: Random, values: Sequence[Value]) -> int:
    """The number of a value: the latest more often than others."""
    return min(rng.randint(0, len(values) + 1), len(values) - 1)


def _partner(rng: Random, values: Sequence[Value], a: int) -> int:
    """The number of a value that broadcasts with value ``a``."""
    return rng.choice([b for b, y in enumerate(values) if _broadcast(values[a], y)])


def _broadcast(*values: Value) -> bool:
    """Whether values broadcast, to at most 4 axes."""
    try:
        return len(np.broadcast_shapes(*(x.shape for x in values))) <= 4
    except ValueError:
        return False


def _binary(rng: Random, values: Sequence[Value]) -> Any:
    a = _operand(rng, values)
    b = _partner(rng, values, a)
    name = rng.choice(("add", "subtract", "multiply", "maximum", "minimum", "less"))

    def operation(xp: Any, x: Value, y: Value) -> Value:
        found = getattr(xp, name)(x, y)
        return xp.astype(found, xp.float64) if name == "less" else xp.clip(found, -LARGEST, LARGEST)

    return named(name, operation), rng.choice(((a, b), (b, a)))


def _where(rng: Random, values: Sequence[Value]) -> Any:
    a = _operand(rng, values)
    numbers = (_partner(rng, values, a), a, _partner(rng, values, a))
    if not _broadcast(*(values[i] for i in numbers)):
        return None
    return named("where", lambda xp, c, x, y: xp.where(c > 0, x, y)), numbers


FOLDS = ("sum", "max", "min", "prod", "any", "count_nonzero")


def _axes(rng: Random, rank: int) -> Any:
    """Axes of a fold: often the last one, so that several folds are over the same."""
    some = tuple(rng.sample(range(rank), rng.randint(0, rank)))
    return rng.choice((some, None, *((-1, -1) if rank else ())))


def _fold(xp: Any, name: str, x: Value, axis: Any, keep: bool) -> Value:
    found = xp.astype(getattr(xp, name)(x, axis=axis, keepdims=keep), xp.float64)
    return xp.clip(found, -LARGEST, LARGEST)


def _reduction(rng: Random, values: Sequence[Value]) -> Any:
    a = _operand(rng, values)
    name, axis, keep = rng.choice(FOLDS), _axes(rng, values[a].ndim), rng.random() < 0.5
    return named(f"{name} {axis} {keep}", lambda xp, x: _fold(xp, name, x, axis, keep)), (a,)


def _used(rng: Random, values: Sequence[Value]) -> Any:
    """A fold whose result is used on the elements."""
    a = _operand(rng, values)
    name, axis = rng.choice(FOLDS), _axes(rng, values[a].ndim)
    use = rng.choice(("subtract", "multiply", "maximum", "less"))

    def operation(xp: Any, x: Value) -> Value:
        found = getattr(xp, use)(x, _fold(xp, name, x, axis, keep=True))
        return xp.astype(found, xp.float64) if use == "less" else xp.clip(found, -LARGEST, LARGEST)

    return named(f"{use} {name} {axis}", operation), (a,)


def _argument(rng: Random, values: Sequence[Value]) -> Any:
    a = _operand(rng, values)
    axis = rng.choice((None, *range(values[a].ndim)))
    name = rng.choice(("argmax", "argmin"))

    def operation(xp: Any, x: Value) -> Value:
        return xp.astype(getattr(xp, name)(x, axis=axis), xp.float64)

    return named(f"{name} {axis}", operation), (a,)


def _permuted(rng: Random, values: Sequence[Value]) -> Any:
    a = _operand(rng, values)
    order = tuple(rng.sample(range(values[a].ndim), values[a].ndim))
    return named(f"permute_dims {order}", lambda xp, x: xp.permute_dims(x, order)), (a,)


def _expanded(rng: Random, values: Sequence[Value]) -> Any:
    a = _operand(rng, values)
    axis = rng.randint(0, values[a].ndim)
    if values[a].ndim > 3:
        return None
    return named(f"expand_dims {axis}", lambda xp, x: xp.expand_dims(x, axis=axis)), (a,)


def _squeezed(rng: Random, values: Sequence[Value]) -> Any:
    a = _operand(rng, values)
    axes = tuple(i for i, n in enumerate(values[a].shape) if n == 1)
    return named(f"squeeze {axes}", lambda xp, x: xp.squeeze(x, axis=axes)), (a,)


def _stretched(rng: Random, values: Sequence[Value]) -> Any:
    a = _operand(rng, values)
    larger = [b for b, y in enumerate(values) if _broadcast(values[a], y)]
    b = rng.choice([b for b in larger if np.broadcast(values[a], values[b]).shape == values[b].shape])
    return named("broadcast_to", lambda xp, x, y: xp.broadcast_to(x, y.shape)), (a, b)


def _sized(rng: Random, values: Sequence[Value]) -> Any:
    a = _operand(rng, values)
    if not values[a].ndim:
        return None
    axis = rng.randint(0, values[a].ndim - 1)

    def operation(xp: Any, x: Value) -> Value:
        return xp.clip(x * (2 * x.shape[axis] - 1) + x.size, -LARGEST, LARGEST)

    return named(f"sizes {axis}", operation), (a,)


def _numbered(rng: Random, values: Sequence[Value]) -> Any:
    a = _operand(rng, values)
    if not values[a].ndim:
        return None
    return named("arange", lambda xp, x: x + xp.arange(x.shape[-1])), (a,)


def _joined(rng: Random, values: Sequence[Value]) -> Any:
    a = _operand(rng, values)
    if values[a].ndim < 2:
        return None
    i = rng.randint(0, values[a].ndim - 2)
    return named(f"join {i}", lambda xp, x: xp.reshape(x, (*x.shape[:i], -1, *x.shape[i + 2 :]))), (a,)


def _divided(rng: Random, values: Sequence[Value]) -> Any:
    a = _operand(rng, values)
    places = [(i, n) for i, n in enumerate(values[a].shape) if n > 3]
    if not places or values[a].ndim > 3:
        return None
    i, n = rng.choice(places)
    part = rng.choice([p for p in range(1, n + 1) if n % p == 0])
    sizes = rng.choice(((part, -1), (-1, part)))
    return named(f"split {i} {sizes}", lambda xp, x: xp.reshape(x, (*x.shape[:i], *sizes, *x.shape[i + 1 :]))), (a,)


def _sliced(rng: Random, values: Sequence[Value]) -> Any:
    """A slice of at least one element, or an index, of one axis."""
    a = _operand(rng, values)
    if not values[a].ndim:
        return None
    axis = rng.randrange(values[a].ndim)
    n = values[a].shape[axis]
    k = rng.randint(-n, n - 1)
    keys = (k, slice(k, None), slice(None, k, -1), slice(None, None, rng.choice((2, -1, -2))), slice(None, k))
    key = rng.choice([key for key in keys if type(key) is int or range(n)[key]])
    index = (*(slice(None),) * axis, key)
    return named(f"index {axis} {key}", lambda _, x: x[index]), (a,)


KINDS: list[Callable[[Random, Sequence[Value]], Any]] = [
    *[_binary] * 5, *[_reduction] * 3, *[_used] * 4, *[_expanded] * 2, *[_permuted] * 2, *[_joined] * 2,
    *[_divided] * 2, *[_sliced] * 2, _argument, _numbered, _sized, _squeezed, _stretched, _where,
]  # fmt: skip
"""The kinds of operations, each as often as it is chosen."""
