"""docs/semantics.md: order."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest
from meanings import (
    F32,
    F64,
    U32,
    affine,
    composed_in_numpy,
    f32,
    g,
    greatest,
    normal,
    on_emulator,
    reduce,
    refused,
    total,
)

import warpfold as wf
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.task import Task
from warpfold.compiler.target import target
from warpfold.runtime.api import plan_for


def composed(x: Any) -> Any:
    return wf.fold(affine, x, x - 1)[1]


def test_a_tree_not_a_chain() -> None:
    x = np.full(2**12, 0.1, F32)
    chain = np.cumsum(x)[-1]
    assert abs(float(total(x)) - 409.6) < abs(float(chain) - 409.6) / 10


def test_same_bits_on_every_run() -> None:
    x = normal(3, 5000)
    first = [total(x, axis).tobytes() for axis in (0, 1, None)]
    assert all([total(x, axis).tobytes() for axis in (0, 1, None)] == first for _ in range(3))


def test_order_is_kept() -> None:
    x = np.random.default_rng(3).choice([-1.0, 1.0], (4, 30, 50))  # keeps every step exact
    for v in (x, x[:, ::-1], x.transpose(2, 0, 1)):
        got = reduce(v, what=composed, axis=(0, 2))
        np.testing.assert_array_equal(got, composed_in_numpy(np.moveaxis(v, 1, 0).reshape(v.shape[1], -1)))


@pytest.mark.parametrize("plan", ["", "vector=1", "warps=1,lanes=1", "walk=blocked,vector=1", "finish=two_kernels"])
def test_exact_under_every_plan(plan: str) -> None:
    x = np.random.default_rng(0).integers(-(2**31), 2**31, 3000)
    assert total(x, plan=plan) == x.sum()
    y = normal(3000)
    assert greatest(y, plan=plan) == y.max()
    assert on_emulator("argmin")(y, plan=plan) == y.argmin()
    assert on_emulator("count_nonzero")(y > 0, plan=plan) == np.count_nonzero(y > 0)


def test_atomics_only_where_exact() -> None:
    assert total(np.arange(9), plan="finish=atomic") == 36
    refused("WF408", "sum", f32(1, 2), plan="finish=atomic")


@pytest.mark.parametrize(("shape", "axis"), [((5000,), None), ((2**22,), None), ((64, 3000), 1), ((3000, 64), 0)])
def test_portable_plans(shape: tuple[int, ...], axis: Any) -> None:
    ready = plan_for("sum", shape, axis=axis, determinism="portable")
    machines = itertools.product(("sm_75", "sm_90a"), (1, 84, 1000), (0, 4, 8))
    tasks = (Task(ready.program, ready.geometry, (a, 0), target(t), sms, "portable") for t, sms, a in machines)
    assert len({(c.plan, c.run.split) for c in map(choose, tasks)}) == 1


def test_portable_bits() -> None:
    x, room = normal(5000), np.empty(5004, F32)
    found = set()
    for shift in range(4):
        room[shift : shift + 5000] = x
        found.add(total(room[shift : shift + 5000], determinism="portable").tobytes())
    assert len(found) == 1


def test_portable_rows() -> None:
    x = normal(1100, 140)
    softmax = partial(wf.softmax, axis=1, determinism="portable", device="emulator")
    many = softmax(x)
    assert all(softmax(x[i : i + 1]).tobytes() == many[i].tobytes() for i in range(9))
    sums = [plan_for("sum", (n, 2**16), axis=1, determinism="portable").choice for n in (1, 5000)]
    assert sums[0].run.split > sums[1].run.split


def test_floats_by_atomics() -> None:
    x = normal(5000)
    got = total(x, determinism="none", plan="finish=atomic")
    assert abs(float(got) - x.sum(dtype=F64)) <= g(4999, U32) * np.abs(x).sum(dtype=F64)
    refused("WF408", "sum", x, plan="finish=atomic")
