"""Random programs of arrays as Python code: NumPy and PyTorch run it, and tracing takes it as it is.

Arrays hold small integers, and operations of *exact* programs are exact on them in every type of floats, so that results
must be equal. Other programs have means, exponentials and quotients as well. ``python tests/random_programs.py --help``
says how to run many of them (``random_checks.py``).
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
    found = eval(_COMPILED[code], {"xp": xp, "wf": library, **dict(zip("abc", operands, strict=False))})  # noqa: S307 - code of ours
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
        return self.rng.choice([b for b in range(len(self.values)) if self._broadcast(a, b)])

    def _broadcast(self, *numbers: int) -> bool:
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


CLIPPED = "xp.clip({}, -99, 99)"
"""Larger numbers are not exact in each type."""


def binary(b: Builder) -> None:
    x = b.operand()
    y = b.partner(x)
    name = b.rng.choice(("add", "subtract", "multiply", "maximum", "minimum"))
    b.add(CLIPPED.format(f"xp.{name}({{0}}, {{1}})"), *b.rng.choice(((x, y), (y, x))))


def compared(b: Builder) -> None:
    x = b.operand()
    b.add("xp.astype({0} < {1}, {0}.dtype)", x, b.partner(x))


def where(b: Builder) -> None:
    x = b.operand()
    b.add("xp.where({0} > 0, {1}, {2})", b.partner(x), x, b.partner(x))


FOLDS = ("sum", "sum", "max", "min", "prod", "any", "count_nonzero")


def fold(b: Builder, x: int, axis: Any, *, keep: bool) -> str:
    """The code of a fold."""
    name, how = b.rng.choice(FOLDS), f"axis={axis}" + ", keepdims=True" * keep
    if name == "prod":
        return CLIPPED.format(f"xp.prod(xp.clip({{0}}, -2, 2), {how})") if b.values[x].size < 100 else fold(b, x, axis, keep=keep)
    found = f"xp.{name}({{0}}, {how})"
    return CLIPPED.format(f"xp.astype({found}, {{0}}.dtype)" if name in ("any", "count_nonzero") else found)


def folded(b: Builder) -> None:
    x = b.operand()
    b.add(fold(b, x, b.axes(x), keep=b.rng.random() < 0.5), x)


def masked(b: Builder) -> None:
    """A fold of the elements that a mask, perhaps of fewer axes, leaves."""
    x = b.operand()
    name, how = b.rng.choice((("sum", ""), ("max", "initial=-99, "), ("min", "initial=99, ")))
    fits = [y for y in range(len(b.values)) if b.rank(y) <= b.rank(x) and b._broadcast(x, y)]
    fits = [y for y in fits if np.broadcast(b.values[x], b.values[y]).shape == b.values[x].shape]
    keep = ", keepdims=True" * (b.rng.random() < 0.5)
    b.add(CLIPPED.format(f"wf.{name}({{0}}, {how}axis={b.axes(x)}, where={{1}} > 0{keep})"), x, b.rng.choice(fits))


def used(b: Builder) -> None:
    """A fold whose result is used on the elements."""
    x = b.operand()
    f = b.add(fold(b, x, b.axes(x), keep=True), x)
    use = b.rng.choice(("{0} - {1}", "{0} * {1}", "xp.maximum({0}, {1})", "{1} - {0}"))
    b.add(CLIPPED.format(use), x, f)


def nested(b: Builder) -> None:
    """Folds of folds over other axes, used by what they were made of."""
    x = f = b.operand()
    parts = []
    for _ in range(b.rng.randint(2, 3)):
        f = b.add(fold(b, f, b.axes(f), keep=True), f)
        parts.append(f)
    for part in b.rng.sample(parts, b.rng.randint(1, len(parts))):
        x = b.add(CLIPPED.format(b.rng.choice(("{0} - {1}", "{0} * {1}"))), x, part)


def argument(b: Builder) -> None:
    x = b.operand()
    axis = b.rng.choice((None, *range(b.rank(x))))
    b.add(CLIPPED.format(f"xp.astype(xp.{b.rng.choice(('argmax', 'argmin'))}({{0}}, axis={axis}), {{0}}.dtype)"), x)


def gathered(b: Builder) -> None:
    """Elements at indices that are folded."""
    x = b.operand()
    if not b.rank(x):
        return
    axis, name = b.axis(x), b.rng.choice(("argmax", "argmin"))
    alike = [y for y in range(len(b.values)) if b.values[y].shape == b.values[x].shape]
    if b.rng.random() < 0.3:
        others = tuple(a for a in range(b.rank(x)) if a != axis)
        at = f"xp.reshape(xp.{name}(xp.sum({{1}}, axis={others})), (1,))"
        b.add(f"xp.take({{0}}, {at}, axis={axis})", x, b.rng.choice(alike))
    else:
        at = f"xp.{name}({{1}}, axis={axis}, keepdims=True)"
        b.add(f"xp.take_along_axis({{0}}, {at}, axis={axis})", x, b.rng.choice(alike))


def outer(b: Builder) -> None:
    """The product of a value, or of a fold of it, with one along another axis."""
    x = b.operand()
    y = b.rng.choice((x, b.operand()))
    x, y = (b.add(fold(b, v, b.axes(v), keep=False), v) if b.rank(v) > 1 else v for v in (x, y))
    b.add(CLIPPED.format(b.rng.choice(("{0}[..., None] * {1}", "{0} - {1}[..., None]"))), x, y)


def of_itself(b: Builder) -> None:
    """A row, a column or the first elements of a value as a weight of it."""
    x = b.operand()
    if not b.rank(x):
        return
    axis = b.axis(x)
    k = b.rng.choice((0, -1))
    key = b.rng.choice((f"{k}", f"{k}:" if k else ":1"))
    w = b.add(f"{{0}}[{', '.join([':'] * axis + [key])}]", x)
    b.add(CLIPPED.format(b.rng.choice(("{0} * {1}", "{0} - {1}"))), x, w)


def flattened(b: Builder) -> None:
    """A column, or a whole value, that meets itself flattened."""
    x = b.operand()
    if b.rank(x) > 1 and b.rng.random() < 0.7:
        x = b.add(f"{{0}}[{', '.join([':'] * (b.rank(x) - 1) + [':1'])}]", x)
    flat = b.add("xp.reshape({0}, (-1,))", x)
    b.add(CLIPPED.format(b.rng.choice(("{0} * {1}", "{0} - {1}", "{1}[:, None] - {1}"))), x, flat)


def scanned(b: Builder) -> None:
    x = b.operand()
    if b.rank(x):
        axis = b.axis(x)
        how = b.rng.choice((f"xp.cumulative_sum({{0}}, axis={axis})", f"wf.cummax({{0}}, axis={axis})"))
        b.add(CLIPPED.format(how), x)


def cast(b: Builder) -> None:
    b.add(b.rng.choice(("xp.astype({0}, xp.float32)", "wf.cast({0}, 'float16')", "xp.astype({0}, xp.float64)")), b.operand())


def permuted(b: Builder) -> None:
    x = b.operand()
    b.add(f"xp.permute_dims({{0}}, {tuple(b.rng.sample(range(b.rank(x)), b.rank(x)))})", x)


def expanded(b: Builder) -> None:
    x = b.operand()
    b.add(f"xp.expand_dims({{0}}, axis={b.rng.randint(0, b.rank(x))})", x)


def squeezed(b: Builder) -> None:
    x = b.operand()
    b.add(f"xp.squeeze({{0}}, axis={tuple(i for i, n in enumerate(b.values[x].shape) if n == 1)})", x)


def stretched(b: Builder) -> None:
    x = b.operand()
    y = b.partner(x)
    b.add("xp.broadcast_to({0}, {1}.shape)", x, y)


def sized(b: Builder) -> None:
    x = b.operand()
    if b.rank(x):
        b.add(CLIPPED.format(f"{{0}} * (2 * {{0}}.shape[{b.axis(x)}] - 1) + {{0}}.size"), x)


def numbered(b: Builder) -> None:
    x = b.operand()
    if b.rank(x):
        b.add(CLIPPED.format("{0} + xp.arange({0}.shape[-1])"), x)


def joined(b: Builder) -> None:
    x = b.operand()
    if b.rank(x) > 1:
        i = b.rng.randint(0, b.rank(x) - 2)
        b.add(f"xp.reshape({{0}}, (*{{0}}.shape[:{i}], -1, *{{0}}.shape[{i + 2}:]))", x)


def divided(b: Builder) -> None:
    x = b.operand()
    places = [(i, n) for i, n in enumerate(b.values[x].shape) if n > 3]
    if places:
        i, n = b.rng.choice(places)
        part = b.rng.choice([p for p in range(1, n + 1) if n % p == 0])
        sizes = b.rng.choice((f"{part}, -1", f"-1, {part}"))
        b.add(f"xp.reshape({{0}}, (*{{0}}.shape[:{i}], {sizes}, *{{0}}.shape[{i + 1}:]))", x)


def sliced(b: Builder) -> None:
    """A slice of at least one element, or an index, of one axis."""
    x = b.operand()
    if not b.rank(x):
        return
    axis = b.axis(x)
    n = b.values[x].shape[axis]
    k = b.rng.randint(-n, n - 1)
    keys = {f"{k}": range(n)[k : k + 1 or None], f"{k}:": range(n)[k:], f":{k}:-1": range(n)[:k:-1], f":{k}": range(n)[:k]}
    keys |= {f"::{s}": range(n)[::s] for s in (2, -1, -2)}
    b.add(f"{{0}}[{', '.join([':'] * axis + [b.rng.choice([key for key, own in keys.items() if own])])}]", x)


KINDS: list[Callable[[Builder], None]] = [
    *[binary] * 5, *[folded] * 3, *[used] * 4, *[nested] * 2, *[gathered] * 2, *[outer] * 2, *[expanded] * 2,
    *[permuted] * 2, *[joined] * 2, *[divided] * 2, *[sliced] * 2, masked, of_itself, flattened, scanned, argument,
    numbered, sized, squeezed, stretched, where, compared, cast,
]  # fmt: skip
"""The kinds of operations, each as often as it is chosen."""


def unary(b: Builder) -> None:
    b.add(b.rng.choice(("wf.tanh({0})", "wf.exp(-xp.abs({0}))", "xp.abs({0})", "xp.sqrt(1 + {0} * {0})")), b.operand())


def divided_by(b: Builder) -> None:
    x = b.operand()
    b.add("{0} / (1 + xp.abs({1}))", x, b.partner(x))


def statistic(b: Builder) -> None:
    x = b.operand()
    name = b.rng.choice(("xp.mean", "xp.var", "wf.logsumexp"))
    b.add(f"{name}(xp.clip({{0}}, -20, 20), axis={b.axes(x)}{', keepdims=True' * (b.rng.random() < 0.6)})", x)


def normalized(b: Builder) -> None:
    """Elements of which the mean, or the greatest, is taken away, or a softmax of them."""
    x = b.operand()
    axis = b.axes(x)
    code = "wf.softmax({0}, axis=AXIS)", "{0} - xp.mean({0}, axis=AXIS, keepdims=True)"
    code += ("({0} - xp.mean({0}, axis=AXIS, keepdims=True)) / xp.sqrt(1 + xp.var({0}, axis=AXIS, keepdims=True))",)
    b.add(b.rng.choice(code).replace("AXIS", repr(axis)), x)


SMOOTH = [*[unary] * 3, divided_by, *[statistic] * 3, *[normalized] * 3]
"""Kinds of operations whose results are rounded."""


if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).parents[1]))
    from random_checks import main

    main()
