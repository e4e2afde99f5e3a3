"""Special values at every place that a plan treats differently: lanes, warps, elements of a vector, tails, seams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from covering import covering

import warpfold as wf
from warpfold.compiler.dtypes import dtype
from warpfold.compiler.plan.launch import Launch
from warpfold.compiler.plan.plan import Plan
from warpfold.runtime.api import plan_for

from .reference import REFERENCE, compare, rows

INF, NAN = float("inf"), float("nan")


@dataclass(frozen=True)
class Scene:
    """An array of one value with others in it.

    Attributes:
        function: the reduction.
        base: what all elements are.
        special: what the element at each place in turn is.
        always: what the last element is besides; None for ``base``.
    """

    function: str
    base: float
    special: float
    always: float | None = None

    def row(self, n: int, place: int, t: np.dtype[Any]) -> np.ndarray[Any, Any]:
        found = np.full(n, self.base, t)
        if self.always is not None:
            found[-1] = self.always
        found[place] = self.special
        return found


_SIGNS = [Scene(f, b, s) for f in ("min", "max") for b, s in ((0.0, -0.0), (-0.0, 0.0), (1.0, -0.0))]
_EXTREMES = [
    Scene(f, b, s)
    for f in ("min", "max", "minmax", "argmin", "argmax")
    for b, s in ((1, NAN), (1, INF), (1, -INF), (INF, -INF), (-INF, INF), (NAN, 1), (-INF, NAN), (0, 1e-7), (0, -1e-7))
]
_TIES = [
    scene
    for f, low in (("argmin", -1), ("argmax", 3), ("nanargmin", -1), ("nanargmax", 3))
    for scene in (Scene(f, 1, low), Scene(f, 1, low, always=low), Scene(f, low, 1), Scene(f, 1, 1))
]
_NANS = [
    scene
    for f in ("nansum", "nanprod", "nanmin", "nanmax", "nanmean", "nanargmin", "nanargmax")
    for scene in (Scene(f, 1, NAN), Scene(f, NAN, 1), Scene(f, 1, NAN, always=INF), Scene(f, NAN, -INF, always=2))
]
_SUMS = [
    scene
    for f in ("sum", "mean", "logsumexp", "norm")
    for scene in (Scene(f, 0, NAN), Scene(f, 1, INF), Scene(f, 1, -INF), Scene(f, 1, INF, always=-INF), Scene(f, 0, 7))
]
_TRUTH = [
    Scene(f, b, s)
    for f in ("any", "all", "count_nonzero")
    for b, s in ((0, 1), (1, 0), (0, -0.0), (0, NAN), (1, NAN), (0, 1e-7))
]
FLOATS = [*_SIGNS, *_EXTREMES, *_TIES, *_NANS, *_SUMS, *_TRUTH, Scene("sum", 0, 1e-7), Scene("prod", 1, 0)]
WHOLE = [
    Scene(f, b, s)
    for f in ("sum", "prod", "min", "max", "argmin", "argmax", "any", "all", "count_nonzero")
    for b, s in ((0, 1), (1, 0), (1, 3))
]
ARRANGEMENTS = {"one row": (1, 40_003), "short row": (1, 1043), "rows": (None, 261), "columns": (517, None)}
"""Shapes, with None for one result per place."""
SHARES = 48
"""How many scenes share the places of a single result, where each place costs a launch."""


def places(plan: Plan, run: Launch, n: int) -> list[int]:
    """Where ``plan`` treats elements differently: of each the first, and around seams the neighbours."""
    v, step, tile = plan.vector_reduced, plan.positions * plan.vector_reduced, plan.tile
    piece = -(-run.chunk // plan.positions) if plan.walk == "blocked" else v
    found = set(range(v + 1))  # the elements of a vector, and the next lane's first
    found |= {lane * piece for lane in range(plan.lanes)} | {w * plan.lanes * piece for w in range(plan.warps)}
    found |= {u * step for u in range(plan.unroll)}
    seams = [tile, n - n % tile, n - n % step, n - n % v, n, run.chunk, (run.split // 2) * run.chunk]
    seams += [(run.split - 1) * run.chunk, n // 2]
    found |= {seam + d for seam in seams for d in (-2, -1, 0, 1)}
    return sorted(place for place in found if 0 <= place < n)


@covering(("arrangement", ARRANGEMENTS), ("name", ["f32", "f64", "bf16"]))
def test_floats(name: str, arrangement: str, device: str) -> None:
    for number, scene in enumerate(FLOATS):
        _play(scene, name, arrangement, device, number)


@covering(("arrangement", ARRANGEMENTS), ("name", ["i8", "u64", "bool"]))
def test_integers(name: str, arrangement: str, device: str) -> None:
    for number, scene in enumerate(WHOLE):
        _play(scene, name, arrangement, device, number)


def _play(scene: Scene, name: str, arrangement: str, device: str, number: int) -> None:
    """All places in one array; for a single result one array per place, of which each scene takes its share."""
    shape = ARRANGEMENTS[arrangement]
    n, axis = (shape[0], 0) if arrangement == "columns" else (shape[1], 1)
    assert n is not None
    sizes = (64, n) if axis == 1 and shape[0] is None else (n, 64) if axis == 0 else shape
    ready = plan_for(scene.function, sizes, name, axis=axis)
    where = places(ready.choice.plan, ready.choice.run, n)
    shares = min(SHARES, len(where)) if shape[0] == 1 else 1
    where = where[number % shares :: shares]
    table = np.stack([scene.row(n, place, dtype(name).numpy) for place in where])
    with np.errstate(all="ignore"):
        wanted = REFERENCE[scene.function](rows([table], None, (1,)), {})
    f = getattr(wf, scene.function)
    if shape[0] == 1:
        got = _joined([f(row, device=device) for row in table])
    else:
        got = _joined(
            [f(table, axis=1, device=device) if axis == 1 else f(np.ascontiguousarray(table.T), axis=0, device=device)]
        )
    for g, w in zip(got, wanted, strict=True):
        with np.errstate(all="ignore"):
            wrong = compare(g, w)
        assert not wrong, f"{wrong}: {scene} of {name}, {arrangement}, special at {where}"


def _joined(results: list[Any]) -> list[np.ndarray[Any, Any]]:
    """Each result of all calls in one array."""
    fields = [r if isinstance(r, tuple) else (r,) for r in results]
    return [np.concatenate([np.atleast_1d(r[i]) for r in fields]) for i in range(len(fields[0]))]
