"""Programs on shards: what every rank computes in ``on_ranks.py``, and the same of whole tensors by PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import warpfold as wf
import warpfold.distributed as wd
import warpfold.torch

HOW = {"device": "emulator"}
CUTS = (0, 5, 5, 12)
"""Where axes of 12 are cut for three ranks, of which the second has nothing."""
functional = torch.nn.functional
Axes = tuple[int | None, ...]


def numbers(*shape: int) -> torch.Tensor:
    return torch.tensor(np.random.default_rng(len(shape) + shape[-1]).standard_normal(shape).astype(np.float32))


X, W, B, TARGET = numbers(6, 12), numbers(12), numbers(12) + 1, torch.tensor([0, 11, 4, 5, 7, -100])
IMAGES = numbers(12, 3, 2)


def part(x: torch.Tensor, axis: int | None, rank: int) -> torch.Tensor:
    return x if axis is None else x.narrow(axis, CUTS[rank], CUTS[rank + 1] - CUTS[rank]).contiguous()


def normed(x: Any, w: Any, b: Any) -> Any:
    return torch.nn.functional.batch_norm(x, None, None, w[:3], b[:3], True)


def sync_norm(x: Any, w: Any, b: Any) -> Any:
    return wd.batch_norm(x, weight=w[:3], bias=b[:3], training=True, **HOW).output


@wf.program
def several(x: Any) -> Any:
    """Positions, a mean of all, and a fold that no cut crosses."""
    return wf.argmin(x), wf.argmax(x, axis=1), wf.mean(x), wf.argmin(x, axis=0)


@wf.program
def scaled(x: Any, s: Any) -> Any:
    """Three meetings: each sum needs the one before."""
    for _ in range(3):
        x = x - wf.sum(x, axis=1, keepdims=True) * s
    return x


GRADIENTS: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[torch.Tensor, ...], Axes, int | None]] = {
    "softmax": (lambda x, b: torch.softmax(x + b, 1), lambda x, b: wd.softmax(x, bias=b, **HOW), (X, B), (1, 0), 1),
    "cross_entropy": (
        lambda x: functional.cross_entropy(x, TARGET), lambda x: wd.cross_entropy(x, TARGET, **HOW), (X,), (1,), None,
    ),
    "layer_norm": (
        lambda x, w, b: functional.layer_norm(x, (12,), w, b), lambda x, w, b: wd.layer_norm(x, w, b, **HOW),
        (X, W, B), (1, 0, 0), 1,
    ),
    "rows": (
        lambda x, w: functional.rms_norm(x, (6,), w), lambda x, w: wd.rms_norm(x, w, shards=0, **HOW),
        (X.T.contiguous(), W[:6]), (0, None), 0,
    ),
    "batch_norm": (normed, sync_norm, (IMAGES, W, B), (0, None, None), 0),
}  # fmt: skip
"""By name: PyTorch's function, ours on shards, the whole tensors, how they are cut, and how the result is."""


def pulled(call: Callable[..., Any], tensors: list[torch.Tensor], out: int | None, rank: int | None) -> list[Any]:
    """The result of a call, and the gradients of its arguments, for gradients that are the numbers from 0 on."""
    own = [t.clone().requires_grad_() for t in tensors]
    y = call(*own)
    shape = y.shape if rank is None or out is None else [12 if a == out else n for a, n in enumerate(y.shape)]
    dy = torch.arange(float(np.prod(shape))).reshape(tuple(shape)) / 8 - 1
    y.backward(dy if rank is None else part(dy, out, rank))
    return [t.detach().numpy() for t in (y, *(x.grad for x in own))]


def cases(rank: int, group: Any) -> dict[str, Callable[[], Any]]:
    """What a rank computes; ``group`` has the ranks whose shards have elements."""
    own = {
        name: lambda ours=ours, ts=ts, axes=axes, out=out: tuple(
            pulled(ours, [part(t, a, rank) for t, a in zip(ts, axes, strict=True)], out, rank)
        )
        for name, (_, ours, ts, axes, out) in GRADIENTS.items()
    }
    x = part(X, 1, rank)
    portable = {"determinism": "portable", **HOW}
    other = X[:, : 3 + rank // 2]

    def running() -> Any:
        mean, var = torch.zeros(3), torch.ones(3)
        wd.batch_norm(part(IMAGES, 0, rank), mean, var, training=True, **HOW)
        return mean, var

    def module() -> Any:
        """A model whose batch norm is made a synchronised one by PyTorch, and then ours; in training, then in use."""
        model = torch.nn.Sequential(torch.nn.BatchNorm1d(3))
        model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
        assert warpfold.torch.replace_modules(model).swapped == {"0": "SyncBatchNorm"}
        trained = model(part(IMAGES, 0, rank))
        trained.backward(part(IMAGES, 0, rank).cos())
        rest = model[0].running_mean, model[0].running_var, model.eval()(IMAGES)
        return tuple(t.detach() for t in (trained, *rest, model[0].weight.grad, model[0].bias.grad))

    return {
        **own,
        "module": module,
        "several": lambda: wd.run(several, x, shards=1, **HOW),
        "scaled": lambda: wd.run(scaled, x, torch.tensor(0.25), shards={"x": 1}, **HOW),
        "running": running,
        "three": lambda: wd.layer_norm(x, **portable),
        "two": lambda: wd.layer_norm(x, group=group, **portable) if rank != 1 else x,
        "three reduced": lambda: wd.reduce(x, "var", axis=1, shards=1, **portable),
        "two reduced": lambda: wd.reduce(x, "var", axis=1, shards=1, group=group, **portable) if rank != 1 else x,
        "one extent": lambda: wd.log_softmax(X[:, 4 * rank : 4 * rank + 4], check=False, **HOW),
        "rank": lambda: wd.softmax(X if rank != 1 else W, **HOW, shards=1),
        "shape": lambda: wd.softmax(other.T, **HOW),
        "program": lambda: wd.run(wf.softmax if rank else wf.log_softmax, x, shards=1, **HOW),
        "lying": lambda: wd.run(wf.softmax, x, shards=0 if rank else 1, **HOW),
        "count": lambda: wd.run(wf.softmax, *(x, x)[: 1 + rank % 2], shards=1, **HOW),
        "gradients": lambda: wd.softmax(x.clone().requires_grad_(rank != 2), **HOW),
        "places": lambda: wd.run(wf.layer_norm, x, W[4 * rank : 4 * rank + 4], shards=(1, 0), **HOW),
        "whole": lambda: wd.run(wf.layer_norm, x, W, shards=1, **HOW),
    }
