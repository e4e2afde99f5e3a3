"""Side folds: what a program folds over its rows comes out of the kernel that folds and writes the rows."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from access_picture import run_under
from covering import some

import warpfold as wf
from warpfold.runtime.emulator.sanitizer import Sanitizer

RNG = np.random.default_rng(5)
TYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f64": np.float64}
PERSISTENT = "persistent=1"


@wf.program
def columns(x: Any) -> Any:
    """A softmax of each row, and the greatest element and the sum of each of its columns."""
    y = wf.softmax(x, axis=-1)
    return y, wf.max(y, axis=0), wf.sum(y, axis=0)


@wf.program
def scaled(x: Any) -> Any:
    """A softmax of each row, and half the sum of each column in bf16."""
    y = wf.softmax(x, axis=-1)
    return y, wf.cast(wf.sum(y, axis=0) * 0.5, "bf16")


@wf.program
def weighted(x: Any, weights: Any) -> Any:
    """A weighted softmax of each row, and the sum of each column."""
    y = wf.softmax(x, axis=-1) * weights
    return y, wf.sum(y, axis=0)


def _made(shape: tuple[int, ...], t: str) -> Any:
    return RNG.standard_normal(shape).astype(TYPES[t])


def _softmax(x: Any) -> Any:
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True).astype(np.float64))
    return e / e.sum(-1, keepdims=True)


def _layer_norm_backward(dy: Any, x: Any, w: Any) -> tuple[Any, Any, Any]:
    """The gradients of a layer norm in f64, by the formulas."""
    dy, x, w = (a.astype(np.float64) for a in (dy, x, w))
    h = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    g, rows = dy * w, tuple(range(x.ndim - 1))
    inner = g - g.mean(-1, keepdims=True) - h * (g * h).mean(-1, keepdims=True)
    return inner / np.sqrt(x.var(-1, keepdims=True) + 1e-5), (dy * h).sum(rows), dy.sum(rows)


def _close(found: Any, exact: Any, x: Any) -> None:
    """Within some last bits of the type, at the size of what was added."""
    eps = float(ml_dtypes.finfo(x.dtype).eps)
    error = np.abs(found.astype(np.float64) - exact).max()
    assert error <= 40 * eps * max(1.0, np.abs(exact).max()), error


@pytest.mark.parametrize(
    ("shape", "t", "plan"),
    some([
        ((300, 512), "f32", "warps=4"),  # one CTA a row, and parts of one or two rows
        ((2500, 24), "f32", ""),  # rows of some lanes, several of which a warp takes at a time
        ((1100, 100), "f16", "warps_kept=4"),  # a warp of which some lanes have no access
        ((700, 264), "bf16", "warps=2,warps_kept=2"),  # warps along both axes
        ((150, 1032), "bf16", "warps=2"),  # several accesses a thread, the last ones beyond the row
        ((20, 31, 72), "f32", ""),  # rows along two dims
        ((300, 96), "f64", ""),
        ((280, 51), "f32", "vector=1,warps=1"),  # single elements
        ((280, 515), "f32", "warps=2"),  # rows that begin anywhere
        ((150, 1031), "bf16", "warps=2"),
        ((150, 1031), "bf16", "warps=3"),  # as many warps as the row needs
        ((150, 776), "f16", "warps=3,warps_kept=1"),
        ((3, 64), "f32", ""),  # fewer rows than CTAs
        ((300, 512), "f32", "warps=4,resident=shared"),  # rows in two sets of slots in turn
        ((150, 1031), "bf16", "warps=2,resident=shared"),
        ((280, 515), "f32", "warps=2,reads=ahead"),  # weights in registers
    ], 6),
)  # fmt: skip
def test_gradients_of_weights_come_with_that_of_the_rows(shape: tuple[int, ...], t: str, plan: str) -> None:
    dy, x, w, b = _made(shape, t), _made(shape, t), _made(shape[-1:], t), _made(shape[-1:], t)
    how = {"plan": ",".join(filter(None, [PERSISTENT, plan]))}
    backward = wf.vjp(wf.layer_norm)
    (own,) = backward.compile(dy, x, w, b, **how).plans
    assert own.persistent == 1
    tool, found = Sanitizer(), []
    run_under(tool, lambda: found.extend(backward(dy, x, w, b, **how)))
    assert not list(tool.findings), list(tool.findings)[:2]
    for result, exact in zip(found, _layer_norm_backward(dy, x, w), strict=True):
        _close(result, exact, x)
    again = backward(dy, x, w, b, **how)
    assert all(np.array_equal(r, a) for r, a in zip(found, again, strict=True))


@pytest.mark.parametrize(("plan", "found"), [("warps=2,warps_kept=2", "warps_kept=2, expected 1"),
                                             ("warps=1,lanes=16", "lanes=16, expected 32")])  # fmt: skip
def test_rows_that_begin_anywhere_come_one_at_a_time(plan: str, found: str) -> None:
    dy, x, w = _made((40, 131), "f32"), _made((40, 131), "f32"), _made((131,), "f32")
    with pytest.raises(wf.WarpfoldError, match=f"WF442: rows of rms_norm_backward begin anywhere.*: {found}"):
        wf.vjp(wf.rms_norm).compile(dy, x, w, plan=f"{PERSISTENT},{plan}")


@pytest.mark.parametrize("t", ["f32", "bf16"])
def test_rows_beside_a_row_that_begins_anywhere_change_nothing(t: str) -> None:
    """Accesses read what lies beside the row, such as a NaN, and count it as zero."""
    dy, x, w, b = _made((12, 519), t), _made((12, 519), t), _made((519,), t), _made((519,), t)
    backward = wf.vjp(wf.layer_norm)
    clean, *_ = backward(dy, x, w, b, plan=f"{PERSISTENT},warps=3")
    x[::2], dy[::2] = np.nan, np.inf
    found, *_ = backward(dy, x, w, b, plan=f"{PERSISTENT},warps=3")
    np.testing.assert_array_equal(found[1::2], clean[1::2])


def test_a_row_may_lie_in_the_place_of_its_input() -> None:
    dy, x, w = _made((1400, 40), "f32"), _made((1400, 40), "f32"), _made((40,), "f32")
    backward, own = wf.vjp(wf.rms_norm), x.copy()
    apart = backward(dy, x, w, plan=PERSISTENT)
    tool = Sanitizer()
    run_under(tool, lambda: backward(dy, own, w, out=(own, np.empty(40, np.float32)), plan=PERSISTENT))
    assert not list(tool.findings)
    np.testing.assert_array_equal(own, apart[0])


def test_any_commutative_fold_may_be_one_and_several_are_one_state() -> None:
    x = _made((900, 72), "f32")
    (plan,) = columns.compile(x, plan=PERSISTENT).plans
    assert plan.persistent == 1
    y, greatest, total = columns(x, plan=PERSISTENT)
    exact = _softmax(x)
    for result, expected in ((y, exact), (greatest, exact.max(0)), (total, exact.sum(0))):
        np.testing.assert_allclose(result, expected, rtol=1e-5)
    np.testing.assert_array_equal(greatest, y.max(0))


@pytest.mark.parametrize("along", ["rows", "columns"])
def test_what_all_rows_share_is_read_once(along: str) -> None:
    """An array with a value for each row, or for each column, has strides of 0: the second is the same for all rows."""
    x, shape = _made((400, 72), "f32"), (400, 72)
    own = np.arange(400, dtype=np.float32)[:, None] if along == "rows" else np.arange(72, dtype=np.float32)
    weights = np.broadcast_to(own, shape)
    (plan,) = weighted.compile(x, weights, plan=PERSISTENT).plans
    assert plan.reads == ("ahead" if along == "columns" else "")
    y, total = weighted(x, weights, plan=PERSISTENT)
    np.testing.assert_allclose(y, _softmax(x) * own, rtol=1e-5)
    np.testing.assert_allclose(total, (_softmax(x) * own).sum(0), rtol=1e-5)


def test_results_are_made_of_what_the_fold_leaves() -> None:
    x = _made((600, 40), "f32")
    assert len(scaled.compile(x, plan=PERSISTENT).plans) == 1
    _, half = scaled(x, plan=PERSISTENT)
    np.testing.assert_allclose(half.astype(np.float64), _softmax(x).sum(0) / 2, rtol=2**-8)


def test_a_users_monoid_is_a_side_fold() -> None:
    @wf.monoid(identity=(0.0, 0.0))
    def loudness(a: Any, b: Any) -> Any:
        return wf.maximum(a[0], b[0]), a[1] + b[1]

    @wf.program
    def loud(x: Any) -> Any:
        y = wf.softmax(x, axis=1)
        peak, energy = wf.fold(loudness, y, y * y, axis=0)
        return y, peak, energy

    x = _made((500, 36), "f32")
    assert len(loud.compile(x, plan=PERSISTENT).plans) == 1
    _, peak, energy = loud(x, plan=PERSISTENT)
    np.testing.assert_allclose(peak, _softmax(x).max(0), rtol=1e-5)
    np.testing.assert_allclose(energy, (_softmax(x) ** 2).sum(0), rtol=1e-5)


def _steps(x: Any, **how: Any) -> list[Any]:
    return [own.prepared.choice for own in columns._planned((x,), how, "sm_90a").prepared.steps]


def test_many_rows_get_persistent_ctas_and_few_do_not() -> None:
    many, *others = _steps(((32768, 4096), "bf16"))
    assert not others
    assert many.plan.persistent > 0
    assert many.run.ctas == many.plan.persistent * 132
    first, *_ = _steps(((200, 4096), "bf16"))
    assert ("persistent", "200 rows are too few for persistent CTAs") in first.rejected


@pytest.mark.parametrize(
    ("spec", "how", "reason"),
    [
        (((8192, 65536), "f32"), {}, "65536 columns have too many states for registers, or elements for shared memory"),
        (((263173, 255), "bf16"), {}, "rows of narrow elements begin anywhere"),
        (((131072, 51), "f32"), {}, "rows go through a tile by single elements"),
        (((32768, 4096), "bf16"), {"plan": "persistent=0"}, "asked for"),
        (((32768, 4096), "bf16"), {"plan": "cluster=2"}, "asked for"),
    ],
)
def test_other_rows_are_cut_from_the_folds_over_them(spec: Any, how: dict[str, Any], reason: str) -> None:
    choices = _steps(spec, **how)
    assert len(choices) > 1
    assert ("persistent", reason) in [note for c in choices for note in c.rejected]


@wf.program
def sums(x: Any, y: Any) -> Any:
    """Folds of rows and of columns, without elements that are written."""
    return wf.mean(x * y, axis=1), wf.max(x, axis=1), wf.sum(x * y, axis=0), wf.mean(y, axis=0)


def test_rows_of_which_no_element_is_written_are_read_once() -> None:
    x, y = _made((150, 260), "f32"), _made((150, 260), "f32")
    (plan,) = sums.compile(x, y, plan=PERSISTENT).plans
    assert plan.persistent == 1
    product = x.astype(np.float64) * y
    wanted = product.mean(1), x.max(1), product.sum(0), y.mean(0)
    for found, own in zip(sums(x, y, plan=PERSISTENT), wanted, strict=True):
        np.testing.assert_allclose(found, own, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("rows", "kernels"), [(1536, 2), (6144, 1)])
def test_columns_that_the_l2_cache_has_are_a_kernel_of_their_own(rows: int, kernels: int) -> None:
    """Two arrays of 1024 columns of f32: 48 MiB and more are read from memory again."""
    own = sums._planned((((rows, 1024), "f32"),) * 2, {}, "sm_90a").prepared.steps
    assert len(own) == kernels
    reason = "no elements are written, and reductions of columns find those that they read in the L2 cache"
    assert (("persistent", reason) in own[0].prepared.choice.rejected) is (kernels == 2)


def test_portable_bits_of_a_row_do_not_depend_on_other_rows() -> None:
    assert all(not c.plan.persistent for c in _steps(((32768, 4096), "bf16"), determinism="portable"))


def test_the_cut_gives_the_same_results() -> None:
    x = _made((1500, 64), "f32")
    for one, two in zip(columns(x, plan=PERSISTENT), columns(x, plan="persistent=0"), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5)
