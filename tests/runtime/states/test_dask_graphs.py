"""Reductions of Dask's arrays, against those of whole arrays."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import warpfold as wf

da = pytest.importorskip("dask.array", reason="Dask is not installed")
dask = pytest.importorskip("dask", reason="Dask is not installed")

HOW = {"device": "emulator"}
X = np.random.default_rng(0).standard_normal((23, 31)).astype(np.float32)
CHUNKED = da.from_array(X, chunks=(7, 10))
ROWS = da.from_array(X, chunks=(7, 31))


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize(("what", "axis"), [("sum", None), ("mean", 0), ("var", 1), ("max", (0, 1)), ("logsumexp", 0)])
def test_any_chunks(what: str, axis: Any) -> None:
    found = wf.reduce(CHUNKED, what, axis=axis, **HOW)
    wanted = wf.reduce(X, what, axis=axis, **HOW)
    assert isinstance(found, da.Array)
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(found.compute(), wanted, rtol=1e-5, atol=1e-6)


def test_functions_take_arrays_of_dask() -> None:
    assert wf.argmax(ROWS, **HOW).compute() == X.argmax()
    kept = wf.sum(CHUNKED, axis=0, keepdims=True, **HOW)
    assert kept.chunks == ((1,), (10, 10, 10, 1))
    np.testing.assert_allclose(kept.compute(), X.sum(0, keepdims=True), rtol=1e-5, atol=1e-5)
    got = wf.mean(CHUNKED, axis=1, where=CHUNKED > 0, **HOW).compute()
    np.testing.assert_allclose(got, X.mean(1, where=X > 0), rtol=1e-5)
    np.testing.assert_allclose(wf.vecdot(CHUNKED, X, axis=1, **HOW).compute(), (X * X).sum(1), rtol=1e-5)


def test_several_results_are_named() -> None:
    found = wf.reduce(ROWS, "minmax", axis=0, **HOW)
    assert found._fields == ("min", "max")
    np.testing.assert_array_equal(dask.compute(*found), (X.min(0), X.max(0)))


def test_monoids_that_do_not_commute() -> None:
    @wf.monoid(has_identity=False, commutative=False)
    def first(a: Any, _b: Any) -> Any:
        return a

    np.testing.assert_array_equal(wf.reduce(ROWS, first, axis=0, **HOW).compute(), X[0])
    with pytest.raises(wf.WarpfoldError, match="WF191: first takes elements in the order of axis 0, and"):
        wf.reduce(CHUNKED, first, **HOW)


def test_a_task_that_is_run_again_gives_the_same_bits() -> None:
    found = wf.var(CHUNKED, axis=0, **HOW)
    np.testing.assert_array_equal(found.compute(), found.compute(scheduler="threads", num_workers=2))


def test_states_go_to_other_processes() -> None:
    state = wf.partial(X, "mean", axis=0, **HOW)
    np.testing.assert_array_equal(wf.finish(pickle.loads(pickle.dumps(state))), wf.finish(state))


def test_mistakes() -> None:
    with pytest.raises(wf.WarpfoldError, match=r"WF190: .*out= cannot be given, since results are not there yet"):
        wf.sum(CHUNKED, out=X, **HOW)
    with pytest.raises(wf.WarpfoldError, match=r"WF190: .*the sizes of its chunks are unknown"):
        wf.sum(CHUNKED[CHUNKED > 0], **HOW)
    with pytest.raises(wf.WarpfoldError, match="WF191: argmax takes elements in the order of axis 0"):
        wf.argmax(CHUNKED, **HOW)
