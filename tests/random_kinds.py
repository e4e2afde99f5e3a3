"""The kinds of operations of random programs: each adds a step, or some that belong together, to a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from random_programs import Builder

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
        return (
            CLIPPED.format(f"xp.prod(xp.clip({{0}}, -2, 2), {how})")
            if b.values[x].size < 100
            else fold(b, x, axis, keep=keep)
        )
    found = f"xp.{name}({{0}}, {how})"
    return CLIPPED.format(f"xp.astype({found}, {{0}}.dtype)" if name in ("any", "count_nonzero") else found)


def folded(b: Builder) -> None:
    x = b.operand()
    b.add(fold(b, x, b.axes(x), keep=b.rng.random() < 0.5), x)


def masked(b: Builder) -> None:
    """A fold of the elements that a mask, perhaps of fewer axes, leaves."""
    x = b.operand()
    name, how = b.rng.choice((("sum", ""), ("max", "initial=-99, "), ("min", "initial=99, ")))
    fits = [y for y in range(len(b.values)) if b.rank(y) <= b.rank(x) and b.broadcast(x, y)]
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
    b.add(
        b.rng.choice(("xp.astype({0}, xp.float32)", "wf.cast({0}, 'float16')", "xp.astype({0}, xp.float64)")),
        b.operand(),
    )


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
    keys = {
        f"{k}": range(n)[k : k + 1 or None],
        f"{k}:": range(n)[k:],
        f":{k}:-1": range(n)[:k:-1],
        f":{k}": range(n)[:k],
    }
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
