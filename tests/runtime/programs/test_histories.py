"""Calls in any order: each does what the same call of a program without a history does, errors included.

Between calls may change what is given, and what a function reads from outside.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from covering import some

sys.path.insert(0, str(Path(__file__).parents[1]))
from fake_gpu import Gpu, gpu
from outside import Number, Outside, names_of

import warpfold as wf
from warpfold.compiler.errors import WarpfoldError
from warpfold.runtime.programs import entering

__all__ = ["gpu"]
RNG = np.random.default_rng(0)
ARRAYS = [RNG.normal(size=s).astype(t) for s in ((3, 8), (5, 8), (2, 3, 8)) for t in (np.float32, np.float64)]
WEIGHTS = ARRAYS[0][0]
PARAMETERS = [
    2,
    2.0,
    True,
    1,
    0.0,
    -0.0,
    1 + 0j,
    1 - 0j,
    0j,
    -0j,
    np.float32(2),
    np.float64(2),
    Number(2),
    Number(-0.0),
]
PARAMETERS += [float("nan"), -float("nan"), "2", None, np.float32, np.dtype("f4")]
"""Those that follow each other may be equal, but programs see different ones."""
STEPS = 40


def _spelled(value: Any) -> str:
    """A text that differs where types or bits do, at every depth."""
    own = ",".join(map(_spelled, value)) if isinstance(value, tuple) else repr(value)
    return f"{type(value).__name__}({own})"


def _scaled(x: Any, w: Any = None, *, k: float = 2.0, of: Any = None, axis: Any = -1, both: bool = False) -> Any:
    e = wf.exp(x * k)
    y = e / wf.sum(e, axis=axis, keepdims=True)
    y = y if w is None else y * w
    y = y if of is None else y + float(crc32(_spelled(of).encode()) % 8)
    return (y, wf.max(x, axis=axis)) if both else y


def _array(rng: random.Random, gpu: Gpu, a: Any) -> Any:
    offset = rng.choice([0, 0, a.itemsize])
    return rng.choice([a, a.tolist(), *[gpu.tensor(a, offset=offset)] * 4])


def _call(rng: random.Random, gpu: Gpu) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call, right or wrong."""
    a = rng.choice(ARRAYS)
    xs = [_array(rng, gpu, a)]
    xs += rng.choice([[], [], [], [], [gpu.tensor(WEIGHTS)], [None], [WEIGHTS]])
    named: list[tuple[float, str, list[Any]]] = [
        (0.1, "w", [None, gpu.tensor(WEIGHTS)]),
        (0.3, "k", [2.0, 2, 1.5, True, 0.0, -0.0, np.float32(2)]),
        (0.3, "of", [v for values in PARAMETERS for v in (values, (values,), (1, (values, 2)))]),
        (0.4, "axis", [-1, 0, (0,), 1, None, 9]),
        (0.2, "both", [True, False, 1]),
        (0.1, "out", [None, gpu.tensor(np.zeros_like(a)), (gpu.tensor(np.zeros_like(a)),)]),
        (0.1, "determinism", ["portable", "fixed", "none"]),
        (0.05, "unknown", [1]),
    ]
    how = {name: rng.choice(values) for part, name, values in named if rng.random() < part}
    if rng.random() < 0.1:
        how["x"] = xs.pop(0)
    return xs, how


def _outcome(call: Callable[[], Any]) -> Any:
    """The types and the values of the results, or the first line of the error."""
    try:
        found = call()
    except WarpfoldError as e:
        return str(e).partition("\n")[0]
    own = found if isinstance(found, tuple) else (found,)
    return [(type(found), type(x), np.array(getattr(x, "a", x))) for x in own]


def _agree(found: Any, wanted: Any) -> bool:
    if isinstance(found, str) or isinstance(wanted, str):
        return bool(found == wanted)
    pairs = list(zip(found, wanted, strict=True))
    return all(f[:2] == w[:2] and f[2].dtype == w[2].dtype and np.array_equal(f[2], w[2]) for f, w in pairs)


@pytest.mark.parametrize("seed", some(range(3), 3))
def test_a_call_does_what_it_does_without_a_history(gpu: Gpu, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entering, "SHORT", 0.0)
    rng, program = random.Random(seed), wf.program(_scaled)
    for _ in range(STEPS):
        xs, how = _call(rng, gpu)
        for times in (rng.choice([1, 1, 3, 6]), 1):
            wanted = _outcome(lambda: wf.program(_scaled)(*xs, **how))  # noqa: B023
            for _ in range(times):
                found = _outcome(lambda: program(*xs, **how))  # noqa: B023
                assert _agree(found, wanted), (how, found, wanted)
            xs = [_array(rng, gpu, rng.choice(ARRAYS)), *xs[1:]] if xs else xs  # written alike, of another kind
    assert {p.sizes for own in program._traces._found.values() for p in own} == {()}


# --- what functions read from outside --------------------------------------------------------------------------------
def _by_cell(outside: Outside) -> tuple[Callable[[], Any], Callable[[], dict[str, Any]]]:
    held, read = outside.holder, outside.read

    def make() -> Any:
        return lambda x: x * read(held)

    def follow() -> dict[str, Any]:
        nonlocal held
        held = outside.holder
        return {}

    return make, follow


def _by_global(outside: Outside) -> tuple[Callable[[], Any], Callable[[], dict[str, Any]]]:
    names = {"read": outside.read, "held": outside.holder}

    def make() -> Any:
        return FunctionType((lambda x: x * read(held)).__code__, names)  # type: ignore[name-defined]  # noqa: F821

    return make, lambda: names.update(held=outside.holder) or {}  # type: ignore[func-returns-value]


def _by_self(outside: Outside) -> tuple[Callable[[], Any], Callable[[], dict[str, Any]]]:
    class Scaled:
        held, read = outside.holder, staticmethod(outside.read)

        def scale(self, x: Any) -> Any:
            return x * self.read(self.held)

    one = Scaled()

    def follow() -> dict[str, Any]:
        one.held = outside.holder
        return {}

    return lambda: one.scale, follow


def _by_default(outside: Outside) -> tuple[Callable[[], Any], Callable[[], dict[str, Any]]]:
    read, made = outside.read, list[Any]()

    def make() -> Any:
        def scale(x: Any, *, held: Any = outside.holder) -> Any:
            return x * read(held)

        made.append(scale)
        return scale

    def follow() -> dict[str, Any]:
        for scale in made:
            scale.__kwdefaults__ = {"held": outside.holder}
        return {}

    return make, follow


def _by_parameter(outside: Outside) -> tuple[Callable[[], Any], Callable[[], dict[str, Any]]]:
    read = outside.read

    def make() -> Any:
        def scale(x: Any, *, held: Any) -> Any:
            return x * read(held)

        return scale

    return make, lambda: {"held": outside.holder}


WAYS = [_by_cell, _by_global, _by_self, _by_default, _by_parameter]
"""How a function reaches a holder: each makes such functions anew, and tells them that the holder is another one."""


def _kept(f: Any) -> Any:
    def summed(v: Any, **own: Any) -> Any:
        return wf.fold(wf.SUM, f(v, **own))

    return lambda x, **how: wf.reduce(x, summed, axis=-1, **how)


def _lifted(f: Any) -> Any:
    total = wf.monoid(identity=0.0, lift=f)(lambda a, b: a + b)
    return lambda x, **how: wf.reduce(x, total, axis=-1, **how)


def _parts(f: Any) -> Any:
    total = wf.monoid(identity=0.0, lift=f)(lambda a, b: a + b)
    return lambda x, **how: wf.finish(wf.partial(x, total, axis=-1, **how))


def _scanned(f: Any) -> Any:
    total = wf.monoid(identity=0.0, lift=f)(lambda a, b: a + b)
    return lambda x, **how: wf.scan(x, total, axis=-1, **how)


def _gradient(f: Any) -> Any:
    backward = wf.vjp(f)
    return lambda x, **how: backward(x, x, **how)


KINDS = [wf.program, _kept, _lifted, _parts, _scanned, _gradient]


def _states(rng: random.Random, way: Any, names: list[str] | None, kind: Any, x: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The outcomes of a history of calls, and of the same calls of functions without a history."""
    outside = Outside(rng, names)
    make, follow = way(outside)
    call = kind(make())
    for _ in range(5):
        how = follow()
        wanted = _outcome(lambda: kind(make())(x, **how))  # noqa: B023
        for _ in range(rng.choice([1, 2, 5])):
            yield (way.__name__, kind.__name__, outside.names), _outcome(lambda: call(x, **how)), wanted  # noqa: B023
        rng.choice([outside.change, outside.change, outside.change, outside.replace, lambda: None])()


@pytest.mark.parametrize("kind", some(KINDS, 3), ids=lambda k: k.__name__)
def test_a_call_sees_the_world_as_it_is(kind: Any) -> None:
    rng, x = random.Random(0), ARRAYS[0]
    chains: list[Any] = [[name] for name in names_of()] if kind is wf.program else [None] * 6
    for names in chains:
        for what, found, wanted in _states(rng, rng.choice(WAYS), names, kind, x):
            assert _agree(found, wanted), (what, found, wanted)


@pytest.mark.parametrize("kind", [wf.program, _kept], ids=lambda k: k.__name__)
def test_a_call_that_is_repeated_sees_the_world_as_it_is(gpu: Gpu, kind: Any) -> None:
    rng, x = random.Random(1), gpu.tensor(ARRAYS[0])
    chains = [[name] for name in names_of()] if kind is wf.program else [None] * 6
    for names in chains:
        for what, found, wanted in _states(rng, rng.choice(WAYS), names, kind, x):
            assert _agree(found, wanted), (what, found, wanted)
