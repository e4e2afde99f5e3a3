"""Functions written for the Array API standard trace as they are: our own, SciPy's, and every name alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import array_api_table
import numpy as np
import pytest
from array_programs import expect_equal, traced

from warpfold.compiler.errors import TraceAttributeError
from warpfold.compiler.program.arrays import namespace
from warpfold.compiler.program.public_names import STANDARD

RNG = np.random.default_rng(13)
X = RNG.standard_normal((4, 5))
UNIT = RNG.uniform(-0.9, 0.9, (4, 5))


def standardize(x: Any, axis: int = -1, eps: float = 1e-5) -> Any:
    """A function of the standard that knows nothing of us."""
    xp = x.__array_namespace__()
    if not xp.isdtype(x.dtype, "real floating"):
        x = xp.astype(x, xp.float64)
    mean = xp.mean(x, axis=axis, keepdims=True)
    deviation = xp.sqrt(xp.var(x, axis=axis, keepdims=True) + xp.asarray(eps, dtype=x.dtype))
    return xp.divide(x - mean, deviation)


def masked_softmax(x: Any, lengths: Any) -> Any:
    """Another one: the softmax of the first elements of each row, 0 beyond."""
    xp = x.__array_namespace__()
    inside = xp.arange(x.shape[-1])[None, :] < lengths[:, None]
    logits = xp.where(inside, x, xp.full_like(x, -xp.inf))
    exponentials = xp.exp(logits - xp.max(logits, axis=-1, keepdims=True))
    return exponentials / xp.sum(exponentials, axis=-1, keepdims=True)


def test_functions_of_the_standard() -> None:
    expect_equal(standardize, standardize, X)
    expect_equal(standardize, standardize, np.arange(20).reshape(4, 5) % 7)
    expect_equal(masked_softmax, masked_softmax, X, np.array([1, 5, 2, 3]))


def test_scipys_functions() -> None:
    """In a process of its own: SciPy asks the environment when it is imported."""
    pytest.importorskip("scipy", reason="SciPy is not installed")
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "import numpy as np, scipy.special as s\n"
        "from array_programs import expect_equal\n"
        "x = np.random.default_rng(0).standard_normal((4, 5))\n"
        "for f in (s.softmax, s.log_softmax, s.logsumexp):\n"
        "    for axis in (None, 0, -1, (0, 1)):\n"
        "        expect_equal(lambda x: f(x, axis=axis), lambda x: f(x, axis=axis), x)\n"
    )
    helpers = str(Path(__file__).parents[2])
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-c", code, helpers]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


UNARY = (
    "abs", "acos", "asin", "asinh", "atan", "atanh", "ceil", "conj", "cos", "cosh", "exp", "expm1", "floor", "isfinite",
    "isinf", "isnan", "logical_not", "negative", "positive", "real", "reciprocal", "round", "sign", "signbit", "sin",
    "sinh", "square", "tan", "tanh", "trunc",
)  # fmt: skip
BINARY = (
    "add", "atan2", "copysign", "divide", "equal", "floor_divide", "greater", "greater_equal", "hypot", "less",
    "less_equal", "logaddexp", "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "multiply",
    "not_equal", "remainder", "subtract",
)  # fmt: skip
INTEGER = ("bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor")


def call(name: str) -> Any:
    return lambda *xs, **how: getattr(xs[0].__array_namespace__(), name)(*xs, **how)


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_array(name: str) -> None:
    x = np.concatenate([UNIT.ravel(), [0.0, -0.0, 0.5]])
    expect_equal(call(name), call(name), x[:-3] if name == "reciprocal" else x)


@pytest.mark.parametrize("name", ["acosh", "log", "log10", "log1p", "log2", "sqrt"])
def test_functions_of_positive_numbers(name: str) -> None:
    expect_equal(call(name), call(name), abs(X) + 1)


@pytest.mark.parametrize("name", ["asinh", "acosh", "atanh", "hypot"])
def test_great_and_special_numbers(name: str) -> None:
    x = np.array([1e300, 1e30, 1.0, 2.0**28, np.inf, np.nan])
    arrays = (x, x[::-1].copy()) if name == "hypot" else (x,)
    expect_equal(call(name), call(name), *arrays)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arrays(name: str) -> None:
    expect_equal(call(name), call(name), X, UNIT[0])


@pytest.mark.parametrize("name", INTEGER)
def test_functions_of_integers(name: str) -> None:
    x, y = RNG.integers(0, 99, (4, 5)), RNG.integers(0, 9, 5)
    expect_equal(call(name), call(name), x, y)
    expect_equal(call("bitwise_invert"), call("bitwise_invert"), x)


def test_powers() -> None:
    expect_equal(call("pow"), call("pow"), abs(X), UNIT)


def test_bounds() -> None:
    expect_equal(lambda x: call("clip")(x, -0.5, 0.5), lambda x: np.clip(x, -0.5, 0.5), X)
    expect_equal(lambda x: call("clip")(x, max=0.5), lambda x: np.minimum(x, 0.5), X)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "max", "min", "any", "all", "count_nonzero"])
def test_reductions_of_the_standard(name: str) -> None:
    expect_equal(
        lambda x: call(name)(x, axis=(0,), keepdims=True), lambda x: call(name)(x, axis=(0,), keepdims=True), X
    )


@pytest.mark.parametrize("name", ["sum", "mean", "max", "argmin", "any", "std"])
def test_methods(name: str) -> None:
    expect_equal(lambda x: getattr(x, name)(axis=1), lambda x: getattr(x, name)(axis=1), X)


def test_products_along_an_axis() -> None:
    expect_equal(lambda x, y: call("vecdot")(x, y, axis=0), lambda x, y: np.vecdot(x, y, axis=0), X, UNIT)
    expect_equal(call("vecdot"), np.vecdot, X, UNIT)


def test_each_name_of_the_standard_is_there_or_has_a_reason() -> None:
    missing = [name for names in array_api_table.REASONS.values() for name in names]
    assert sorted(missing) == sorted(set(array_api_table.standard()) - set(dir(namespace)))


def test_every_listed_name_is_there() -> None:
    assert all(hasattr(namespace, name) for name in dir(namespace))


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("matmul", r"wf.vecdot\(x, y\) sums products along an axis"),
        ("maximun", "did you mean maximum"),
        ("quantile", r"wf.topk\(x, k\) gives up to 16 elements, sorted"),
        ("concat", r"\n.*help: warpfold moves no elements: call it of NumPy, .* before"),
    ],
)
def test_a_missing_name_says_what_to_write(name: str, remedy: str) -> None:
    with pytest.raises(
        TraceAttributeError, match=f"(?s)WF264: the namespace of symbolic arrays has no {name}.*{remedy}"
    ):
        traced(lambda x: getattr(x.__array_namespace__(), name)(x), X)


def test_python_finds_what_it_asks_of_a_module() -> None:
    assert not hasattr(namespace, "__path__")


def test_messages_name_every_function_of_the_namespace() -> None:
    assert set(STANDARD) == {name for name in namespace.__all__ if callable(getattr(namespace, name))}
