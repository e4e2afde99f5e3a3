"""Bounds on the errors of programs: what a device computes is within them, and mistakes are beyond."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from array_programs import traced
from random_programs import random_program

import warpfold as wf
from warpfold.commands.checking import array_values, program_bounds, reference
from warpfold.commands.checking.program_bounds import bounded
from warpfold.compiler.dtypes import BF16, F8E4M3FN, F8E5M2, F16
from warpfold.compiler.program.cuts.cut import rewritten
from warpfold.compiler.program.library.programs.table import FUNCTIONS

RNG = np.random.default_rng(0)
X = RNG.standard_normal((6, 200)).astype(np.float32)
W = RNG.standard_normal(200).astype(np.float32)
DEEP = 12


def errors(function: Callable[..., Any], *arrays: Any, random: bool = True) -> Any:
    """The results of ``function`` in its own types, and in f64 with their bounds."""
    program = traced(function, *arrays)
    narrow = array_values.evaluate(program, arrays, np.float32)
    known = bounded(program, arrays, lambda _: DEEP, random=random)
    return [
        reference.compare(n.astype(o.dtype.numpy), k, o.dtype)
        for n, k, o in zip(narrow, known, program.outputs, strict=True)
    ]


PROGRAMS = {
    "softmax": (lambda x: FUNCTIONS["softmax"](x), X),
    "log_softmax": (lambda x: FUNCTIONS["log_softmax"](x, axis=0), X * 50),
    "layer_norm": (lambda x, w: FUNCTIONS["layer_norm"](x, w), X + 100, W),
    "rms_norm": (lambda x, w: FUNCTIONS["rms_norm"](x, w), X, W),
    "naive": (lambda x: wf.exp(x) / wf.sum(wf.exp(x), axis=-1, keepdims=True), X * 60),
    "ratio": (lambda x, w: (x - w) / wf.mean(x * w, axis=1, keepdims=True), X, W),
}


@pytest.mark.parametrize("random", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_arithmetic_in_f32_is_within_the_bounds(name: str, random: bool) -> None:
    function, *arrays = PROGRAMS[name]
    for check in errors(function, *arrays, random=random):
        assert check.passed
        assert check.unknown < check.reference.size // 2


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "rms_norm"])
@pytest.mark.parametrize("wrong", [lambda r: r * (1 + 2e-4), lambda r: r[::-1], lambda r: np.roll(r, 1, axis=1)])
def test_wrong_results_are_beyond_the_bounds(name: str, wrong: Any) -> None:
    function, *arrays = PROGRAMS[name]
    program = traced(function, *arrays)
    (known,) = bounded(program, arrays, lambda _: DEEP, random=True)
    good = known.value.astype(np.float32)
    assert reference.compare(good, known, program.outputs[0].dtype).passed
    assert not reference.compare(wrong(good).astype(np.float32), known, program.outputs[0].dtype).passed


@pytest.mark.parametrize("dtype", [F16, BF16])
def test_a_half_result_may_be_off_by_its_own_rounding(dtype: Any) -> None:
    x = X.astype(dtype.numpy)
    program = traced(FUNCTIONS["softmax"], x)
    (known,) = bounded(program, [x], lambda _: DEEP, random=True)
    rounded = known.value.astype(dtype.numpy)
    assert reference.compare(rounded, known, dtype).passed
    assert not reference.compare((known.value * (1 + 2.0**-6)).astype(dtype.numpy), known, dtype).passed


def test_results_that_nothing_rounds_are_exact() -> None:
    exact = traced(lambda x: (wf.argmax(x, axis=0), wf.max(x, axis=1), wf.where(x > 0, x, -1.0)), X)
    assert [k.error for k in bounded(exact, [X], lambda _: DEEP, random=True)] == [None] * 3


def test_a_value_beyond_its_type_is_infinite_as_on_a_device() -> None:
    x = np.array([[100.0, 1.0], [1.0, 2.0]], np.float32)
    (known,) = bounded(traced(lambda x: wf.exp(x) * 2.0, x), [x], lambda _: DEEP, random=False)
    assert np.isinf(known.value[0, 0])
    assert known.error is not None
    assert known.error[0, 0] == 0
    assert np.isfinite(known.error).all()


def test_a_sum_that_may_overflow_has_no_bound() -> None:
    x = np.array([[3e38, 3e38, -3e38], [1.0, 2.0, 3.0]], np.float32)
    (known,) = bounded(traced(lambda x: wf.sum(x, axis=1), x), [x], lambda _: DEEP, random=False)
    assert known.error is not None
    assert np.isinf(known.error).tolist() == [True, False]


def test_pieces_give_what_the_whole_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    programs = [traced(f, *arrays) for f, *arrays in PROGRAMS.values()]
    whole = [bounded(p, a, lambda _: DEEP, random=True) for p, (_, *a) in zip(programs, PROGRAMS.values(), strict=True)]
    monkeypatch.setattr(program_bounds, "PIECE", 500)
    for program, (_, *arrays), expected in zip(programs, PROGRAMS.values(), whole, strict=True):
        for found, known in zip(bounded(program, arrays, lambda _: DEEP, random=True), expected, strict=True):
            np.testing.assert_array_equal(found.value, known.value)
            np.testing.assert_allclose(found.error, known.error, rtol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_have_the_values_of_the_evaluator(seed: int) -> None:
    from random import Random

    made = random_program(Random(seed))
    program = traced(made, *made.arrays)
    known = bounded(program, made.arrays, lambda _: DEEP, random=True)
    for found, expected in zip(known, array_values.evaluate(program, made.arrays), strict=True):
        np.testing.assert_array_equal(found.value, expected)


def test_a_result_relative_to_a_maximum_of_one_pass_has_bounds() -> None:
    """Of a row that is cut, maximum and sum are one fold; whether the maximum is finite is no question of rounding."""
    program = rewritten(traced(FUNCTIONS["softmax"], X), lambda *_: False, lambda *_: False, portable=False)
    (known,) = bounded(program, [X], lambda _: DEEP, random=True)
    assert known.error is not None
    assert (known.error < 1e-5 * known.value.max()).all()


@pytest.mark.parametrize("sure", [True, False])
def test_bits_that_rounding_decides_may_be_otherwise(sure: bool) -> None:
    """The last word of each row has bits that belong to no element, and these are zero."""
    program = traced(lambda x: wf.pack(wf.exp(x) > (1.5 if sure else wf.exp(x))), X)
    (known,) = bounded(program, [X], lambda _: DEEP, random=True)
    assert reference.compare(known.value, known, program.outputs[0].stored).passed
    for bit, passes in ((0, not sure), (7, not sure), (8, False)):
        flipped = known.value.copy()
        flipped[2, -1] ^= np.uint32(1 << bit)
        check = reference.compare(flipped, known, program.outputs[0].stored)
        assert check.passed is passes
        assert check.unknown == passes


@pytest.mark.parametrize("dtype", [F8E4M3FN, F8E5M2])
def test_8_bit_floats_may_be_off_by_their_own_rounding(dtype: Any) -> None:
    x = np.concatenate([X * 50, X * 1e-3, X[:1] * 1e5])
    program = traced(lambda x: wf.cast(x * 1.1, dtype), x)
    (known,) = bounded(program, [x], lambda _: DEEP, random=True)
    rounded = np.clip(known.value, -float(dtype.highest), float(dtype.highest)).astype(dtype.numpy)
    assert reference.compare(rounded, known, dtype).passed
    wrong = (rounded.view(np.uint8) ^ 2).view(dtype.numpy)
    assert not reference.compare(wrong, known, dtype).passed
