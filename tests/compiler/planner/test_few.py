"""``plan="few"``: one reduction of many sizes has few kernels, the right results, and portable bits as ever."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from covering import covering

import warpfold as wf
from warpfold.compiler.errors import PlanError

SHAPES = (
    ((3, 7), 1),
    ((40, 3), 0),
    ((5, 130), 1),
    ((2, 3000), 1),
    ((300, 20), 0),
    ((7, 4, 33), 1),
    ((2, 3, 5, 4), (0, 2)),
)


@covering((("shape", "axis"), SHAPES), ("dtype", [np.float32, np.float16, np.int8, np.float64]))
def test_results_are_right(shape: tuple[int, ...], axis: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    whole = rng.integers(-9, 9, (*shape[:-1], shape[-1] + 1)).astype(dtype)
    for x in (whole[..., :-1], whole[..., 1:], whole[..., 1:].copy()):
        assert (wf.sum(x, axis=axis, plan="few") == x.astype(np.float64).sum(axis)).all()
        assert (wf.argmax(x, axis=1, plan="few") == x.argmax(1)).all()
        assert np.allclose(wf.var(x.astype(np.float32), axis=axis, plan="few"), x.astype(np.float64).var(axis))


def test_rows_and_columns_of_many_sizes_share_kernels() -> None:
    rng, found = random.Random(0), {"": set(), "few": set()}
    for _ in range(60):
        shape = tuple(int(1000 ** rng.random()) for _ in range(rng.randint(1, 3)))
        axis = rng.randrange(len(shape))
        for plan, keys in found.items():
            keys.add(wf.compile("sum", shape=shape, dtype="f32", axis=axis, plan=plan).artifact.kernels[0].key)
    assert len(found["few"]) <= 12 < len(found[""])


def test_fields_may_follow_the_name() -> None:
    assert wf.compile("sum", shape=(100, 1000), dtype="f32", axis=1, plan="few,unroll=2").plan.unroll == 2


def test_portable_bits_are_those_without_a_menu() -> None:
    x = np.random.default_rng(0).standard_normal((20, 777)).astype(np.float32)
    for made in (wf.sum, wf.softmax):
        one, other = (made(x, axis=1, determinism="portable", plan=plan) for plan in ("", "few"))
        assert one.tobytes() == other.tobytes()


def test_a_misspelt_name_is_refused_with_the_one_that_is_near() -> None:
    with pytest.raises(PlanError) as caught:
        wf.sum(np.ones(3, np.float32), plan="fwe")
    assert "WF410: no plan is called 'fwe' (did you mean few?): expected one of" in str(caught.value)
    with pytest.raises(PlanError, match="WF419"):
        wf.sum(np.ones(3, np.float32), plan="unroll=2,few")
