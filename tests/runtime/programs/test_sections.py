"""Sections of rows: what a program folds over parts of its rows, and over rows, is read with the rows."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from access_picture import run_under
from covering import some

import warpfold as wf
from warpfold.runtime.emulator.sanitizer import Sanitizer

RNG = np.random.default_rng(11)
TYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f64": np.float64}


def _made(shape: tuple[int, ...], t: str) -> Any:
    return RNG.standard_normal(shape).astype(TYPES[t])


def _gradient(groups: int) -> Any:
    return wf.vjp(lambda x, w, b: wf.group_norm(x, groups, w, b))


def _group_norm_backward(dy: Any, x: Any, w: Any, groups: int) -> tuple[Any, Any, Any]:
    """The gradients of a group norm in f64, by the formulas."""
    dy, x, w = (a.astype(np.float64) for a in (dy, x, w))
    n, _, *pixels = x.shape
    rows, along, channels = (n, groups, -1), (1, -1, *[1] * len(pixels)), (0, *range(2, x.ndim))
    v = x.reshape(rows)
    scale = 1 / np.sqrt(v.var(-1, keepdims=True) + 1e-5)
    h, g = (v - v.mean(-1, keepdims=True)) * scale, (dy * w.reshape(along)).reshape(rows)
    dx = (g - g.mean(-1, keepdims=True) - h * (g * h).mean(-1, keepdims=True)) * scale
    return dx.reshape(x.shape), (dy * h.reshape(x.shape)).sum(channels), dy.sum(channels)


def _plans(function: Any, *xs: Any, **how: Any) -> list[Any]:
    return [own.prepared.choice for own in function._planned(xs, how, "sm_90a").prepared.steps]


@pytest.mark.parametrize(
    ("shape", "groups", "t", "plan", "section"),
    some(
        [
            ((3, 8, 8, 12), 2, "f32", "", 32),  # some lanes of a warp
            ((2, 4, 32, 32), 1, "bf16", "", 256),  # a whole warp
            ((2, 4, 14, 14), 2, "f32", "", 4),  # one access
            ((2, 6, 28, 28), 3, "f16", "resident=shared", 16),
            ((2, 8, 56, 56), 2, "f32", "resident=shared,cluster=4,warps=2", 64),  # parts of rows begin in any CTA
            ((5, 4, 16, 16), 4, "f32", "", 128),  # a section of the whole row
            ((2, 4, 12, 6), 2, "f64", "", 8),
            ((7, 6, 40), 2, "f32", "warps_kept=2", 8),  # CTAs with fewer rows than they have places
        ],
        5,
    ),
)
def test_gradients_of_weights_of_channels_come_with_those_of_rows(
    shape: tuple[int, ...], groups: int, t: str, plan: str, section: int
) -> None:
    dy, x, w, b = _made(shape, t), _made(shape, t), _made(shape[1:2], t), _made(shape[1:2], t)
    backward, how = _gradient(groups), {"plan": plan} if plan else {}
    rows, states = _plans(backward, dy, x, w, b, **how)
    assert rows.facts.section == section
    assert not states.plan.resident
    tool, found = Sanitizer(), []
    run_under(tool, lambda: found.extend(backward(dy, x, w, b, **how)))
    assert not list(tool.findings), list(tool.findings)[:2]
    eps = float(ml_dtypes.finfo(x.dtype).eps)
    for result, exact in zip(found, _group_norm_backward(dy, x, w, groups), strict=True):
        error = np.abs(result.astype(np.float64) - exact).max()
        assert error <= 40 * eps * max(1.0, np.abs(exact).max()), error
    again = backward(dy, x, w, b, **how)
    assert all(np.array_equal(r, a) for r, a in zip(found, again, strict=True))


@pytest.mark.parametrize(
    ("shape", "groups", "t", "how", "reason"),
    [
        ((2, 4, 7, 7), 2, "f32", {}, "parts of 49 elements are no whole accesses"),
        ((2, 4, 14, 14), 2, "bf16", {}, "states of sections of 4 elements are as many bytes as another read"),
        ((2, 4, 16, 16), 2, "f32", {"plan": "lanes=2"}, "2 lanes have no section of 128 elements"),
        ((2, 4, 16, 16), 2, "f32", {"plan": "resident=none"}, "asked for"),
    ],
)
def test_other_rows_are_read_again(
    shape: tuple[int, ...], groups: int, t: str, how: dict[str, Any], reason: str
) -> None:
    dy, x, w = _made(shape, t), _made(shape, t), _made(shape[1:2], t)
    backward = _gradient(groups)
    choices = _plans(backward, dy, x, w, w, **how)
    assert not any(c.facts.section for c in choices)
    if how.get("plan") != "resident=none":
        assert ("sections", reason) in [note for c in choices for note in c.rejected]
    found = backward(dy, x, w, w, **how)
    for result, exact in zip(found, _group_norm_backward(dy, x, w, groups), strict=True):
        np.testing.assert_allclose(result.astype(np.float64), exact, rtol=0.02, atol=0.05)


def test_channels_that_lie_innermost_are_read_again() -> None:
    dy, x, w = (_made(s, "f32") for s in ((2, 4, 4, 8), (2, 4, 4, 8), (8,)))
    turned = [a.transpose(0, 3, 1, 2) for a in (dy, x)]
    backward = _gradient(2)
    assert not any(c.facts.section for c in _plans(backward, *turned, w, w))
    for result, exact in zip(backward(*turned, w, w), _group_norm_backward(*turned, w, 2), strict=True):
        np.testing.assert_allclose(result, exact, rtol=1e-4, atol=1e-4)


def test_any_commutative_fold_may_leave_sections() -> None:
    @wf.program
    def peaks(x: Any) -> Any:
        y = wf.softmax(x, axis=(1, 2))
        return y, wf.max(y, axis=(0, 2)), wf.sum(y * y, axis=(0, 2))

    x = _made((3, 5, 64), "f32")
    assert _plans(peaks, x)[0].facts.section == 64
    y, greatest, energy = peaks(x)
    e = np.exp(x.astype(np.float64) - x.max((1, 2), keepdims=True))
    exact = e / e.sum((1, 2), keepdims=True)
    np.testing.assert_allclose(y, exact, rtol=1e-5)
    np.testing.assert_array_equal(greatest, y.max((0, 2)))
    np.testing.assert_allclose(energy, (exact**2).sum((0, 2)), rtol=1e-5)


def test_a_compiled_program_and_its_file_have_sections(tmp_path: Any) -> None:
    dy, x, w = _made((3, 4, 16, 16), "f32"), _made((3, 4, 16, 16), "f32"), _made((4,), "f32")
    backward = _gradient(2)
    compiled = backward.compile(dy, x, w, w)
    compiled.save(tmp_path / "group_norm")
    found = wf.load(tmp_path / "group_norm")(dy, x, w, w)
    for r, a, c in zip(backward(dy, x, w, w), found, compiled(dy, x, w, w), strict=True):
        np.testing.assert_array_equal(r, a)
        np.testing.assert_array_equal(r, c)


def test_portable_bits_have_no_sections() -> None:
    x, w = ((2, 4, 16, 16), "f32"), ((4,), "f32")
    assert not any(c.facts.section for c in _plans(_gradient(2), x, x, w, w, determinism="portable"))
