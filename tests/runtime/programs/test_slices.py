"""Slices in programs: halves of rows, neighbours, and entries, in any layout, on the emulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.errors import ArgumentError

RNG = np.random.default_rng(8)
X = RNG.standard_normal((5, 38)).astype(np.float32)
ANGLES = RNG.uniform(0, 3, (5, 19)).astype(np.float32)


@wf.program
def rotate(x: Any, cos: Any, sin: Any) -> Any:
    """Rotary position embedding of rows: two results, the halves of a row."""
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return a * cos - b * sin, a * sin + b * cos


@wf.program
def swiglu(x: Any) -> Any:
    gate = x[..., : x.shape[-1] // 2]
    return gate / (1 + wf.exp(-gate)) * x[..., x.shape[-1] // 2 :]


@wf.program
def top_of_softmax(x: Any) -> Any:
    return wf.softmax(x, axis=-1)[..., 3::7]


@wf.program
def total_variation(x: Any) -> Any:
    return wf.sum(abs(x[..., 1:] - x[..., :-1]), axis=-1)


LAYOUTS: list[Callable[[Any], Any]] = [
    np.ascontiguousarray,
    np.asfortranarray,
    lambda x: np.repeat(x, 3, axis=-1)[..., 1::3],
    lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
    lambda x: np.concatenate([x[:, :1], x], axis=1)[:, 1:],
]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_slices_in_every_layout(layout: Callable[[Any], Any]) -> None:
    x, cos, sin = map(layout, (X, np.cos(ANGLES), np.sin(ANGLES)))
    for found, expected in zip(rotate(x, cos, sin), rotate.function(x, cos, sin), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    gate = X[:, :19].astype(np.float64)
    np.testing.assert_allclose(swiglu(x), gate / (1 + np.exp(-gate)) * X[:, 19:], rtol=1e-5)
    e = np.exp(X.astype(np.float64))
    np.testing.assert_allclose(top_of_softmax(x), (e / e.sum(-1, keepdims=True))[:, 3::7], rtol=1e-5)
    np.testing.assert_allclose(total_variation(x), np.abs(np.diff(X)).sum(-1), rtol=1e-5)


def test_a_program_serves_other_sizes_and_repeats() -> None:
    for n in (2, 3, 40, 129, 129, 40):
        x = RNG.standard_normal((3, n)).astype(np.float32)
        np.testing.assert_allclose(total_variation(x), np.abs(np.diff(x)).sum(-1), rtol=1e-5)


def test_a_compiled_program_with_slices_is_saved_and_serves_other_sizes(tmp_path: Any) -> None:
    total_variation.compile(X).save(tmp_path / "tv.wf")
    loaded = wf.load(tmp_path / "tv.wf")
    for x in (X, X[:2, :30].copy()):
        np.testing.assert_array_equal(loaded(x, device="emulator"), total_variation(x, device="emulator"))
    with pytest.raises(ArgumentError, match="WF123"):  # one difference a row: a slice of another kind
        loaded(X[:, :2].copy())


def test_an_entry_of_a_slice_is_gathered() -> None:
    @wf.program
    def chosen(x: Any, i: Any) -> Any:
        return x.__array_namespace__().take_along_axis(x[:, 4:], i[:, None], axis=1)[:, 0]

    i = RNG.integers(0, 34, 5)
    np.testing.assert_array_equal(chosen(X, i), X[np.arange(5), 4 + i])


def test_what_explain_calls_a_slice() -> None:
    text = rotate.explain(X, ANGLES, ANGLES)
    assert "reads x at x.1[:19], cos, x at x.1[19:], sin; writes" in text
    assert "reads x at x.0[1:] and x.1[1:][::2]; writes" in wf.program(lambda x: x[1:, 1:][:, ::2] + 1).explain(X)


def test_a_slice_is_not_written_over() -> None:
    x = X.copy()
    with pytest.raises(ArgumentError, match="WF186"):
        wf.program(lambda x: x[:, ::-1] + x)(x, out=x)
    np.testing.assert_array_equal(x, X)


def test_a_result_takes_the_place_of_a_slice_that_the_caller_made() -> None:
    x = X.copy()
    wf.program(lambda x: x + 1)(x[:, 3:], out=x[:, 3:])
    np.testing.assert_array_equal(x, np.concatenate([X[:, :3], X[:, 3:] + 1], axis=1))


@pytest.mark.parametrize("narrow", ["float16", "float8_e5m2"])
def test_padded_rows_beside_results_of_two_widths(narrow: str) -> None:
    """The accesses of all begin at a boundary of the narrowest elements, which is one of the others, too."""
    x = np.random.default_rng(5).standard_normal((5, 260)).astype(np.float16)[:, :257]

    @wf.program
    def centred(x: Any) -> Any:
        wide = wf.cast(x, "float32")
        return wide - wf.mean(wide, axis=1, keepdims=True), wf.cast(wide * 2, narrow)

    found, doubled = centred(x)
    wide = x.astype(np.float32)
    np.testing.assert_allclose(found, wide - wide.mean(axis=1, keepdims=True), atol=2e-6)
    np.testing.assert_array_equal(doubled.view(np.uint8), (wide * 2).astype(doubled.dtype).view(np.uint8))


def test_accesses_across_rows_stay_in_the_inner_dim() -> None:
    """Values of rows have one stride along it: accesses of an odd dim that went on would write beside the result."""
    x = np.random.default_rng(6).standard_normal((6, 4, 3)).astype(np.float32).transpose(2, 1, 0)

    @wf.program
    def both(x: Any) -> Any:
        return wf.max(x, axis=1), x - wf.sum(x, axis=1, keepdims=True)

    with pytest.raises(wf.WarpfoldError, match="WF407: vector=2 along the kept axis does not fit this layout"):
        both(x, plan="vector=2")
    greatest, rest = both(x, plan="fast=kept")
    np.testing.assert_array_equal(greatest, x.max(axis=1))
    np.testing.assert_allclose(rest, x - x.sum(axis=1, keepdims=True), atol=1e-6)
