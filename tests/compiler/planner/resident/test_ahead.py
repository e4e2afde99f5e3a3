"""Which rows are few enough that a thread reads what only results need before the first phase."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.errors import PlanError


@wf.program
def scaled(x: Any, total: Any) -> tuple[Any, Any]:
    """A result of elements, and one of rows, which needs a value a row that no fold does."""
    e = wf.exp(x - wf.max(x, axis=-1, keepdims=True))
    return e, wf.sum(e, axis=-1) * total


def _reads(function: Any, *shapes: tuple[int, ...], **how: str) -> str:
    plan = function.compile(*((shape, "f32") for shape in shapes), **how).plans[0]
    return str(plan.reads)


@pytest.mark.parametrize(
    ("shape", "how", "expected"),
    [
        ((64, 1024), {}, "ahead"),
        ((64, 1024), {"plan": "reads="}, ""),
        ((32768, 1024), {}, ""),  # other CTAs run meanwhile
        ((4, 100_000), {}, ""),  # no registers hold the row
        ((64, 1024), {"plan": "few"}, ""),  # of a menu, by which sizes share kernels
    ],
)
def test_few_rows_read_their_weights_ahead(shape: tuple[int, int], how: dict[str, str], expected: str) -> None:
    assert _reads(wf.layer_norm, shape, shape[1:], shape[1:], **how) == expected


def test_what_folds_need_is_not_read_ahead() -> None:
    assert not _reads(wf.softmax, (64, 1024))
    assert _reads(scaled, (64, 1024), (64,)) == "ahead"


def test_rows_in_shared_memory_are_refused() -> None:
    with pytest.raises(PlanError, match=r"WF425: .*layer_norm.* reads=ahead"):
        _reads(wf.layer_norm, (4, 1024), (1024,), (1024,), plan="resident=shared,reads=ahead")


def test_all_is_read_before_threads_meet() -> None:
    ptx = wf.layer_norm.compile(((4, 1024), "bf16"), ((1024,), "bf16"), ((1024,), "bf16"), plan="warps=4").ptx
    assert ptx.rindex("ld.volatile.global") < ptx.index("bar.sync")
    assert ptx.count("ld.volatile.global") == 3
    assert "ld.global" not in ptx


def test_a_result_takes_the_place_of_what_is_read_ahead() -> None:
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((3, 256)).astype(np.float32), rng.standard_normal((1, 256)).astype(np.float32)
    totals = np.array([2.0, -1.0, 0.5], np.float32)
    expected = [scaled(x, totals, plan="reads=")[1], wf.rms_norm(x[:1], w, plan="reads=")]
    assert scaled(x, totals, out=(None, totals))[1] is totals
    assert wf.rms_norm(x[:1], w, out=w) is w
    assert np.array_equal(totals, expected[0])
    assert np.array_equal(w, expected[1])
