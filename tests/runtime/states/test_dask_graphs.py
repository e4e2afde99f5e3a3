"""Reductions of Dask's arrays, against those of whole arrays."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.dtypes import dtype
from warpfold.runtime.states.carried import packed, unpacked
from warpfold.runtime.states.parts import cut_of

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


def test_chunks_of_any_shape_keep_positions() -> None:
    x = np.random.default_rng(1).integers(0, 4, (5, 12, 9)).astype(np.float32)
    chunked = da.from_array(x, chunks=(2, 5, 4))
    assert wf.argmax(chunked, **HOW).compute() == x.argmax()
    holes = np.where(np.arange(5)[:, None, None] < 2, np.nan, x)
    assert wf.nanargmax(da.from_array(holes, chunks=(2, 5, 4)), **HOW).compute() == np.nanargmax(holes)
    found = wf.reduce(chunked, (wf.MIN, wf.ARGMIN), axis=(0, 2), **HOW)
    turned = np.moveaxis(x, 1, 0).reshape(12, -1)
    np.testing.assert_array_equal(dask.compute(*found), (turned.min(1), turned.argmin(1)))


def test_empty_chunks_numbers_and_no_axes() -> None:
    ragged = da.concatenate([CHUNKED[:3], CHUNKED[3:3], CHUNKED[3:]])
    ragged = ragged.map_blocks(lambda b: b, chunks=ragged.chunks)
    assert wf.max(ragged, **HOW).compute() == X.max()
    begun = da.map_blocks(
        lambda block_info: X[: block_info[None]["chunk-shape"][0]], chunks=((0, 23), (31,)), dtype="f4"
    )
    assert begun.chunks[0] == (0, 23)
    assert wf.argmax(begun, **HOW).compute() == X.argmax()
    assert wf.sum(CHUNKED[2, 3], **HOW).compute() == X[2, 3]
    np.testing.assert_array_equal(wf.sum(CHUNKED, axis=(), **HOW).compute(), X)
    assert wf.sum(CHUNKED[:, :0], axis=1, **HOW).compute().tolist() == [0.0] * 23


def test_checks_are_of_the_whole() -> None:
    holes = X.copy()
    holes[:7, :10] = np.nan
    np.testing.assert_array_equal(
        wf.nanargmax(da.from_array(holes, (7, 10)), axis=0, **HOW).compute(), np.nanargmax(holes, 0)
    )
    holes[:, 4] = np.nan
    with pytest.raises(wf.WarpfoldError, match="WF134: nanargmax of no elements has no value"):
        wf.nanargmax(da.from_array(holes, (7, 10)), axis=0, **HOW).compute()


def test_the_function_of_its_module() -> None:
    from warpfold.dask import reduce

    assert isinstance(reduce(X, "sum", axis=0, **HOW), da.Array)
    np.testing.assert_array_equal(reduce(CHUNKED, "max", axis=0, **HOW).compute(), X.max(0))
    assert reduce(CHUNKED, "sum", **HOW).name == reduce(CHUNKED, "sum", **HOW).name
    with pytest.raises(wf.WarpfoldError, match="WF130: "):
        reduce(X)


def test_arrays_of_zarr(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", reason="Zarr is not installed")
    zarr.save_array(str(tmp_path / "x.zarr"), X)
    found = wf.mean(da.from_zarr(str(tmp_path / "x.zarr")), axis=0, **HOW)
    np.testing.assert_allclose(found.compute(), X.mean(0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("what", ["mean", (wf.SUM, wf.ARGMAX)])
def test_states_go_to_other_processes(what: Any) -> None:
    state = wf.partial(X, what, axis=0, **HOW)
    carried = pickle.loads(pickle.dumps(state))
    assert carried.cut is state.cut
    np.testing.assert_array_equal(wf.finish(carried), wf.finish(state))


def test_functions_of_a_script_go_to_workers_as_their_code() -> None:
    pytest.importorskip("cloudpickle", reason="cloudpickle is not installed")
    three = 3

    @wf.monoid(identity=0)
    def thrice(a: Any, b: Any) -> Any:
        return a + b + 0 * three

    cut = cut_of(thrice, [dtype("f32")], {})
    data = packed(cut)
    assert unpacked(data) is unpacked(bytes(bytearray(data)))
    assert unpacked(data).what is not thrice
    assert unpacked(data).digest == cut.digest
    with pytest.raises(wf.WarpfoldError, match=r"WF183: thrice cannot be pickled"):
        pickle.dumps(wf.partial(X, thrice, **HOW))


def test_chunks_in_foreign_byte_order() -> None:
    for t in (">f4", ">i2", ">c8"):
        x = X.astype(t)
        found = wf.sum(da.from_array(x, chunks=(7, 31)), axis=0, **HOW).compute()
        np.testing.assert_array_equal(found, wf.sum(da.from_array(x.astype(t[1:]), chunks=(7, 31)), axis=0, **HOW))


def test_chunks_that_lie_at_any_byte() -> None:
    data = np.zeros(X.nbytes + 2, np.uint8)
    data[2:] = X.reshape(-1).view(np.uint8)
    askew = data[2:].view(np.float32).reshape(X.shape)
    found = wf.max(da.from_delayed(dask.delayed(lambda: askew)(), X.shape, X.dtype), axis=0, **HOW)
    np.testing.assert_array_equal(found.compute(), X.max(0))


@pytest.mark.parametrize("what", ["var", "argmax", "weighted"])
def test_states_of_chunks_are_chunks(what: Any) -> None:
    """Parts of Dask, and of Dask and NumPy, are merged, updated, streamed and finished without being read."""
    what = weighted if what == "weighted" else what
    chunked = ROWS if what is weighted else CHUNKED
    wanted = wf.reduce(X, what, **HOW)
    for left, right in ((chunked[:9], chunked[9:]), (X[:9], chunked[9:]), (chunked[:9], X[9:])):
        start = left.size
        merged = wf.merge(wf.partial(left, what, **HOW), wf.partial(right, what, start=start, **HOW))
        for found in (
            wf.finish(merged), wf.finish(wf.update(wf.partial(left, what, **HOW), right)),
            wf.reduce_stream([left, right[:0], right], what, **HOW),
        ):  # fmt: skip
            assert isinstance(found, da.Array)
            np.testing.assert_allclose(found.compute(), wanted, rtol=1e-5)


def test_states_of_chunks_are_saved(tmp_path: Path) -> None:
    wf.partial(CHUNKED, "argmax", **HOW).save(tmp_path / "state.npz")
    assert wf.finish(wf.load_state(tmp_path / "state.npz", "argmax")) == X.argmax()


def test_partial_reads_no_elements() -> None:
    unread = da.map_blocks(_unread, chunks=((5, 5), (4,)), dtype=np.float32)
    for what in ("sum", "argmax", weighted):
        assert wf.partial(unread, what, axis=0, start=3, **HOW).stop == 13
    assert wf.reduce_stream([unread, unread], "sum", axis=0, where=X[0, :4] > 0, **HOW).shape == (4,)


def _unread(**_: Any) -> Any:
    raise AssertionError("a task was run")


@pytest.mark.parametrize("t", [">f4", ">i2", ">c16"])
def test_chunks_in_the_byte_order_of_other_machines(t: str) -> None:
    other = (X * 100).astype(t)
    found = wf.sum(da.from_array(other, (7, 10)), axis=0, **HOW)
    np.testing.assert_allclose(found.compute(), other.sum(0), rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(wf.finish(wf.partial(da.from_array(other), "sum", **HOW)).compute(), other.sum(), 1e-4)


def test_mistakes() -> None:
    with pytest.raises(wf.WarpfoldError, match=r"WF190: .*out= cannot be given, since results are not there yet"):
        wf.sum(CHUNKED, out=X, **HOW)
    with pytest.raises(wf.WarpfoldError, match=r"WF190: .*the sizes of its chunks are unknown"):
        wf.sum(CHUNKED[CHUNKED > 0], **HOW)
    with pytest.raises(wf.WarpfoldError, match=r"WF190: .*where= has elements of uint32, and chunks have no words"):
        wf.sum(CHUNKED, where=wf.pack(X > 0), **HOW)
    with pytest.raises(wf.WarpfoldError, match=r"WF191: weighted takes elements in the order of axis 0, and chunks"):
        wf.reduce(CHUNKED, weighted, **HOW)


def weighted(x: Any) -> Any:
    """It computes with positions."""
    return wf.fold(wf.SUM, x * wf.cast(wf.index(), x.dtype))
