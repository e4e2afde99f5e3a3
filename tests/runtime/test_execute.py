"""Where a reduction runs: the choice of the backend, and its refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warpfold as wf
from warpfold.compiler.dtypes import F32
from warpfold.compiler.errors import ArgumentError, WarpfoldError
from warpfold.runtime.backends.select import backend_for
from warpfold.runtime.programs.reductions import prepared
from warpfold.runtime.view import Device, View

HOST = View(4096, (8,), (1,), F32, Device("cpu"))
ON_GPU = View(4096, (8,), (1,), F32, Device("cuda", 1))


def test_the_emulator_takes_host_arrays() -> None:
    assert backend_for([HOST], "emulator").name == "emulator"


def test_the_emulator_cannot_reach_the_memory_of_a_gpu() -> None:
    with pytest.raises(WarpfoldError, match="WF122: the array is on cuda:1, which the emulator backend cannot reach"):
        backend_for([ON_GPU], "emulator")


def test_results_do_not_share_memory() -> None:
    @wf.monoid(identity=lambda a, b: (a.highest, b.lowest), has_identity=False)
    def extremes(a: Any, b: Any) -> Any:
        return wf.minimum(a[0], b[0]), wf.maximum(a[1], b[1])

    x, out = np.arange(12.0).reshape(3, 4), np.zeros(6)
    with pytest.raises(ArgumentError, match=r"^WF132: out 1 shares memory with out 0"):
        wf.reduce(x, x, what=extremes, axis=1, out=(out[:3], out[2:5]), device="emulator")
    wf.reduce(x, x, what=extremes, axis=1, out=(out[:3], out[3:]), device="emulator")
    assert out.tolist() == [0, 4, 8, 3, 7, 11]


# --- where results lie ---------------------------------------------------------------------------------------------
def permuted(kind: str = "f4", shape: tuple[int, ...] = (6, 3, 64)) -> Any:
    """The last axis of ``shape`` first, as in (64, 6, 3)."""
    return np.arange(np.prod(shape)).reshape(shape).astype(kind).transpose(2, 0, 1)


@settings(max_examples=40, deadline=None)
@given(st.permutations(range(3)), st.sampled_from([1, -1, 2]), st.sets(st.integers(0, 2)), st.booleans(), st.data())
def test_results_have_the_strides_of_numpys(
    order: list[int], step: int, axes: set[int], keepdims: bool, data: st.DataObject
) -> None:
    kind = data.draw(st.sampled_from(["i8", "f4", "c8"]))
    x = np.arange(60).reshape(3, 4, 5).astype(kind).transpose(order)[:, ::step]
    got = wf.sum(x, tuple(axes), keepdims=keepdims, device="emulator")
    theirs = x.sum(tuple(axes), keepdims=keepdims)
    np.testing.assert_array_equal(got, theirs)
    assert got.dtype == theirs.dtype
    assert strides(np.asarray(got)) == strides(np.asarray(theirs))


def strides(x: Any) -> list[int]:
    """The strides of axes of more than one element; others say nothing."""
    return [s for s, n in zip(x.strides, x.shape, strict=True) if n > 1]


def test_all_results_and_checks_of_a_call_have_one_memory_order() -> None:
    x = permuted("f8")
    for result in wf.describe(x, axis=1, device="emulator"):
        assert result.strides == (8, 512)
    arrays, _ = prepared([x], ("sum", "max"), 1, nan="raise", device="emulator")
    assert [v.strides for v in arrays.outputs] == [(1, 64)] * 3
    with pytest.raises(wf.WarpfoldError, match="WF135"):
        wf.sum(np.where(x == 70, np.nan, x), 1, nan="raise", device="emulator")


def test_several_inputs_and_masks() -> None:
    x, y = permuted("f8"), np.ones((64, 6, 3))
    assert wf.vecdot(x, y, device="emulator").strides == (8, 512)
    assert wf.vecdot(y, x, device="emulator").strides == (48, 8)
    spread = np.broadcast_to(1.0, x.shape)
    assert wf.vecdot(spread, x, device="emulator").strides == (8, 512)
    assert wf.sum(x, 2, where=y > 0, device="emulator").strides == (8, 512)


def test_a_callers_result_keeps_its_layout() -> None:
    x, out = permuted("f8"), np.zeros((64, 3))
    assert wf.sum(x, 1, out=out, device="emulator") is out
    assert out.strides == (24, 8)
    np.testing.assert_array_equal(out, x.sum(1))


def test_neighbouring_lanes_store_neighbours() -> None:
    """With a result in C order the kept axes of a permuted array stay separate, and threads write one by one."""
    for shape, axis, kept in (((16, 512, 512), 1, [1, 2]), ((1000, 3, 1024), 2, [2, 2])):
        x = permuted(shape=shape)
        out = np.zeros(np.delete(x.shape, axis), np.float32)
        found = [prepared([x], "sum", axis, out=o, device="emulator")[1] for o in (None, out)]
        plans = [whole.steps[0].prepared for whole in found]
        assert [len(p.geometry.kept) for p in plans] == kept
        assert [p.choice.facts.store_vector for p in plans] == [True, False]
