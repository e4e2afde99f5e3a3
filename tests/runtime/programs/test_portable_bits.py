"""Portable bits of a row depend on that row alone, for every program of the library, wherever its rows wait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from covering import covering, some
from library_programs import KINDS, RESIDENCIES

import warpfold as wf

Array = Any
RNG = np.random.default_rng(8)
ROWS = 5
ON_CHIP = {place: plan for place, plan in RESIDENCIES.items() if place not in ("cut", "grid", "teams")}
"""Rows that are cut are folded by plain reductions, whose bits depend on the number of rows, too."""


def with_gaps(rows: Array) -> Array:
    """Rows that begin at odd addresses, apart from each other."""
    wide = np.zeros((len(rows), rows.shape[1] + 7), rows.dtype)
    wide[:, 3:-4] = rows
    return wide[:, 3:-4]


def spread(rows: Array) -> Array:
    """Elements two apart."""
    wide = np.zeros((len(rows), 2 * rows.shape[1]), rows.dtype)
    wide[:, ::2] = rows
    return wide[:, ::2]


ORDER = np.array([3, 0, 4, 1, 2])
TWICE = np.tile(ORDER, 2)
Places = dict[str, tuple[Any, Callable[[Array], Array]]]
FEW: Places = {
    "one of them": ([2], lambda rows: rows[2:3]),
    "more, in another order, with gaps": (TWICE, lambda rows: with_gaps(rows[TWICE])),
}
MANY: Places = FEW | {
    "spread": (range(ROWS), spread),
    "backwards": (range(ROWS)[::-1], lambda rows: rows[::-1]),
    "from the other end": (range(ROWS), lambda rows: rows[:, ::-1].copy()[:, ::-1]),
    "turned": (range(ROWS), lambda rows: rows.T.copy().T),
}
"""Numbers of the rows that lie elsewhere, and how."""


@dataclass(frozen=True)
class Beside:
    """What lies beside some rows: their weights, which are alike, and their targets."""

    weights: Array
    targets: Array


def _of_rows(name: str) -> Callable[..., Any]:
    return lambda x, _, **how: getattr(wf, name)(x, **how)


PROGRAMS: dict[str, Callable[..., Any]] = {
    **{f: _of_rows(f) for f in ("softmin", "log_softmax", "layer_norm", "rms_norm", "standardize", "quantize")},
    "softmax": lambda x, own, **how: wf.softmax(x, bias=own.weights, where=own.weights[0] > -2, **how),
    "normalize": lambda x, _, **how: wf.normalize(x, axis=-1, **how),
    "add_layer_norm": lambda x, own, **how: wf.add_layer_norm(x, x[::-1].copy()[::-1], own.weights[0], **how),
    "add_rms_norm": lambda x, own, **how: wf.add_rms_norm(x, x[::-1].copy()[::-1], own.weights[0], **how),
    "group_norm": lambda x, _, **how: wf.group_norm(x[:, : len(x[0]) // 2 * 2], 2, **how),
    "instance_norm": lambda x, _, **how: wf.instance_norm(x[:, None], **how),
    "batch_norm": lambda x, _, **how: wf.batch_norm(x, training=True, channel_axis=0, **how),
    "cross_entropy": lambda x, own, **how: wf.cross_entropy(x, own.targets, reduction="none", **how),
}  # fmt: skip


def bits(name: str, x: Array, numbers: Any, weight: Array, targets: Array, how: dict[str, str]) -> list[bytes]:
    """The bytes of all results of each row."""
    own = Beside(weight[list(numbers)], targets[list(numbers)])
    found = PROGRAMS[name](x, own, determinism="portable", **how)
    found = found if isinstance(found, tuple) else (found,)
    return [b"".join(np.ascontiguousarray(r[i]).tobytes() for r in found) for i in range(len(x))]


@pytest.mark.parametrize("name", some(PROGRAMS, 5))
def test_bits_of_a_row_depend_on_that_row_alone(name: str) -> None:
    places = dict(MANY)
    if name == "cross_entropy":  # only folds: a plain reduction, whose tree depends on strides
        del places["turned"]
    _agree(name, places, {})


def test_rows_of_two_axes_in_any_memory_order() -> None:
    x = (RNG.standard_normal((4, 9, 14)) * 3).astype(np.float32)
    for function in (wf.softmax, wf.layer_norm):
        expected = function(x, axis=(1, 2), determinism="portable")
        for order in ((0, 2, 1), (2, 0, 1), (1, 2, 0)):
            turned = x.transpose(order).copy().transpose(np.argsort(order))
            np.testing.assert_array_equal(function(turned, axis=(1, 2), determinism="portable"), expected)


@covering(("place", ON_CHIP), ("name", PROGRAMS))
def test_wherever_rows_wait(name: str, place: str) -> None:
    if (name, place) == ("cross_entropy", "l2"):
        pytest.skip("a program that only folds reads its rows once there")
    _agree(name, FEW, {"plan": ON_CHIP[place]})


def _agree(name: str, places: Places, how: dict[str, str]) -> None:
    """Rows have the same bits in all places."""
    t, columns = (("f32", 334), ("bf16", 600), ("f16", 601))[len(name) % 3]
    x = (RNG.standard_normal((ROWS, columns)) * 3).astype(KINDS[t])
    weight = np.tile(RNG.standard_normal(columns).astype(np.float32), (ROWS, 1))
    targets = RNG.integers(0, columns, ROWS)
    expected = bits(name, x, range(ROWS), weight, targets, how)
    for where, (numbers, change) in places.items():
        found = bits(name, change(x), numbers, weight, targets, how)
        assert found == [expected[i] for i in numbers], where


def test_one_row_of_halves_with_wide_weights_has_the_tree_of_many() -> None:
    """Rounding to halves would hide most differences: the plans tell."""
    x, weight = np.zeros((5, 601), np.float16), np.zeros(601, np.float32)
    trees = set()
    for rows in (x, x[2:3]):
        (kernel,) = wf.layer_norm.compile(rows, weight, determinism="portable").artifact.kernels
        trees.add((kernel.plan.vector, kernel.plan.positions, kernel.plan.held))
    assert len(trees) == 1
