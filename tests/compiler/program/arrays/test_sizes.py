"""Symbolic sizes: run-time values of a program, until the function decides by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from array_programs import expect_equal, traced

import warpfold as wf
from warpfold.compiler.dtypes import F32, F64
from warpfold.compiler.program.graph import walk

X = np.random.default_rng(7).standard_normal((4, 5))
SQUARE = X[:, :4]


def scaled(x: Any) -> Any:
    n, m = x.shape
    return x / n + (m - 1) * x - x.size // 3 + x * n**0.5 + n % 3 + (2 - m) + -n + x * m * n + 7 / m + n**2


def test_arithmetic_with_sizes() -> None:
    program = expect_equal(scaled, scaled, X)
    assert program.sizes == ()


def test_the_number_of_elements_counts_all_dims() -> None:
    program = traced(lambda x: x / x.size, X)
    assert [e.value for e in walk(program.roots) if e.op == "count"] == [3]
    assert traced(lambda x: x / (x.shape[0] * x.shape[1]), X).digest == program.digest


def test_a_size_is_as_weak_as_a_python_number() -> None:
    assert traced(lambda x: x * x.shape[0], X.astype(np.float32)).outputs[0].dtype == F32
    assert traced(lambda x: x * x.shape[0] ** -0.5, X.astype(np.float32)).outputs[0].dtype == F32
    assert traced(lambda x: x * x.shape[0] ** -0.5, np.ones((4, 5), np.int32)).outputs[0].dtype == F64


def test_an_axis_of_size_1_is_a_number() -> None:
    program = traced(lambda x: x if x.shape[0] == 1 else -x, X[:1])
    assert program.sizes == ()


@pytest.mark.parametrize(
    "look",
    [
        lambda n: math.sqrt(n), lambda n: n > 3, lambda n: n == 4, lambda n: n != 3, bool, int, float,
        lambda n: len(range(n)), lambda n: [0, 1, 2, 3, 4][n], lambda n: {4: 1}[n], lambda n: round(n),
        lambda n: (n * 2 - 1) < 10,
    ],
)  # fmt: skip
def test_a_decision_specialises_the_program(look: Any) -> None:
    program = expect_equal(lambda x: x * look(x.shape[0]), lambda x: x * look(x.shape[0]), X)
    assert program.sizes == ((0, 0, 4),)


def test_the_length_is_a_decision() -> None:
    assert traced(lambda x: x * len(x), X).sizes == ((0, 0, 4),)


def test_sizes_of_one_dim_are_equal_without_a_look() -> None:
    def function(x: Any, y: Any) -> Any:
        z = x + y
        return z if x.shape == y.shape else -z

    assert traced(function, X, X).sizes == ()
    assert traced(lambda x, y: x * (x.shape[0] == y.shape[0]), X, X).sizes == ((0, 0, 4), (1, 0, 4))


def test_a_program_of_other_sizes_has_the_same_digest() -> None:
    def function(x: Any, w: Any) -> Any:
        return scaled(x) * w - wf.mean(x, axis=-1, keepdims=True), wf.argmax(x, axis=0)

    digests = {traced(function, np.ones((n, m)), np.ones(m)).digest for n, m in ((4, 5), (300, 7), (4, 4), (0, 2))}
    assert len(digests) == 1
    assert traced(function, np.ones((1, 5)), np.ones(5)).digest not in digests
    assert traced(function, np.ones((4, 5)), np.ones(1)).digest not in digests


def test_a_decision_is_part_of_the_digest() -> None:
    first, second = (traced(lambda x: x * float(x.shape[0] > 2), np.ones((n, 3))) for n in (4, 5))
    assert first.digest != second.digest


def test_a_size_prints_as_its_number() -> None:
    seen = []
    program = traced(lambda x: seen.append(f"{x.shape} {x}") or x, SQUARE)
    assert seen == ["(4, 4) SymArray(input: f64[4, 4])"]
    assert program.sizes == ()


def test_no_arithmetic_with_what_is_no_number() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        traced(lambda x: x * (x.shape[0] + "1"), X)
