"""The programs of ``examples/programs.py`` beside NumPy, and what the file prints."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warpfold.runtime.programs.function import ArrayFunction

FILE = Path(__file__).parents[1] / "examples" / "programs.py"
PRINTED = """\
attention weights  [0.0204 0.0085 0.0779 0.0142]
entropy            [2.965 3.056 1.494 2.593]
KL divergence      [4.82  3.86  4.684 3.839]
z-loss             0.006621
margin             [0.126 0.507 0.931 0.085]
normed, stream     -1.107 -1.275
int8, scale        -65 0.0113
columns            [-0.224  1.859 -0.912]
cosines            [ 0.133  0.042 -0.268 -0.022  0.063 -0.008]
pooled             [-0.281 -0.438]
"""
RNG = np.random.default_rng(6)
Array = Any


def module() -> Any:
    spec = importlib.util.spec_from_file_location("example_programs", FILE)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


EXAMPLES = module()


def log_softmax(x: Array) -> Array:
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def rms(x: Array) -> Array:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)


def attention_weights(scores: Array, bias: Array) -> Array:
    return np.exp(log_softmax(30 * np.tanh(scores / 30) + bias))


def entropy(x: Array) -> Array:
    p = np.exp(log_softmax(x))
    return -(p * np.log(np.maximum(p, 1e-300))).sum(-1)


def kl_divergence(x: Array, y: Array) -> Array:
    return (np.exp(log_softmax(x)) * (log_softmax(x) - log_softmax(y))).sum(-1)


def z_loss(x: Array) -> Array:
    return 1e-4 * (np.log(np.exp(x).sum(-1)) ** 2).mean()


def margin(x: Array) -> Array:
    ordered = np.sort(x, -1)
    return ordered[:, -1] - ordered[:, -2]


def residual_rms_norm(x: Array, residual: Array, gain: Array) -> Array:
    stream = residual + 0.5 * x
    return rms(stream) * (1 + gain), stream


def smoothed_int8(x: Array, factors: Array) -> Array:
    y = x / factors
    scale = np.abs(y).max(-1, keepdims=True) / 127
    return np.rint(y / scale), scale


def standardized_columns(x: Array) -> Array:
    return (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5)


def cosine_similarity(x: Array, y: Array) -> Array:
    return (x * y).sum(-1) / (np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1))


def pooled(tokens: Array, weights: Array, mask: Array) -> Array:
    share = (weights * mask)[..., None]
    return (tokens * share).sum(1) / share.sum(1)


def normal(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


X, Y = normal(5, 70), normal(5, 70)
CASES: dict[Callable[..., Any], tuple[Array, ...]] = {
    attention_weights: (X * 20, Y), entropy: (X,), kl_divergence: (X, Y), z_loss: (X,), margin: (X,),
    residual_rms_norm: (X, Y, normal(70)), smoothed_int8: (X, 1 + np.abs(normal(70))), standardized_columns: (X,),
    cosine_similarity: (X, Y), pooled: (normal(2, 3, 70), np.abs(normal(2, 3)), np.array([[1, 1, 0], [1, 0, 1]], bool)),
}  # fmt: skip


def test_every_program_is_compared() -> None:
    programs = {name for name, value in vars(EXAMPLES).items() if isinstance(value, ArrayFunction)}
    assert programs == {f.__name__ for f in CASES}
    assert len(programs) == 10


@pytest.mark.parametrize("reference", CASES, ids=lambda f: f.__name__)
def test_results_are_those_of_numpy(reference: Callable[..., Any]) -> None:
    arrays = CASES[reference]
    found = getattr(EXAMPLES, reference.__name__)(*arrays)
    expected = reference(*(a if a.dtype == bool else a.astype(np.float64) for a in arrays))
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for got, wanted in pairs:
        np.testing.assert_allclose(np.asarray(got, np.float64), wanted, rtol=2e-5, atol=2e-6)


def test_a_tie_has_no_margin_and_impossible_classes_no_entropy() -> None:
    assert EXAMPLES.margin(np.array([[2.0, 1.0, 2.0]]))[0] == 0
    np.testing.assert_allclose(EXAMPLES.entropy(np.array([[0.0, -np.inf, 0.0]])), np.log(2))


def test_the_file_prints_its_results() -> None:
    done = subprocess.run([sys.executable, FILE], capture_output=True, text=True, check=True)
    assert done.stdout == PRINTED
