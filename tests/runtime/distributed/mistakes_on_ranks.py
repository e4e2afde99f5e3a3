"""Mistakes that one rank makes while the others make the right call, and three right calls after each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import warpfold as wf
import warpfold.distributed as wd

HOW = {"device": "emulator"}
X = torch.arange(36.0).reshape(6, 6).sin()
TOTAL, ROWS, SOFT = X.sum(0), X.sum(1), torch.softmax(X, 1)
Case = Callable[[Any, Any, bool], Any]


def broken(x: Any) -> Any:
    return wf.fold(wf.SUM, x * (1 / 0))


def summed(x: Any, **how: Any) -> Any:
    return wd.reduce(x, "sum", **{"axis": 0, **HOW, **how})


def normed(x: Any, **how: Any) -> Any:
    return wd.run(wf.softmax, x, **{"shards": 1, **HOW, **how})


def with_nan(x: Any, wrong: bool) -> Any:
    return torch.where(x == x[0, 0], torch.nan, x) if wrong else x


@wf.program
def strict(x: Any) -> Any:
    """A fold of rows that are not cut, which elements make fail."""
    return wf.sum(x, axis=1, nan="raise")


def pulled(x: Any, shape: tuple[int, ...]) -> Any:
    normed(x.clone().requires_grad_()).backward(torch.ones(shape))


CASES: dict[str, Case] = {
    "axis": lambda x, _, wrong: summed(x, axis=5 if wrong else 0),
    "kept axis": lambda x, _, wrong: summed(x, axis=int(wrong)),
    "kept axis of others": lambda x, _, wrong: summed(x, axis=int(not wrong)),
    "shards": lambda x, _, wrong: summed(x, shards=None if wrong else 0),
    "shards that are missing": lambda _, y, wrong: wd.run(wf.softmax, y, **HOW) if wrong else normed(y),
    "gradients": lambda x, _, wrong: summed(x.clone().requires_grad_(wrong)),
    "meta": lambda x, _, wrong: summed(x.to("meta") if wrong else x),
    "meta in a program": lambda _, y, wrong: normed(y.to("meta") if wrong else y),
    "sparse": lambda x, _, wrong: summed(x.to_sparse() if wrong else x),
    "another function": lambda x, _, wrong: normed(x, shards=0) if wrong else summed(x),
    "nothing": lambda x, _, wrong: wd.reduce() if wrong else summed(x),
    "a keyword": lambda x, _, wrong: summed(x, corection=1) if wrong else summed(x),
    "a mask": lambda x, _, wrong: summed(x, where=torch.ones(7 if wrong else 6) > 0),
    "a NaN": lambda x, _, wrong: summed(with_nan(x, wrong), nan="raise"),
    "a NaN in kept rows": lambda x, _, wrong: summed(with_nan(x, wrong), axis=1, nan="raise"),
    "a NaN in parts": lambda x, _, wrong: summed(with_nan(x, wrong), nan="raise", scatter=0),
    "a NaN, unchecked": lambda x, _, wrong: summed(with_nan(x, wrong), nan="raise", check=False),
    "a NaN in a program": lambda x, _, wrong: wd.run(strict, with_nan(x, wrong), shards=0, **HOW),
    "a GPU that is not there": lambda _, y, wrong: normed(y, shards=0, device="cuda" if wrong else "emulator"),
    "out": lambda _, y, wrong: normed(y, out=torch.empty(y.shape) if wrong else None),
    "out of a wrong type": lambda _, y, wrong: normed(y, out=torch.empty(y.shape, dtype=torch.int8 if wrong else None)),
    "out of a wrong shape": lambda _, y, wrong: normed(y, out=torch.empty(9) if wrong else torch.empty(y.shape)),
    "group": lambda x, _, wrong: summed(x, group=[0] if wrong else None),
    "a function that fails": lambda x, _, wrong: wd.reduce(x, broken if wrong else "sum", axis=0, **HOW),
    "a gradient": lambda _, y, wrong: pulled(y, (9, 9) if wrong else y.shape),
}
"""By name what a rank calls with its rows and its columns of ``X``, whether it makes the mistake or not."""


def code(call: Callable[[], Any]) -> str:
    """The code of the error that a call ends in; the type of one that has none; nothing where it ends well."""
    try:
        call()
    except wf.WarpfoldError as e:
        return e.code
    except Exception as e:
        return type(e).__name__
    return ""


def right(x: Any, y: Any, rank: int) -> bool:
    """Whether three calls give the numbers of the whole array."""
    at = slice(2 * rank, 2 * rank + 2)
    found = summed(x), normed(y), summed(x, axis=1)
    return all(
        np.allclose(a, b, rtol=1e-5, atol=1e-6) for a, b in zip(found, (TOTAL, SOFT[:, at], ROWS[at]), strict=True)
    )


def found(rank: int, count: int) -> dict[tuple[str, int], tuple[str, bool]]:
    """For each mistake and the rank that makes it: the code of this rank's error, and whether later calls are right."""
    at = slice(2 * rank, 2 * rank + 2)
    x, y = X[at], X[:, at].contiguous()
    return {
        (name, wrong): (code(lambda c=case, w=wrong: c(x, y, w == rank)), right(x, y, rank))
        for name, case in CASES.items()
        for wrong in range(count)
    }
