"""Programs, scans and counts of Dask's arrays: by blocks where these do not need each other, else a code."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import warpfold as wf

da = pytest.importorskip("dask.array", reason="Dask is not installed")
dask = pytest.importorskip("dask", reason="Dask is not installed")

HOW = {"device": "emulator"}
X = np.random.default_rng(0).standard_normal((6, 8, 5)).astype(np.float32)
B, W = X[0, :, 0].copy(), X[0, 0].copy()
ROWS = da.from_array(X, chunks=(4, 3, 5))
COLUMNS = da.from_array(X, chunks=(6, 8, 2))


@wf.program
def several(x: Any, b: Any, *, s: Any = 2.0) -> Any:
    """Results along all axes, along one, and turned round; an array that lies along the middle one."""
    y = x * b[:, None] * s
    return {"mean": wf.mean(y, axis=2), "all": y - wf.max(y, axis=2, keepdims=True), "turned": y.T}


@wf.program
def spread(x: Any, y: Any) -> Any:
    return x[:, None] * y + wf.sum(y)


LAZY: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "softmax": (wf.softmax, (ROWS,)),
    "norm": (wf.layer_norm, (ROWS, W, W)),
    "norm of two": (wf.layer_norm, (ROWS, da.from_array(W, chunks=2))),
    "columns": (lambda x: wf.softmax(x, axis=(0, 1)), (COLUMNS,)),
    "several": (several, (ROWS, B)),
    "other chunks": (several, (ROWS, da.from_array(B, chunks=5))),
    "one cut": (spread, (da.from_array(B, chunks=3), W)),
    "topk": (lambda x: wf.topk(x, 2), (ROWS,)),
    "scan": (lambda x: wf.scan(x, wf.MAX, axis=0), (COLUMNS,)),
    "cumulative": (lambda x: wf.cumulative_sum(x, axis=2), (ROWS,)),
    "loss": (lambda x, t: wf.cross_entropy(x, t, axis=2, reduction="none"), (ROWS, (B[None] > X[..., 0]).astype(int))),
    "other order": (wf.softmax, (ROWS.astype(">f4"),)),
}


def leaves(found: Any) -> list[Any]:
    own = found.values() if isinstance(found, dict) else found
    return [leaf for m in own for leaf in leaves(m)] if isinstance(found, dict | tuple) else [found]


@pytest.mark.parametrize("name", LAZY)
def test_blocks_give_what_the_whole_gives(name: str) -> None:
    call, xs = LAZY[name]
    with dask.config.set(scheduler="synchronous"):
        found = leaves(call(*xs))
        wanted = leaves(call(*(np.asarray(x) for x in xs)))
        for a, b in zip(found, wanted, strict=True):
            assert isinstance(a, da.Array)
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            np.testing.assert_allclose(a.compute(), b, rtol=1e-5, atol=1e-6)
            assert [sum(c) for c in a.chunks] == [*a.shape]
        assert any(a.npartitions > 1 for a in found)


def test_axes_that_are_one_are_not_cut() -> None:
    square = da.from_array(X[:, :6], chunks=(3, 3, 5))
    for f in (lambda x: x[:, :, 0] + x[:, :, 0].T, lambda x: x[:, :, 0] * x[:, :, 1].T, lambda x: x + x[0, :, :1]):
        with pytest.raises(wf.WarpfoldError, match=r"WF190: .* needs all of axis"):
            wf.program(f)(square)


def test_counts_of_blocks_are_added() -> None:
    with dask.config.set(scheduler="synchronous"):
        for x, weights in ((ROWS, None), (ROWS, (X > 0).astype(np.int32)), (ROWS[0, 0, 0], None)):
            whole = np.asarray(x)
            for how in ({"bins": 5, "range": (-1, 1)}, {"bins": [-1.0, 0.0, 0.5]}):
                found, edges = wf.histogram(x, **how, weights=weights, **HOW)
                wanted = np.histogram(whole, **how, weights=weights)
                assert isinstance(found, da.Array)
                np.testing.assert_array_equal(found.compute(), wanted[0])
                np.testing.assert_allclose(edges, wanted[1])


def test_blocks_go_to_other_processes() -> None:
    def halved(x: Any) -> Any:
        return x / 2

    for call in (wf.softmax, wf.program(halved), lambda x: wf.scan(x, wf.SUM, axis=2)):
        graph = dict(call(ROWS).__dask_graph__())
        blocks = next(t[0] for t in graph.values() if isinstance(t, tuple) and type(t[0]).__name__ == "Blocks")
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(blocks))(X)[0], call(X))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: wf.softmax(x, axis=1), "softmax needs all of axis 1 of array 0 at once, .*: it folds over it"),
        (lambda x: wf.cumulative_sum(x, axis=0), "needs all of axis 0 .*: a scan goes along the axis that is cut"),
        (lambda x: wf.scan(x, wf.SUM, axis=1), "needs all of axis 1 .*: a scan goes along the axis that is cut"),
        (lambda x: wf.topk(x, 2, axis=0), "needs all of axis 0"),
        (wf.program(lambda x: x[1:]), "needs all of axis 0"),
        (wf.program(lambda x: x.reshape(48, 5)), "needs all of axis"),
        (wf.program(lambda x: x * x.shape[0]), "needs all of axis 0 .*: it uses (the size|positions)"),
        (wf.program(lambda x: x - wf.mean(x, axis=0, keepdims=True)), "needs all of axis 0 .*: it folds over it"),
        (wf.program(lambda x: x[:, :6, 0] + x[:, :6, 0].T), "needs all of axis"),
        (wf.program(lambda x: x[:, None, 0] * x[:, 0, None]), "needs all of axis"),
        (lambda x: wf.dropout(x, 0.5, seed=3), "needs all of axis 0 .*: it uses positions"),
        (lambda x: wf.softmax(x, out=X), "out= cannot be given, since results are not there yet"),
        (lambda x: wf.softmax(x[x > 0]), "the sizes of its chunks are unknown"),
        (wf.histogram, "the bins lie between the least and the greatest element, which are not there yet"),
        (lambda x: wf.unique(x.astype("i1")), "this call needs all of their elements, which are not there yet"),
        (lambda x: wf.bincount(x.astype("i1")), "this call needs all of their elements, which are not there yet"),
        (lambda x: wf.segment_reduce(x, [0, 2, 6], "sum"), "this call needs all of their elements"),
        (lambda x: wf.sum([x, x]), "this call needs all of their elements"),
        (lambda x: wf.sum(X, axis=0, out=x), "WF"),
    ],
)
def test_what_needs_all_elements_is_refused_and_reads_none(call: Any, text: str) -> None:
    def unread(**_: Any) -> Any:
        raise AssertionError("a task was run")

    x = da.map_blocks(unread, chunks=ROWS.chunks, dtype=np.float32, meta=X[:0, :0, :0])
    with pytest.raises(wf.WarpfoldError, match=text if text == "WF" else f"WF190: .*{text}") as e:
        call(x)
    assert text == "WF" or "compute" in str(e.value) or "leave out" in str(e.value) or "give range" in str(e.value)
