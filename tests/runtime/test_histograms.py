"""Histograms and counts of integers against NumPy: any type, layout, bins and weights, on the emulator."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any

import numpy as np
import pytest
from access_picture import run_under
from covering import some
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.lib.stride_tricks import as_strided

import warpfold as wf
from warpfold.compiler.errors import ArgumentError, DTypeError, WarpfoldError
from warpfold.runtime.emulator.sanitizer import Sanitizer

RNG = np.random.default_rng(29)
bincount, histogram = partial(wf.bincount, device="emulator"), partial(wf.histogram, device="emulator")


def assert_counted(x: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> None:
    """Edges and counts are NumPy's."""
    counts, edges = histogram(x, bins, range, weights=weights)
    wanted, theirs = np.histogram(x, bins, range, weights=weights)
    assert (counts.dtype, edges.dtype) == (np.int64, theirs.dtype)
    np.testing.assert_array_equal(edges, theirs)
    np.testing.assert_array_equal(counts, wanted)


@pytest.mark.parametrize("t", some(["i1", "u2", "i4", "u4", "i8", "u8", "?"], 3))
def test_counts_of_any_integers(t: str) -> None:
    x = RNG.integers(0, 2 if t == "?" else 100, (30, 7)).astype(t)
    weights, plain = RNG.integers(-5, 9, (30, 7)), x.ravel().astype(int)
    np.testing.assert_array_equal(bincount(x), np.bincount(plain))
    np.testing.assert_array_equal(
        bincount(x.T[:, ::-2], minlength=150), np.bincount(x[::-2].ravel().astype(int), minlength=150)
    )
    np.testing.assert_array_equal(bincount(x, weights), np.bincount(plain, weights.ravel()))


@pytest.mark.parametrize("results", [1, 8192, 8193, 20000])
def test_counters_in_shared_memory_and_beyond(results: int) -> None:
    x = np.append(RNG.integers(0, results, 3000), results - 1).astype(np.int32)
    np.testing.assert_array_equal(bincount(x), np.bincount(x))
    np.testing.assert_array_equal(bincount(x, np.full(3001, 1 << 40)), np.bincount(x) << 40)


BINS: tuple[Any, ...] = (1, 7, 300, [-2, -1, 0, 0.5, 3], [0, 1, 1, 2], np.linspace(-1, 1, 8, dtype=np.float32))


@pytest.mark.parametrize("t", ["f4", "f8", "f2", "i4", "u1"])
def test_histograms_of_any_type(t: str) -> None:
    x = (RNG.standard_normal((20, 15)) * 3).astype(t)
    for bins in BINS:
        assert_counted(x, bins)
    for range in ((-2, 2.5), (0, 0), (-50, 60)):
        assert_counted(x.T[::2], 11, range)
    assert_counted(x, 5, None, RNG.integers(0, 9, x.shape))


def test_elements_at_edges() -> None:
    """Those that a product would put beside their bin, and bins that are little wider than numbers lie apart."""
    edges = np.linspace(0, 1, 65, dtype=np.float32)
    x = np.concatenate([edges, np.nextafter(edges, np.float32(-1)), np.nextafter(edges, np.float32(2))])
    assert_counted(x, 64, (0, 1))
    assert_counted(x, edges**2)
    assert_counted((1e6 + RNG.random(500)).astype(np.float32), 11)
    assert_counted(np.append(x, [np.nan, np.inf, -np.inf]).astype(np.float32), 64, (0, 1))


@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_arrays_of_any_kind(data: Any) -> None:
    t = data.draw(st.sampled_from(["f4", "f8", "i2", "u1"]))
    floats = {"allow_nan": False, "min_value": -100, "max_value": 100} if t[0] == "f" else {}
    x = data.draw(arrays.arrays(t, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0), elements=floats or None))
    assert_counted(x, data.draw(st.sampled_from([1, 3, 50])), data.draw(st.sampled_from([None, (-1, 1)])))


def test_ctas_add_up_their_counters() -> None:
    """Many CTAs, and the sanitizer watches; the bits are those of a GPU."""
    tool, x, found = Sanitizer(), RNG.integers(0, 300, 70_000).astype(np.uint16), []
    run_under(tool, lambda: found.append(bincount(x)))
    assert tool.accesses
    assert not list(tool.findings)
    np.testing.assert_array_equal(found[0], np.bincount(x))


def digest(device: str) -> str:
    """The bits of counts of numbers that are the same everywhere."""
    x = np.arange(50_000, dtype=np.uint32) * np.uint32(2654435761)
    floats = (x >> 8).astype(np.float32) * np.float32(2.0**-24)
    found = [wf.bincount(x >> 23, device=device), *wf.histogram(floats, 100, device=device)]
    found += [wf.histogram(floats, np.linspace(0, 1, 40) ** 2, weights=(x & 7).astype(np.int32), device=device)[0]]
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in found)).hexdigest()[:16]


DIGEST = "896b3526204cc46e"


def test_the_emulator_has_the_recorded_digest() -> None:
    assert digest("emulator") == DIGEST


@pytest.mark.gpu
def test_a_gpu_has_the_recorded_digest() -> None:
    assert digest("cuda") == DIGEST


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_elements_that_are_repeated_are_read_once(data: Any) -> None:
    """However often an array shows them."""
    shape = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    x = np.arange(np.prod(shape)).reshape(shape) * 7 % 5
    w = data.draw(st.sampled_from([None, 2 - x]))
    place, times = data.draw(st.integers(0, len(shape))), data.draw(st.sampled_from([1, 2, 7, 2**40, 2**54]))
    wide = [a if a is None else repeated(a, place, times) for a in (x, w)]
    whole = np.array(times, object) * np.bincount(x.ravel(), None if w is None else w.ravel(), 5).astype(int)
    wanted = whole.tolist()
    assert wf.bincount(wide[0], wide[1], minlength=5).tolist() == wanted
    assert wf.histogram(wide[0], 5, (0, 5), weights=wide[1])[0].tolist() == wanted


def repeated(a: Any, place: int, times: int) -> Any:
    """``a`` with another dim, along which it does not move."""
    shape, strides = [*a.shape], [*a.strides]
    shape.insert(place, times)
    strides.insert(place, 0)
    return as_strided(a, shape, strides)


def test_bins_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls with the same bins compute no edges, and each has edges of its own; 0.0 and -0.0 are different bins."""
    histogram(X, 7, (-4, 0.0))[1][:] = 9
    made = []
    monkeypatch.setattr(np, "histogram_bin_edges", lambda *given: made.append(given) or np.linspace(-4, -0.0, 8))
    np.testing.assert_array_equal(histogram(X, 7, (-4, 0.0))[1], np.linspace(-4, 0, 8, dtype=np.float32))
    assert not made
    histogram(X, 7, (-4, -0.0))
    assert made


def test_a_negative_byte_beside_the_greatest() -> None:
    x = np.array([127, 3, 127], np.int8)
    np.testing.assert_array_equal(bincount(x), np.bincount(x))
    with pytest.raises(WarpfoldError, match="the element -7"):
        bincount(np.append(x, np.int8(-7)))


def test_no_elements() -> None:
    none = np.zeros((0, 3), np.float32)
    assert_counted(none)
    np.testing.assert_array_equal(bincount(none.astype(int)), [])
    np.testing.assert_array_equal(bincount(none.astype(int), minlength=3), [0, 0, 0])


X, WHOLE = np.ones((3, 4), np.float32), np.ones((3, 4), np.int32)
NEXT = np.nextafter(np.float32(1), np.float32(2))
MISTAKES: dict[str, tuple[str, type[WarpfoldError], Any, str]] = {
    "floats": ("WF116", DTypeError, lambda: bincount(X), "got elements of type f32: expected integers"),
    "negative": ("WF118", ArgumentError, lambda: bincount(-WHOLE), "got the element -1: expected integers from 0"),
    "many bins": ("WF119", ArgumentError, lambda: wf.histogram(X, 10**12), "1000000000000 results were asked for"),
    "great": ("WF119", ArgumentError, lambda: bincount(WHOLE.astype("i8") << 40), "results were asked for"),
    "minlength": ("WF138", ArgumentError, lambda: bincount(WHOLE, minlength=-1), "minlength"),
    "float weights": ("WF117", DTypeError, lambda: bincount(WHOLE, X), "weights are of type f32: expected integers"),
    "few weights": ("WF147", ArgumentError, lambda: bincount(WHOLE, WHOLE[1:]), "have shape (2, 4): expected (3, 4)"),
    "no bins": ("WF155", ArgumentError, lambda: histogram(X, 0), "bins are 0: expected a number of bins"),
    "falling edges": ("WF155", ArgumentError, lambda: histogram(X, [0, 2, 1]), "edges and more that do not fall"),
    "a name": ("WF155", ArgumentError, lambda: histogram(X, "auto"), "bins are 'auto'"),
    "narrow bins": ("WF155", ArgumentError, lambda: histogram(X, 9, (1, NEXT)), "of less"),
    "falling range": ("WF156", ArgumentError, lambda: histogram(X, 9, (1, 0)), "is (1, 0): expected two finite"),
    "infinite": ("WF156", ArgumentError, lambda: histogram(X * np.inf), "(inf, inf): expected two finite"),
    "complex": ("WF225", WarpfoldError, lambda: histogram(X.astype(complex)), "order"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    code, kind, call, text = MISTAKES[name]
    with pytest.raises(kind, match=code) as e:
        call()
    assert text in e.value.message


def test_tensors_of_the_host_need_no_cuda() -> None:
    torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.tensor([-0.5, 0.1, 0.2, 2.0])
    for _ in range(2):  # the second call finds the bins of the first
        counts, edges = histogram(x, 2, (-1, 1))
        assert (counts.tolist(), edges.tolist()) == ([1, 2], [-1.0, 0.0, 1.0])
