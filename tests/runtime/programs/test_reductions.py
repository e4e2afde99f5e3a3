"""Reductions and programs whose mask is one of bits, beside those whose mask is one of bools."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from covering import covering

import warpfold as wf
from warpfold.compiler.errors import ArgumentError, TraceError

RNG = np.random.default_rng(32)
X = RNG.standard_normal((3, 5, 70)).astype(np.float32)
MASK = RNG.random(X.shape) < 0.5
BOTH = [wf.pack(MASK), wf.pack(MASK, flat=True).view(np.int32)]
REDUCTIONS: list[tuple[str, dict[str, Any]]] = [
    ("sum", {}), ("sum", {"accumulate": "compensated"}), ("mean", {"dtype": "f64"}), ("max", {"initial": -9}),
    ("any", {}), ("count_nonzero", {}), ("mean_var", {"correction": 1}), ("logsumexp", {}), ("nansum", {}),
    ("norm", {"nan": "ignore"}),
]  # fmt: skip


def leaves(found: Any) -> list[Any]:
    return [*found] if isinstance(found, tuple) else [found]


@covering((("name", "params"), REDUCTIONS), ("axis", [None, -1, (0, 2)]))
def test_reductions_where_bits_are_set(name: str, params: dict[str, Any], axis: Any) -> None:
    expected = getattr(wf, name)(X, axis=axis, where=MASK, **params)
    for bits in BOTH:
        found = getattr(wf, name)(X, axis=axis, where=bits, **params)
        assert type(found).__name__ == type(expected).__name__
        for a, b in zip(leaves(found), leaves(expected), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("t", ["float16", "float64", "int8", "uint16", "bool", "complex64"])
def test_elements_of_any_type(t: str) -> None:
    x = (4 * X).astype(t)
    expected = wf.sum(x, axis=1, where=MASK)
    for bits in BOTH:
        found = wf.sum(x, axis=1, where=bits)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-3 if t == "float16" else 1e-5, atol=1e-5)


@covering(
    ("t", [np.float32, np.float16]),
    ("start", [0, 3]),
    (
        ("shape", "axis"),
        [((5, 1023), 1), ((40007,), None), ((300, 101), 0), ((2000, 37), 0), ((3, 70, 129), (0, 2)), ((64, 256), 1)],
    ),
)
def test_rows_and_columns_that_begin_anywhere(shape: tuple[int, ...], axis: Any, start: int, t: Any) -> None:
    x = RNG.integers(-9, 9, start + math.prod(shape)).astype(t)[start:].reshape(shape)  # sums are exact
    mask = RNG.random(shape) < 0.5
    expected = x.sum(axis=axis, where=mask, dtype=np.float64)
    for flat in (False, True):
        bits, elements = wf.pack(mask, flat=flat), mask.size if flat else shape[-1]
        bits[..., -1] |= np.uint32(0xFFFFFFFF << elements % 32 & 0xFFFFFFFF if elements % 32 else 0)
        assert np.array_equal(wf.sum(x, axis=axis, where=bits, dtype="f32"), expected)
        assert np.array_equal(wf.max(x, axis=axis, where=bits, initial=-9), x.max(axis, where=mask, initial=-9))


def test_large_ctas_that_read_bits_have_registers_for_their_masks() -> None:
    total = wf.program(lambda x, bits: wf.sum(x, where=bits))
    for t in (np.float32, np.float16):
        made = total.compile(np.zeros(1 << 27, t), np.zeros(1 << 22, np.uint32))  # whose memory nothing touches
        assert ".minnctapersm 3\n" in made.ptx


def test_a_mask_of_bits_takes_no_kernel_of_its_own() -> None:
    @wf.program
    def total(x: Any, bits: Any) -> Any:
        return wf.sum(x, where=bits)

    for n in (1 << 20, 1 << 20 | 5):
        (kernel,) = total.compile(((n,), "f32"), ((-(-n // 32),), "u32")).plans
        assert not kernel.resident


def test_words_are_broadcast_as_the_bools_are() -> None:
    for mask in (MASK[:1], MASK[1], MASK[:, :1, :], MASK[0]):
        expected = X.sum(axis=0, where=np.broadcast_to(mask, X.shape))
        np.testing.assert_allclose(wf.sum(X, axis=0, where=wf.pack(mask)), expected, rtol=1e-4, atol=1e-6)
    # words of one axis are those of all elements, not of a last axis
    row = wf.pack(MASK[0, 0])
    assert wf.sum(X[0, 0], where=row) == wf.sum(X[0, 0], where=MASK[0, 0])
    with pytest.raises(TraceError, match=r"WF289: bits have shape \(3,\): expected \(33,\) for truth values of shape"):
        wf.sum(X, where=row)


def test_two_arrays_a_users_function_out_and_keepdims() -> None:
    y, bits = X[::-1], BOTH[0]
    assert np.isclose(wf.reduce(X, y, what="dot", where=bits), (X * y).sum(where=MASK), rtol=1e-4)
    assert not wf.array_equal(X, np.where(MASK, X, 1), where=~bits)
    assert wf.array_equal(X, np.where(MASK, X, 1), where=bits)
    scale = 2.0

    def scaled(x: Any) -> Any:
        return wf.fold(wf.SUM, x * scale)

    assert np.isclose(wf.reduce(X, scaled, where=bits), 2 * X.sum(where=MASK), rtol=1e-4)
    scale = 3.0
    assert np.isclose(wf.reduce(X, scaled, where=bits), 3 * X.sum(where=MASK), rtol=1e-4)
    out = np.empty((3, 1, 70), np.float32)
    assert wf.sum(X, axis=1, keepdims=True, where=bits, out=out) is out
    np.testing.assert_allclose(out, X.sum(axis=1, keepdims=True, where=MASK), rtol=1e-4, atol=1e-5)
    segments = wf.segment_reduce(X, [0, 1, 3], "sum", where=bits)
    np.testing.assert_allclose(segments, [X[:1].sum(0, where=MASK[:1]), X[1:].sum(0, where=MASK[1:])], atol=1e-5)


@pytest.mark.parametrize("name", ["softmax", "softmin", "log_softmax", "standardize"])
def test_programs_of_the_library(name: str) -> None:
    program = getattr(wf, name)
    for bits in BOTH:
        assert np.array_equal(program(X, where=bits), program(X, where=MASK), equal_nan=True)


def test_the_words_in_a_program_are_those_of_its_argument() -> None:
    @wf.program
    def centred(x: Any, bits: Any) -> Any:
        return x - wf.mean(x, axis=-1, where=bits, keepdims=True)

    expected = X - X.mean(axis=-1, where=MASK, keepdims=True)
    for bits in BOTH:
        np.testing.assert_allclose(centred(X, bits), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: wf.sum(X, where=BOTH[0][..., :2]),
            TraceError,
            r"WF289: bits have shape \(3, 5, 2\): expected \(3, 5, 3\)",
        ),
        (lambda: wf.sum(X[0], where=BOTH[0]), TraceError, r"WF289: bits have shape \(3, 5, 3\): expected \(5, 3\)"),
        (lambda: wf.sum(X, where=MASK.astype(np.uint64)), ArgumentError, r"WF139: where= has elements of type u64"),
        (lambda: wf.sum(X, where=MASK.astype(np.uint32)), TraceError, r"WF289: bits have shape \(3, 5, 70\): expected"),
        (lambda: wf.max(X, where=BOTH[0]), ArgumentError, r"WF133: max has no identity: where= may leave"),
        (lambda: wf.sum(X, axis=3, where=BOTH[0]), ArgumentError, "WF101: axis 3"),
        (lambda: wf.sum(X, where=BOTH[0], keepdims="a"), ArgumentError, "WF138: keepdims cannot be 'a': expected True"),
        (lambda: wf.sum(X, where=np.repeat(BOTH[0], 2, -1)[..., ::2]), ArgumentError, "WF192: the words of bits in"),
        (lambda: wf.softmax(X, where=BOTH[1][1:]), TraceError, r"WF289: bits have shape \(32,\): expected \(33,\)"),
        (
            lambda: wf.softmax(X, where=X),
            TraceError,
            "WF246: a mask has elements of type f32: expected bools, or the words",
        ),
        (lambda: wf.unpack(BOTH[0], (3, 5, 70.5)), ArgumentError, r"WF129: .*70\.5"),
    ],
)
def test_mistakes(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()
