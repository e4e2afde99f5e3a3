"""Segments of an axis, against NumPy applied to one segment after the other."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from covering import some
from hypothesis import given, settings
from hypothesis import strategies as st

import warpfold as wf
from warpfold.compiler.planner import ragged
from warpfold.runtime import segment_parts

Array = np.ndarray[Any, Any]
LENGTHS = st.lists(st.sampled_from([0, 1, 1, 2, 7, 31, 32, 33, 40, 150, 700]), min_size=1, max_size=12)
PLANS = st.sampled_from(["", "lanes=1,warps=1", "lanes=8,warps=2,warps_kept=1", "walk=blocked,lanes=4"])
"""The second cuts rows of more than 64 elements, and their states again."""


def logsumexp(x: Array, axis: int) -> Array:
    high = x.max(axis, keepdims=True)
    return np.log(np.exp(x - high).sum(axis)) + high.squeeze(axis)


REFERENCE: dict[str, Callable[..., Array]] = {
    "sum": np.sum, "max": np.max, "min": np.min, "argmax": np.argmax, "argmin": np.argmin, "mean": np.mean,
    "var": np.var, "any": np.any, "all": np.all, "count_nonzero": np.count_nonzero, "logsumexp": logsumexp,
}  # fmt: skip
NO_EMPTY = ("max", "min", "argmax", "argmin", "mean", "var", "logsumexp")
DTYPES = {
    "sum": ("float32", "float64", "float16", "int32", "uint8", "int64", "bool"),
    "any": ("bool", "float32", "int16"),
    "all": ("bool", "uint16"),
}


def bounds(lengths: list[int], start: int = 0) -> Array:
    return start + np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def one_by_one(what: str, x: Array, offsets: Array, axis: int = 0) -> Array:
    """NumPy's answer for each segment, in float64 for floats."""
    wide = x.astype(np.float64) if x.dtype.kind == "f" else x
    parts = [wide.take(range(a, b), axis) for a, b in pairwise(offsets)]
    return np.stack([REFERENCE[what](p, axis=axis) for p in parts], axis)


def random(rng: np.random.Generator, shape: tuple[int, ...], name: str) -> Array:
    t = np.dtype(name)
    if t.kind == "f":
        return rng.standard_normal(shape).astype(t)
    return rng.integers(0, 2 if t.kind == "b" else 100, shape).astype(t)


def check(got: Any, expected: Array, t: np.dtype[Any]) -> None:
    assert got.shape == expected.shape
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, expected)
        return
    rtol = {"f2": 4e-3, "f4": 2e-5, "f8": 1e-12}[t.str[1:] if t.kind == "f" else "f8"]
    np.testing.assert_allclose(got.astype(np.float64), expected, rtol, 100 * rtol)


@pytest.mark.parametrize("what", some(sorted(REFERENCE), 4))
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_segments_are_numpys(what: str, data: st.DataObject) -> None:
    lengths = data.draw(LENGTHS)
    lengths = [max(1, n) for n in lengths] if what in NO_EMPTY else lengths
    start, rest = data.draw(st.sampled_from([(0, 0), (3, 5)]))
    offsets = bounds(lengths, start)
    before, after = data.draw(st.sampled_from([((), ()), ((3,), ()), ((), (5,)), ((2,), (3,)), ((), (40,))]))
    axis = len(before)
    shape = (*before, int(offsets[-1]) + rest, *after)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x = random(rng, shape, data.draw(st.sampled_from(DTYPES.get(what, ("float32", "float64", "int32")))))
    turned = data.draw(st.sampled_from(["as it is", "strided", "backwards", "transposed"]))
    if turned == "strided":
        x = np.repeat(x, 2, axis)[(slice(None),) * axis + (slice(None, None, 2),)]
    elif turned == "backwards":
        x = np.flip(np.flip(x).copy())
    elif turned == "transposed":
        x = np.asfortranarray(x)
    named = data.draw(st.sampled_from([axis, axis - len(shape)]))
    got = wf.segment_reduce(x, offsets, what, axis=named, device="emulator", plan=data.draw(PLANS))
    assert got.dtype == wf.reduce(x, what=what, axis=axis, device="emulator").dtype
    check(got, one_by_one(what, x, offsets, axis), x.dtype)


def test_reduceat_agrees_on_segments_that_are_not_empty() -> None:
    x = np.arange(-500, 500, dtype=np.int32)
    offsets = [0, 1, 33, 500, 507, 1000]
    np.testing.assert_array_equal(
        wf.segment_reduce(x, offsets, "sum", device="emulator"), np.add.reduceat(x, offsets[:-1])
    )


def test_an_empty_segment_has_the_value_of_no_elements() -> None:
    x = np.ones(4, np.float32)
    for offsets in ([0, 0, 4, 4], [2, 2, 2]):
        lengths = np.diff(offsets)
        assert wf.segment_reduce(x, offsets, "sum", device="emulator").tolist() == lengths.tolist()
        means = wf.segment_reduce(x, offsets, "mean", device="emulator")
        assert np.isnan(means).tolist() == (lengths == 0).tolist()
    nothing = wf.segment_reduce(np.zeros((0, 3), np.int32), [0, 0, 0], "sum", device="emulator")
    assert nothing.tolist() == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_segments_have_the_memory_order_of_their_axis(order: tuple[int, ...], axis: int) -> None:
    x = np.arange(210).reshape(5, 6, 7).transpose(order)
    got = wf.segment_reduce(x, [0, 2, 2, 5], "sum", axis=axis, device="emulator")
    np.testing.assert_array_equal(got, one_by_one("sum", x, np.array([0, 2, 2, 5]), axis))
    assert np.argsort(got.strides).tolist() == np.argsort(x.strides).tolist()


@pytest.mark.parametrize("shape", [(0,), (7,), (0, 4), (7, 0)])
def test_no_segments_and_no_results(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape, np.float32)
    assert wf.segment_reduce(x, [0], "max", device="emulator").shape == (0, *shape[1:])
    if 0 in shape[1:]:
        assert wf.segment_reduce(x, [0, 0, 7], "max", device="emulator").shape == (2, *shape[1:])


@wf.monoid(identity=(1, 0), commutative=False)
def AFFINE(a: Any, b: Any) -> Any:  # noqa: N802 - a monoid is a value
    """x -> s x + t, one map after the other."""
    (s, t), (u, v) = a, b
    return s * u, t * u + v


def composed(x: wf.Sym) -> Any:
    return wf.fold(AFFINE, x, x + 1)


@pytest.mark.parametrize("plan", ["", "lanes=1,warps=1", "lanes=8,warps=4"])
def test_the_order_of_a_monoid_that_needs_it_is_kept(plan: str) -> None:
    x = np.random.default_rng(0).integers(0, 2**64, 6000, dtype=np.uint64)
    offsets = bounds([5, 0, 1, 1000, 33, 4900, 61])
    first, second = wf.segment_reduce(x, offsets, composed, device="emulator", plan=plan)
    for k, (a, b) in enumerate(pairwise(offsets)):
        s, t = 1, 0
        for e in x[a:b].tolist():
            s, t = s * e % 2**64, (t * e + e + 1) % 2**64
        assert (int(first[k]), int(second[k])) == (s, t)


@pytest.mark.parametrize("plan", ["", "lanes=1,warps=1"])
def test_a_program_of_two_results_and_the_count_before_the_fold(plan: str) -> None:
    """Elements are divided by the segment's length, which segment parts must know, too."""

    def program(x: wf.Sym) -> dict[str, Any]:
        share = x / wf.count(wf.dtype("f64"))
        return {"mean": wf.fold(wf.SUM, share), "span": wf.fold(wf.MAX, x) - wf.fold(wf.MIN, x)}

    x = np.random.default_rng(0).standard_normal(3000)
    offsets = bounds([1, 99, 2000, 900])
    got = wf.segment_reduce(x, offsets, program, device="emulator", plan=plan)
    np.testing.assert_allclose(got.mean, one_by_one("mean", x, offsets), 1e-12, 1e-14)
    np.testing.assert_array_equal(got.span, one_by_one("max", x, offsets) - one_by_one("min", x, offsets))


def test_complex_elements_and_parameters() -> None:
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(900) + 1j * rng.standard_normal(900)).astype(np.complex64)
    got = wf.segment_reduce(x, [0, 4, 4, 900], "sum", device="emulator", plan="lanes=1,warps=1")
    np.testing.assert_allclose(got, [x[:4].sum(), 0, x[4:].sum()], 1e-5)
    wide = wf.segment_reduce(x.real, [0, 900], "sum", dtype="f64", device="emulator")
    assert wide.dtype == np.float64
    corrected = wf.segment_reduce(x.real, [0, 9, 900], "var", correction=1, device="emulator")
    np.testing.assert_allclose(corrected, [x.real[:9].var(ddof=1), x.real[9:].var(ddof=1)], 1e-5)


def test_a_check_of_the_program_is_made_of_every_segment() -> None:
    x = np.array([1.0, np.nan, np.nan, 2.0])
    assert wf.segment_reduce(x, [0, 2, 4], "nanargmax", device="emulator").tolist() == [0, 1]
    with pytest.raises(wf.WarpfoldError, match="WF134"):
        wf.segment_reduce(x, [0, 1, 3], "nanargmax", device="emulator")


def test_out_takes_the_results() -> None:
    x = np.arange(12.0).reshape(2, 6)
    out = np.full((2, 5), -1.0)
    given = out[:, 1:4]
    assert wf.segment_reduce(x, [0, 1, 1, 6], "sum", axis=1, out=given, device="emulator") is given
    assert out.tolist() == [[-1, 0, 0, 15, -1], [-1, 6, 0, 45, -1]]
    with pytest.raises(wf.WarpfoldError, match=r"WF108: out has shape \(2, 3\): expected \(2, 2\)"):
        wf.segment_reduce(x, [0, 1, 6], "sum", axis=1, out=given, device="emulator")
    with pytest.raises(wf.WarpfoldError, match="WF111"):
        wf.segment_reduce(x, [0, 1, 6], "sum", axis=1, out=x[:, :2], device="emulator")


@pytest.mark.parametrize("kind", [list, tuple, np.uint8, np.int32, np.uint64])
def test_offsets_of_every_kind(kind: Any) -> None:
    offsets = (
        kind([0, 2, 5]) if isinstance(kind, type) and not issubclass(kind, np.generic) else np.array([0, 2, 5], kind)
    )
    assert wf.segment_reduce(np.arange(5), offsets, "sum", device="emulator").tolist() == [1, 9]


def test_places_beyond_32_bits() -> None:
    """One element, expanded to eight billion."""
    x = np.broadcast_to(np.float32(2), (1 << 33,))
    offsets = [(1 << 32) + n for n in (0, 3, 3, 1000)]
    assert wf.segment_reduce(x, offsets, "sum", device="emulator").tolist() == [6, 0, 1994]
    assert wf.segment_reduce(x, [(1 << 33) - 2, 1 << 33], "argmax", device="emulator").tolist() == [0]


def test_arrays_of_other_libraries() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.arange(10.0).reshape(5, 2)
    got = wf.segment_reduce(x, torch.tensor([0, 2, 2, 5]), "sum", device="emulator")
    assert isinstance(got, torch.Tensor)
    assert got.tolist() == [[2, 4], [0, 0], [18, 21]]


def test_the_reduction_in_place_of_the_offsets_is_refused() -> None:
    for what in (wf.SUM, "sum", wf.sum):
        with pytest.raises(wf.WarpfoldError, match=r"(?s)WF154: a .* was given as offsets.*\(x, offsets, what\)"):
            wf.segment_reduce(np.ones(4), what, [0, 4], device="emulator")


BAD: list[tuple[Any, str]] = [
    ([0, 3, 2, 5], r"WF143: offsets decrease: offsets\[1\] is 3, the next is 2"),
    ([-1, 3], r"WF142: offsets\[0\] is -1, outside an axis of 5 elements"),
    ([0, 3, 6], r"WF142: offsets\[2\] is 6, outside an axis of 5 elements"),
    (np.array([0, 2**64 - 1], np.uint64), r"WF142: offsets\[1\] is 18446744073709551615"),
    ([0.0, 3.0], "WF140: offsets have elements of type f64: expected integers"),
    ([False, True], "WF140: offsets have elements of type bool: expected integers"),
    ([[0, 3]], r"WF141: offsets have shape \(1, 2\): expected one dim of at least 1 entry"),
    (3, r"WF141: offsets have shape \(\)"),
    ([], r"WF141: offsets have shape \(0,\)"),
]


@pytest.mark.parametrize(("offsets", "message"), BAD)
def test_bad_offsets_are_refused(offsets: Any, message: str) -> None:
    with pytest.raises(wf.WarpfoldError, match=message):
        wf.segment_reduce(np.arange(5.0), offsets, "sum", device="emulator")


def test_other_invalid_arguments_are_refused() -> None:
    x = np.ones((4, 3))
    with pytest.raises(wf.WarpfoldError, match="WF144: max of no elements has no value: segment 1 is empty and max"):
        wf.segment_reduce(x, [0, 2, 2, 4], "max", device="emulator")
    for axis in (None, (0, 1)):
        with pytest.raises(wf.WarpfoldError, match="WF145: segments are along one axis, got axis="):
            wf.segment_reduce(x, [0, 4], "sum", axis=axis)
    with pytest.raises(wf.WarpfoldError, match="WF101"):
        wf.segment_reduce(x, [0, 4], "sum", axis=2)
    with pytest.raises(wf.WarpfoldError, match="WF101"):
        wf.segment_reduce(1.0, [0], "sum")
    with pytest.raises(wf.WarpfoldError, match=r"WF146: segments are reduced .*: vector=4 does not fit"):
        wf.segment_reduce(x, [0, 4], "sum", plan="vector=4", device="emulator")
    with pytest.raises(wf.WarpfoldError, match="WF131"):
        wf.segment_reduce(x, [0, 4], "sum", plan=4)


# --- balance -------------------------------------------------------------------------------------------------------
def test_one_long_segment_among_many_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """No kernel reads a row longer than a few threads' share, and three kernels are enough."""
    lengths = [8] * 5000
    lengths.insert(2500, 1 << 18)
    offsets = bounds(lengths)
    x = np.random.default_rng(0).standard_normal(offsets[-1]).astype(np.float32)
    seen: list[segment_parts.Level] = []
    whole = segment_parts.Pipeline.queue
    monkeypatch.setattr(
        segment_parts.Pipeline, "queue", lambda self, level, *a: (seen.append(level), whole(self, level, *a))[1]
    )
    for what in ("sum", "argmax", "mean"):
        seen.clear()
        got = wf.segment_reduce(x, offsets, what, device="emulator")
        check(got, one_by_one(what, x, offsets), x.dtype)
        assert len(seen) in (2, 3)
        for level in seen:
            assert level.rows.lengths.max() <= 2 * ragged.PARTS_OF_ROW * ragged.THREAD_ELEMENTS * level.plan.positions
    even = bounds([50] * 5000)
    seen.clear()
    wf.segment_reduce(x[: even[-1]], even, "sum", device="emulator")
    assert len(seen) == 1


@pytest.mark.gpu
@pytest.mark.timing
def test_a_long_segment_costs_no_more_than_its_bytes() -> None:
    """One segment of 2^24 among 10^5 of length 8: the kernels take a few times as long as a plain sum of the bytes.

    Other work on the GPU lengthens single launches: of each kernel, as of the sum, the least time counts.
    """
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from warpfold.runtime.backends.cuda_backend import backend

    lengths = [8] * 10**5
    lengths.insert(50_000, 1 << 24)
    offsets = bounds(lengths)
    x = torch.randn(int(offsets[-1]), device="cuda")
    got = wf.segment_reduce(x, offsets, "sum")
    expected = np.add.reduceat(x.double().cpu().numpy(), offsets[:-1])
    np.testing.assert_allclose(got.cpu().numpy(), expected, 1e-4, 1e-2)
    stream = torch.cuda.current_stream().cuda_stream
    plain = min(backend(0).elapsed(lambda: wf.sum(x), stream) for _ in range(20))
    queued: list[float] = []
    calls: list[list[float]] = []
    launch = type(backend(0)).launch

    def kernels(self: Any, *args: Any) -> None:
        queued.append(self.elapsed(lambda: launch(self, *args), stream))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(backend(0)), "launch", kernels)
        for _ in range(10):
            queued.clear()
            started = time.perf_counter()
            wf.segment_reduce(x, offsets, "sum")
            host = time.perf_counter() - started
            calls.append(list(queued))
    least = list(map(min, zip(*calls, strict=True)))
    print(f"plain {plain:.0f} us, kernels {[round(t) for t in least]} us, call {host * 1e6:.0f} us")
    assert sum(least) < 4 * plain + 100


@pytest.mark.parametrize("lengths", [[3, 0, 40, 1, 7], [5000, 2, 0, 3]], ids=["short", "cut"])
def test_masks_and_nan_policies_reach_the_elements_of_segments(lengths: list[int]) -> None:
    offsets = bounds(lengths)
    rng = np.random.default_rng(5)
    x = rng.standard_normal((int(offsets[-1]), 3))
    mask = rng.random(x.shape) < 0.6
    x[rng.random(x.shape) < 0.1] = np.nan

    def expected(function: Any) -> np.ndarray:
        rows = list(pairwise(offsets))
        return np.array([[function(x[a:b, j], mask[a:b, j]) for j in range(3)] for a, b in rows])

    got = wf.segment_reduce(x, offsets, "sum", where=mask, nan="ignore", device="emulator")
    np.testing.assert_allclose(got, expected(lambda v, m: np.nansum(v[m])), 1e-12, 1e-12)
    got = wf.segment_reduce(x, offsets, "mean", where=mask[:, :1], nan="ignore", device="emulator")
    with np.errstate(invalid="ignore"):
        mask[:, 1:] = mask[:, :1]
        means = expected(lambda v, m: np.nansum(v[m]) / np.float64(np.sum(~np.isnan(v[m]))))
    np.testing.assert_allclose(got, means, 1e-12, 1e-12)
    with pytest.raises(wf.WarpfoldError, match="WF135: the input of sum holds NaN"):
        wf.segment_reduce(x, offsets, "sum", nan="raise", device="emulator")
    with pytest.raises(wf.WarpfoldError, match="WF138: nan cannot be 'skip'"):
        wf.segment_reduce(x, offsets, "sum", nan="skip", device="emulator")
    with pytest.raises(wf.WarpfoldError, match="WF139"):
        wf.segment_reduce(x, offsets, "sum", where=mask[:, :2], device="emulator")


# --- ids -----------------------------------------------------------------------------------------------------------
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from([0, 0, 1, 2, 5, 33]), min_size=0, max_size=9), st.integers(0, 3), st.sampled_from("ilBQ")
)
def test_ids_give_the_offsets_that_they_imply(lengths: list[int], more: int, kind: str) -> None:
    """Empty segments before, between and behind the others, in any integer type."""
    offsets = bounds([*lengths, *(0 for _ in range(more))])
    ids = np.repeat(np.arange(len(lengths)), lengths).astype(kind)
    x = np.random.default_rng(1).standard_normal((int(offsets[-1]), 3)).astype(np.float32)
    got = wf.segment_reduce(x, "sum", ids=ids, num_segments=len(lengths) + more, device="emulator")
    np.testing.assert_array_equal(got, wf.segment_reduce(x, offsets, "sum", device="emulator"))
    assert got.shape == (len(lengths) + more, 3)
    expected = np.zeros(got.shape)
    np.add.at(expected, ids.astype(int), x)
    np.testing.assert_allclose(got, expected, 1e-5, 1e-5)


def test_ids_may_be_of_any_library_and_along_any_axis() -> None:
    x, ids = np.arange(12.0).reshape(2, 6), [0, 0, 1, 1, 1, 4]
    expected = np.stack([x[:, np.array(ids) == k].sum(1) for k in range(5)], 1)
    np.testing.assert_array_equal(wf.segment_reduce(x, "sum", ids=ids, axis=1), expected)
    np.testing.assert_array_equal(wf.segment_reduce(x, what="sum", ids=tuple(ids), axis=-1), expected)
    np.testing.assert_array_equal(wf.segment_reduce(x, None, "sum", ids=np.array(ids), axis=1), expected)
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    got = wf.segment_reduce(torch.tensor(x), "sum", ids=torch.tensor(ids), axis=1)
    np.testing.assert_array_equal(got.numpy(), expected)


def test_ids_up_to_the_last_of_their_type() -> None:
    got = wf.segment_reduce(np.ones(3), "sum", ids=np.array([0, 255, 255], np.uint8))
    assert got.shape == (256,)
    assert (got[0], got[255], got.sum()) == (1, 2, 3)


def test_ids_of_no_elements() -> None:
    assert wf.segment_reduce(np.ones((0, 2)), "sum", ids=[]).shape == (0, 2)
    assert wf.segment_reduce(np.ones(0), "sum", ids=[], num_segments=2).tolist() == [0, 0]
    assert wf.segment_reduce(np.ones(0), "prod", ids=np.zeros(0, int), num_segments=1).tolist() == [1]


BAD_IDS: list[tuple[dict[str, Any], str]] = [
    ({"ids": [0, 1, 0, 1]}, r"WF180: ids decrease: ids\[1\] is 1, the next is 0\n(?s:.*)numpy.argsort\(ids"),
    ({"ids": [0, 1, 1]}, r"WF179: ids have shape \(3,\): expected \(4,\)"),
    ({"ids": [[0, 1, 1, 2]]}, r"WF179: ids have shape \(1, 4\)"), ({"ids": 3}, r"WF179: ids have shape \(\)"),
    ({"ids": [-1, 0, 0, 1]}, r"WF181: ids\[0\] is -1: expected a number from 0 to below 2"),
    ({"ids": [0, 0, 1, 5], "num_segments": 5}, r"WF181: ids\[3\] is 5: expected a number from 0 to below 5"),
    ({"ids": [0, 0, 1, 2**40]}, "WF119: 1099511627777 results were asked for"),
    ({"ids": np.array([0, 0, 1, 2**64 - 1], np.uint64)}, "WF119: 18446744073709551616 results were asked for"),
    ({"ids": [0, 0, 1, 1], "num_segments": 2**50}, "WF119: .* expected at most 2113929216"),
    ({"ids": [0, 0, 1, 1], "num_segments": -1}, "WF182: num_segments is -1: expected a whole number"),
    ({"ids": [0, 0, 1, 1], "num_segments": 2.0}, "WF182: num_segments is 2.0"),
    ({"ids": [0.0, 0.0, 1.0, 1.0]}, "WF140: ids have elements of type f64: expected integers"),
    ({"ids": "sum"}, "WF154: a str was given as ids"),
    ({}, "WF177: segments are given by offsets or by ids, got neither"),
    ({"offsets": [0, 4], "ids": [0, 0, 1, 1]}, "WF177: .*, got offsets and ids"),
    ({"offsets": [0, 4], "num_segments": 1}, "WF177: .*, got offsets and num_segments"),
]  # fmt: skip


@pytest.mark.parametrize(("how", "message"), BAD_IDS)
def test_bad_ids_are_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises(wf.WarpfoldError, match=message) as caught:
        wf.segment_reduce(np.arange(4.0), what="sum", **how)
    assert "help: " in str(caught.value)


@pytest.mark.parametrize("ids", [[0, 0, 1, 1], [0, 1, 2, 3], [0, 0, 0, 0]])
def test_offsets_that_may_be_ids_warn(ids: list[int]) -> None:
    with pytest.warns(wf.WarpfoldWarning, match="WF178: the 4 integers for 4 elements, the last of them") as caught:
        got = wf.segment_reduce(np.arange(4.0), ids, "sum")
    assert caught[0].filename == __file__
    assert "if they are ids, pass them as ids=" in str(caught[0].message)
    np.testing.assert_array_equal(got, [np.arange(4.0)[a:b].sum() for a, b in pairwise(ids)])


@pytest.mark.parametrize(("ids", "code"), [([0, 1, 0, 1], "WF143"), ([0, 7, 8, 9], "WF142")])
def test_offsets_that_can_only_be_ids_are_refused_with_advice(ids: list[int], code: str) -> None:
    with pytest.raises(wf.WarpfoldError, match=rf"{code}(?s:.*)help: these are as many as there are elements: .* ids="):
        wf.segment_reduce(np.arange(4.0), ids, "sum")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("offsets", [[0, 1, 2, 4], [0, 4], [1, 2, 3], [0, 0, 1, 2, 3, 4], [0]])
def test_offsets_that_cannot_be_ids_do_not_warn(offsets: list[int]) -> None:
    wf.segment_reduce(np.arange(4.0), offsets, "sum")
