"""Calls in any order: each does what the same call of a program without a history does, errors included."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from fake_gpu import Gpu, gpu

import warpfold as wf
from warpfold.compiler.errors import WarpfoldError
from warpfold.runtime.programs import entering

__all__ = ["gpu"]
RNG = np.random.default_rng(0)
ARRAYS = [RNG.normal(size=s).astype(t) for s in ((3, 8), (5, 8), (2, 3, 8)) for t in (np.float32, np.float64)]
WEIGHTS = ARRAYS[0][0]
STEPS = 40


def _scaled(x: Any, w: Any = None, *, k: float = 2.0, axis: Any = -1, both: bool = False) -> Any:
    e = wf.exp(x * k)
    y = e / wf.sum(e, axis=axis, keepdims=True)
    y = y if w is None else y * w
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


@pytest.mark.parametrize("seed", range(3))
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
