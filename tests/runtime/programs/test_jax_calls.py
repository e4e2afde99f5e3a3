"""Programs and reductions inside JAX's transformations, on the CPU: what JAX's own functions give."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.errors import WarpfoldError

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy

X = jnp.asarray(np.random.default_rng(0).standard_normal((4, 33)), jnp.float32)
W = jnp.linspace(0.5, 2.0, 33)
TARGET = jnp.arange(4)


def close(found: Any, right: Any) -> None:
    for f, r in zip(jax.tree.leaves(found), jax.tree.leaves(right), strict=True):
        assert (f.shape, f.dtype) == (r.shape, r.dtype)
        np.testing.assert_allclose(np.asarray(f), np.asarray(r), rtol=1e-5, atol=1e-5)


def ours(x: Any) -> Any:
    return (wf.softmax(x) * jnp.sin(x)).sum()


def theirs(x: Any) -> Any:
    return (jax.nn.softmax(x) * jnp.sin(x)).sum()


def normal(x: Any, w: Any) -> Any:
    return (x - x.mean(1, keepdims=True)) * jax.lax.rsqrt(x.var(1, keepdims=True) + 1e-5) * w


def test_in_jit_and_out_of_it() -> None:
    close(wf.softmax(X), jax.nn.softmax(X))
    close(jax.jit(wf.softmax)(X), jax.nn.softmax(X))
    close(jax.jit(lambda x: wf.softmax(2 * x, axis=0) + 1)(X), jax.nn.softmax(2 * X, axis=0) + 1)


def test_gradients_of_concrete_arrays_and_in_jit() -> None:
    close(jax.grad(ours)(X), jax.grad(theirs)(X))
    close(jax.jit(jax.grad(ours))(X), jax.grad(theirs)(X))
    of_norm = jax.jit(jax.grad(lambda x, w: (wf.layer_norm(x, weight=w) ** 3).sum(), (0, 1)))
    close(of_norm(X, W), jax.grad(lambda x, w: (normal(x, w) ** 3).sum(), (0, 1))(X, W))


def test_the_gradient_of_a_gradient() -> None:
    close(*(jax.grad(lambda x, f=f: jax.grad(f)(x)[0, :3].sum())(X) for f in (ours, theirs)))


def test_vmap() -> None:
    close(jax.vmap(wf.softmax)(X), jax.nn.softmax(X))


def test_losses_with_integers_for_targets() -> None:
    def right(x: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(x), TARGET[:, None], 1).mean()

    close(jax.jit(jax.value_and_grad(lambda x: wf.cross_entropy(x, TARGET)))(X), jax.value_and_grad(right)(X))
    of_both = jax.grad(lambda x, t: wf.cross_entropy(x, t), allow_int=True, argnums=(0, 1))(X, TARGET)
    assert of_both[1].dtype == jax.dtypes.float0


def test_reductions() -> None:
    close(jax.jit(lambda x: wf.sum(x, axis=1, keepdims=True))(X), X.sum(1, keepdims=True))
    close(jax.grad(lambda x: wf.logsumexp(x, axis=1).sum())(X), jax.nn.softmax(X))
    mask = X > 0
    close(jax.grad(lambda x: wf.sum(x * x, where=mask))(X), jnp.where(mask, 2 * X, 0))


def test_several_results_and_halves() -> None:
    half = X.astype(jnp.bfloat16)
    found, total = jax.jit(wf.add_rms_norm)(half, half)
    assert (found.dtype, total.dtype) == (half.dtype, half.dtype)
    close(total, half + half)


def test_a_mistake_in_a_call_has_its_code_and_line() -> None:
    with pytest.raises(WarpfoldError, match="WF254"):
        jax.jit(wf.layer_norm)(X, W[:5])


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("out= is given", lambda x: wf.softmax(x, out=x)),
        ("a result is of type i64", lambda x: wf.argmax(x, axis=1)),
        ("a check of values is asked for", lambda x: wf.cross_entropy(x, TARGET, check=True)),
    ],
)
def test_what_xla_cannot_do(text: str, call: Any) -> None:
    with pytest.raises(WarpfoldError, match=f"WF193: JAX traces an argument, and {text}"):
        jax.jit(call)(X)


def test_a_process_ends_while_xla_has_a_call_to_make() -> None:
    script = "import jax, warpfold as wf; y = jax.jit(wf.softmax)(jax.numpy.ones((64, 256)))"
    assert subprocess.run([sys.executable, "-c", script], timeout=120, check=False).returncode == 0
