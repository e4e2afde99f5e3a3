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

    carried = dict(wf.scan(ROWS, wf.SUM, axis=0).__dask_graph__())
    scan = next(t[0].__self__ for t in carried.values() if isinstance(t, tuple) and hasattr(t[0], "__self__"))
    found = pickle.loads(pickle.dumps(scan)).results(0, True, None, X)[0]
    np.testing.assert_array_equal(found, wf.scan(X, wf.SUM, axis=0))
    for call in (wf.softmax, wf.program(halved), lambda x: wf.scan(x, wf.SUM, axis=2)):
        graph = dict(call(ROWS).__dask_graph__())
        blocks = next(t[0] for t in graph.values() if isinstance(t, tuple) and type(t[0]).__name__ == "Blocks")
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(blocks))(X)[0], call(X))


@wf.monoid(identity=(1, 0), commutative=False)
def affine(f: Any, g: Any) -> Any:
    """The map ``x -> a x + b`` of ``f``, then of ``g``."""
    return f[0] * g[0], f[1] * g[0] + g[1]


N = np.random.default_rng(1).integers(-9, 9, (4, 11))
H = np.random.default_rng(2).standard_normal((2, 9)).astype(np.float16)
SCANS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "sum": (wf.cumulative_sum, (N,)), "bytes": (wf.cumulative_sum, (N.astype("i1"),)),
    "product": (wf.cumulative_prod, (N,)), "of one": (wf.cumulative_sum, (N[0],)), "greatest": (wf.cummax, (N,)),
    "halves": (wf.cumulative_sum, (H,)), "logarithms": (wf.logcumsumexp, (H,)),
    "positions": (lambda x, **how: wf.scan(x, "argmax", **how), (N,)),
    "named": (lambda x, **how: wf.scan(x, "minmax", **how), (N,)),
    "maps": (lambda x, y, **how: wf.scan((x, y), affine, **how), (N % 3, N)),
    "begun": (lambda x, **how: wf.scan(x, "sum", initial=5, **how), (N,)),
    "broadcast": (lambda x, y, **how: wf.scan((x, y), affine, **how), (N % 3, N[0])),
    "any": (lambda x, **how: wf.scan(x, wf.ANY, **how), (N > 7,)),
}  # fmt: skip
MODES: list[dict[str, Any]] = [
    {},
    {"reverse": True},
    {"include_initial": True},
    {"reverse": True, "include_initial": True},
]


@pytest.mark.parametrize("name", SCANS)
def test_scans_along_chunks_carry_states(name: str) -> None:
    """Integers have the bits of the whole array; floats the same bits under every scheduler."""
    call, xs = SCANS[name]
    first = list(SCANS).index(name)
    for k in {0, 1 + first % 3}:
        mode = MODES[k]
        how: dict[str, Any] = {"axis": xs[0].ndim - 1, **mode, **HOW}
        if mode.get("include_initial") and name in ("greatest", "logarithms", "positions", "named"):
            how.pop("include_initial")  # which they do not take, or which has no identity
        sizes = ((3, 0, 1, 5, 2), (4, 7), (0, 6, 5), (1,) * 11)[k] if xs[0].shape[-1] == 11 else (4, 5)
        cut = [da.from_array(x, chunks=(*(2 for _ in x.shape[:-1]), sizes)) for x in xs]
        lazy, wanted = leaves(call(*cut, **how)), leaves(call(*xs, **how))
        for own, right in zip(lazy, wanted, strict=True):
            assert (own.shape, own.dtype) == (right.shape, right.dtype)
            found = [own.compute(scheduler=s, num_workers=4) for s in ("synchronous", "threads")]
            assert found[0].tobytes() == found[1].tobytes()
            assert found[0].shape == right.shape
            np.testing.assert_allclose(found[0], right, rtol=2e-3 if right.dtype.kind == "f" else 0)


def test_an_exclusive_scan_of_chunks() -> None:
    x = da.from_array(N, chunks=(4, 3))
    np.testing.assert_array_equal(wf.scan(x, wf.SUM, 1, exclusive=True, **HOW), wf.scan(N, wf.SUM, 1, exclusive=True))
    both = {"reverse": True, "exclusive": True}
    np.testing.assert_array_equal(
        wf.scan((x % 3, x), affine, 1, **both, **HOW)[1], wf.scan((N % 3, N), affine, 1, **both)[1]
    )


def test_counts_and_sets_of_blocks() -> None:
    x = np.random.default_rng(3).integers(0, 40, (4, 10)).astype(">i2")
    cut = da.from_array(x, chunks=(1, 2))
    assert cut.npartitions > 16  # which are joined in more than one task
    for found, wanted in (
        (wf.bincount(cut, **HOW), np.bincount(x.ravel())),
        (wf.bincount(cut, cut > 5, minlength=50, **HOW), np.bincount(x.ravel(), x.ravel() > 5, 50).astype(int)),
        (wf.unique(cut, **HOW), np.unique(x)),
    ):
        assert np.isnan(found.shape[0])
        np.testing.assert_array_equal(found.compute(scheduler="threads"), wanted)
    assert wf.bincount(da.zeros(0, dtype=int), minlength=2, **HOW).compute().tolist() == [0, 0]
    for mistake in (lambda: wf.bincount(cut * 1.0), lambda: wf.bincount(cut, cut[0]), lambda: wf.unique(cut * 1.0)):
        with pytest.raises(wf.WarpfoldError, match=r"WF116|WF147|WF149"):
            mistake()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: wf.softmax(x, axis=1), "softmax needs all of axis 1 of array 0 at once, .*: it folds over it"),
        (
            wf.program(lambda x: x + wf.cummax(x, axis=0)),
            "needs all of axis 0 .*: a scan goes along the axis that is cut",
        ),
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
