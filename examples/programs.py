"""Ten programs that people write kernels for by hand, as ordinary Python on whole arrays.

    warpfold run examples/programs.py:attention_weights --shape 64x128 --shape 128
    warpfold explain examples/programs.py:entropy --shape 4096x32000 --dtype bf16
    python examples/programs.py

Each becomes one kernel where a row, or a column, fits on a CTA or a cluster of CTAs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import warpfold as wf


# --- probabilities and logits --------------------------------------------------------------------------------------
@wf.program
def attention_weights(scores: Any, bias: Any, *, cap: float = 30.0) -> Any:
    """The softmax of scores that a tanh keeps below ``cap``, with a bias for positions."""
    return wf.softmax(cap * wf.tanh(scores / cap) + bias, axis=-1)


@wf.program
def entropy(logits: Any) -> Any:
    """The entropy of each row of logits, in nats: never 0 log 0, because probabilities stay logarithms."""
    log_p = wf.log_softmax(logits)
    return -wf.sum(wf.exp(log_p) * wf.maximum(log_p, -1e4), axis=-1)


@wf.program
def kl_divergence(teacher: Any, student: Any, *, temperature: float = 1.0) -> Any:
    """How far the distribution of each row of one array of logits is from that of another, as distillation needs it."""
    p, q = wf.log_softmax(teacher / temperature), wf.log_softmax(student / temperature)
    return wf.sum(wf.exp(p) * (p - q), axis=-1) * temperature**2


@wf.program
def z_loss(logits: Any, *, weight: float = 1e-4) -> Any:
    """The mean square of log(sum(exp(x))), which keeps the logits of a language model from drifting."""
    return weight * wf.mean(wf.square(wf.logsumexp(logits, axis=-1)))


@wf.monoid(identity=lambda first, second: (first.lowest, second.lowest))
def top_two(a: Any, b: Any) -> Any:
    """The two greatest elements."""
    return wf.maximum(a[0], b[0]), wf.maximum(wf.minimum(a[0], b[0]), wf.maximum(a[1], b[1]))


@wf.program
def margin(logits: Any) -> Any:
    """How far the best class of each row is ahead of the second: 0 for a tie, and no sort."""
    first, second = wf.fold(top_two, logits, -np.inf, axis=-1)
    return first - second


# --- norms and scales ----------------------------------------------------------------------------------------------
@wf.program
def residual_rms_norm(x: Any, residual: Any, gain: Any, *, scale: float = 0.5, eps: float = 1e-6) -> Any:
    """A step of a transformer: the scaled branch joins the stream, which is returned beside its norm times 1 + gain."""
    stream = residual + scale * x
    return {"normed": wf.rms_norm(stream, 1.0 + gain, eps=eps), "stream": stream}


@wf.program
def smoothed_int8(x: Any, factors: Any) -> Any:
    """Rows as int8 with a scale each, after columns of great magnitude were divided by their factors."""
    q, scale = wf.quantize(x / factors, "int8")
    return {"q": q, "scale": scale}


@wf.program
def standardized_columns(x: Any, *, eps: float = 1e-5) -> Any:
    """Every column of a table with mean 0 and variance 1."""
    mean, var = wf.mean(x, axis=0), wf.var(x, axis=0)
    return (x - mean) * wf.rsqrt(var + eps)


# --- comparisons and means -----------------------------------------------------------------------------------------
@wf.program
def cosine_similarity(x: Any, y: Any, *, eps: float = 1e-8) -> Any:
    """The cosine of the angle between the rows of two arrays: three sums from one read."""
    lengths = wf.norm(x, axis=-1) * wf.norm(y, axis=-1)
    return wf.vecdot(x, y, axis=-1) / wf.maximum(lengths, eps)


@wf.program
def pooled(tokens: Any, weights: Any, mask: Any) -> Any:
    """The weighted mean of the tokens of each text, without those that a mask leaves out."""
    share = wf.where(mask, weights, 0.0)[..., None]
    return wf.sum(wf.where(mask[..., None], tokens, 0.0) * share, axis=1) / wf.sum(share, axis=1)


def _main() -> None:
    """Calls each program on small arrays."""
    rng = np.random.default_rng(0)
    logits, other = (rng.normal(0, 3, (4, 100)).astype(np.float32) for _ in range(2))
    x, y = (rng.normal(0, 1, (6, 64)).astype(np.float32) for _ in range(2))
    gain = np.linspace(0, 1, 64, dtype=np.float32)
    print("attention weights ", attention_weights(logits, -0.1 * np.arange(100, dtype=np.float32))[0, :4].round(4))
    print("entropy           ", entropy(logits).round(3))
    print("KL divergence     ", kl_divergence(logits, other).round(3))
    print("z-loss            ", z_loss(logits).round(6))
    print("margin            ", margin(logits).round(3))
    print("normed, stream    ", *(v[0, 0].round(3) for v in residual_rms_norm(x, y, gain)))
    print("int8, scale       ", *(v[0, 0].round(4) for v in smoothed_int8(x, 1 + gain)))
    print("columns           ", standardized_columns(x)[:3, 0].round(3))
    print("cosines           ", cosine_similarity(x, y).round(3))
    tokens, mask = x.reshape(2, 3, 64), np.array([[True, True, False], [True, False, False]])
    print("pooled            ", pooled(tokens, np.ones((2, 3), np.float32), mask)[:, 0].round(3))


if __name__ == "__main__":
    _main()
