"""Random programs of arrays as Python code: NumPy and PyTorch run it, and tracing takes it as it is.

Arrays hold small integers, and operations of *exact* programs are exact on them in every type of floats, so that
results must be equal. Other programs have means, exponentials and quotients as well. ``python tests/random_programs.py
--help`` says how to run many of them (``random_checks.py``).
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
from random_kinds import KINDS, SMOOTH

import warpfold as wf

Value = Any
SIZES = (3, 3, 1, 2, 6)
"""Sizes of axes: few, so that many are equal."""
WIDE = (8, 16, 8, 4, 1, 3, 32)
"""Sizes of rows of which wide accesses read some, among others."""
TYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda a: a,
    "transposed": lambda a: a.T.copy().T,
    "every other": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "part of rows": lambda a: np.concatenate([a, a], axis=-1)[..., : a.shape[-1]],
    "backwards": lambda a: a[::-1].copy()[::-1],
    "rows backwards": lambda a: a[..., ::-1].copy()[..., ::-1],
    "misaligned": lambda a: np.concatenate([np.zeros(1, a.dtype), a.ravel()])[1:].reshape(a.shape),
}
"""How arrays lie in memory."""
REFUSED = ("WF273", "WF274", "WF286", "WF290")
"""Codes of what programs do not have: splits of a dim into no whole numbers, slices of what was joined or scanned."""


@dataclass(frozen=True)
class Argument:
    """An array of small integers, each moved by less than a half where ``exact`` is false."""

    shape: tuple[int, ...]
    seed: int
    dtype: str = "f64"
    layout: str = "plain"
    exact: bool = True

    @property
    def array(self) -> Any:
        """Its elements."""
        rng = np.random.default_rng(self.seed)
        found = rng.integers(-3, 4, self.shape).astype(np.float64)
        found = found if self.exact else np.asarray(found + rng.uniform(-0.4, 0.4, self.shape))
        return LAYOUTS[self.layout if self.shape else "plain"](np.asarray(found.astype(TYPES[self.dtype])))


@dataclass
class RandomProgram:
    """A sequence of operations on arrays.

    Attributes:
        arguments: the arrays.
        steps: in order (code, numbers of the values that it takes); a value is an argument or an earlier result.
        returned: the numbers of the values that are results.
    """

    arguments: list[Argument]
    steps: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    returned: tuple[int, ...] = ()

    @property
    def arrays(self) -> list[Any]:
        """The arrays."""
        return [a.array for a in self.arguments]

    @property
    def exact(self) -> bool:
        """Whether all operations are exact on the elements."""
        return all(a.exact for a in self.arguments)

    def __call__(self, *arrays: Value) -> tuple[Value, ...]:
        """The results of NumPy, or symbolic ones."""
        plain = all(isinstance(a, np.ndarray) for a in arrays)
        return self.run(np, NUMPY, *arrays) if plain else self.run(arrays[0].__array_namespace__(), wf, *arrays)

    def run(self, xp: Any, library: Any, *arrays: Value) -> tuple[Value, ...]:
        """The results of the functions of ``xp``, and of what stands for warpfold."""
        values = list(arrays)
        for code, operands in self.steps:
            values.append(made(code, xp, library, [values[i] for i in operands]))
        return tuple(values[i] for i in self.returned)

    def __repr__(self) -> str:
        names = [*(f"x{i}" for i in range(len(self.arguments))), *(f"v{i}" for i in range(len(self.steps)))]
        lines = [f"def program({', '.join(names[: len(self.arguments)])}):", "    xp = x0.__array_namespace__()"]
        for name, (code, operands) in zip(names[len(self.arguments) :], self.steps, strict=True):
            lines.append(f"    {name} = {code.format(*(names[i] for i in operands))}")
        lines.append(f"    return {', '.join(names[i] for i in self.returned)},")
        return "\n".join([*lines, "", "", f"arrays = [x.array for x in {self.arguments}]"])


_COMPILED: dict[str, Any] = {}


def made(code: str, xp: Any, library: Any, operands: Sequence[Value]) -> Value:
    """The value of a step."""
    if code not in _COMPILED:
        _COMPILED[code] = compile(code.format("a", "b", "c"), "<step>", "eval")
    found = eval(_COMPILED[code], {"xp": xp, "wf": library, **dict(zip("abc", operands, strict=False))})
    return np.asarray(found) if xp is np else found


def _softmax(x: Value, axis: Any) -> Value:
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


NUMPY = SimpleNamespace(
    sum=np.sum, max=np.max, min=np.min, exp=np.exp, tanh=np.tanh, mean=np.mean, var=np.var,
    cummax=lambda x, axis: np.maximum.accumulate(x, axis=axis),
    logsumexp=lambda x, **how: np.log(np.sum(np.exp(x), **how)),
    softmax=lambda x, axis: _softmax(x, axis),
    cast=lambda x, name: x.astype(name).astype(x.dtype),
)  # fmt: skip
"""What warpfold has and the standard has not, in NumPy."""


def positional(program: RandomProgram) -> Callable[..., Any]:
    """A function that calls the program, with a parameter for each of its arrays."""

    def function(*arrays: Value) -> tuple[Value, ...]:
        return program(*arrays)

    kind = inspect.Parameter.POSITIONAL_ONLY
    names = [inspect.Parameter(f"x{i}", kind) for i in range(len(program.arguments))]
    function.__signature__ = inspect.Signature(names)  # type: ignore[attr-defined]
    return function


def distinct(count: int, most: int = 9, **how: Any) -> Iterator[tuple[int, RandomProgram]]:
    """The first ``count`` programs that differ in shapes or operations, and their seeds."""
    seen: set[str] = set()
    for seed in itertools.count():
        if len(seen) == count:
            return
        program = random_program(Random(seed), most, **how)
        if repr(program) not in seen:
            seen.add(repr(program))
            yield seed, program


def random_program(rng: Random, most: int = 9, *, exact: bool = True, wide: bool = False) -> RandomProgram:
    """A program of about ``most`` operations.

    Args:
        rng: draws it.
        most: the most times that an operation, or some that belong together, are drawn.
        exact: whether its operations are exact.
        wide: whether axes are longer, and arrays have any type and layout; there are two to four results then.
    """
    own = rng.sample(WIDE, 3) if wide else SIZES
    types = rng.choice((("f64",), ("f32",), ("f32",), tuple(TYPES))) if wide else ("f64",)
    arguments = []
    for i in range(rng.randint(1, 3)):
        shape = tuple(rng.choice(own) for _ in range(rng.choice((0, 1, 2, 3) if i or not wide else (2, 2, 2, 1, 3))))
        layout = rng.choice(("plain", *LAYOUTS)) if wide else "plain"
        arguments.append(Argument(shape, rng.randint(0, 1000), rng.choice(types), layout, exact))
    b = Builder(rng, RandomProgram(arguments))
    kinds = KINDS if exact else KINDS + SMOOTH
    for _ in range(rng.randint(3, most)):
        rng.choice(kinds)(b)
    made = range(len(arguments), len(b.values))
    b.program.returned = tuple(range(len(b.values)))
    if wide:
        last = [len(b.values) - 1] * bool(made)
        b.program.returned = tuple(sorted({*last, *rng.sample(made, min(len(made), rng.randint(1, 3)))}))
    return b.program


class Builder:
    """A program in the making.

    Attributes:
        rng: draws it.
        program: the program so far.
        values: its values.
    """

    def __init__(self, rng: Random, program: RandomProgram) -> None:
        self.rng, self.program = rng, program
        self.values = [a.astype(np.float64) for a in program.arrays]

    def add(self, code: str, *operands: int) -> int:
        """A further step, and the number of its value; that of the latest value where NumPy refuses it."""
        try:
            with np.errstate(all="ignore"):
                found = made(code, np, NUMPY, [self.values[i] for i in operands])
        except (ValueError, IndexError):  # shapes that do not fit
            return len(self.values) - 1
        if found.ndim > 4 or found.size > 5000 or not np.all(np.isfinite(found)):
            return len(self.values) - 1
        self.program.steps.append((code, operands))
        self.values.append(found)
        return len(self.values) - 1

    def operand(self) -> int:
        """The number of a value: the latest more often than others."""
        return min(self.rng.randint(0, len(self.values) + 1), len(self.values) - 1)

    def partner(self, a: int) -> int:
        """The number of a value that broadcasts with value ``a``."""
        return self.rng.choice([b for b in range(len(self.values)) if self.broadcast(a, b)])

    def broadcast(self, *numbers: int) -> bool:
        """Whether values broadcast, to at most 4 axes."""
        try:
            return len(np.broadcast_shapes(*(self.values[i].shape for i in numbers))) <= 4
        except ValueError:
            return False

    def rank(self, a: int) -> int:
        return int(self.values[a].ndim)

    def axis(self, a: int) -> int:
        """An axis of a value that has one."""
        return self.rng.randrange(self.rank(a))

    def axes(self, a: int) -> Any:
        """Axes of a fold: often the last one, so that several folds are over the same."""
        rank = self.rank(a)
        some = tuple(self.rng.sample(range(rank), self.rng.randint(0, rank)))
        return self.rng.choice((some, None, *((-1, -1, 0) if rank else ())))


if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).parents[1]))
    from random_checks import main

    main()
