"""What the processes of the tests here do: every case on every rank, results into one file a rank."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import mistakes_on_ranks
import numpy as np
import shards_on_ranks
import torch
import torch.distributed as dist

import warpfold as wf
import warpfold.distributed as wd
from warpfold.runtime.distributed.group import Ranks

HOW = {"device": "emulator"}
CUTS = (0, 5, 5, 12)
"""Where the array is cut for three ranks, of which the second has nothing."""
DEAD = 1
"""The rank that ends before the last call."""


@wf.monoid(identity=(1.0, 0.0), commutative=False)
def affine(f: Any, g: Any) -> Any:
    """The map of ``f``, then that of ``g``."""
    return f[0] * g[0], f[1] * g[0] + g[1]


def array() -> np.ndarray[Any, Any]:
    return np.random.default_rng(7).standard_normal((12, 6)).astype(np.float32)


def mine(x: np.ndarray[Any, Any], rank: int, axis: int = 0) -> torch.Tensor:
    part = x[CUTS[rank] : CUTS[rank + 1]] if axis == 0 else x[:, 2 * rank : 2 * rank + 2]
    return torch.tensor(np.ascontiguousarray(part))


def cases(x: np.ndarray[Any, Any], rank: int) -> dict[str, Callable[[], Any]]:
    own, columns = mine(x, rank), mine(x, rank, 1)
    other = torch.zeros(4, 6 + (rank == 2))
    return {
        "sum": lambda: wd.reduce(own, "sum", axis=0, **HOW),
        "argmax": lambda: wd.reduce(own, "argmax", **HOW),
        "var": lambda: wd.reduce(own, "var", axis=0, correction=1, keepdims=True, **HOW),
        "max": lambda: wd.reduce(own, "max", axis=0, **HOW),
        "affine": lambda: wd.reduce(own.double(), own.double(), what=affine, axis=0, **HOW),
        "several": lambda: wd.reduce(own, (wf.SUM, wf.ARGMIN), axis=0, **HOW),
        "kept": lambda: wd.reduce(columns, "sum", axis=0, shards=1, **HOW),
        "columns": lambda: wd.reduce(columns, "mean", axis=1, shards=1, **HOW),
        "scattered": lambda: wd.reduce(own, "sum", axis=0, scatter=0, **HOW),
        "where": lambda: wd.reduce(own, "mean", axis=0, where=own > 0, **HOW),
        "unchecked": lambda: wd.reduce(columns, "logsumexp", axis=1, shards=1, check=False, **HOW),
        "shapes": lambda: wd.reduce(other, "sum", axis=0, **HOW),
        "reductions": lambda: wd.reduce(own, "sum" if rank else "max", axis=0, **HOW),
        "types": lambda: wd.reduce(own.double() if rank == 2 else own, "sum", axis=0, **HOW),
        "scatters": lambda: wd.reduce(own, "sum", axis=0, scatter=None if rank == 1 else 0, **HOW),
        "functions": lambda: wd.softmax(own, **HOW) if rank == 2 else wd.reduce(own, "sum", axis=0, **HOW),
        "axes": lambda: wd.reduce(own, "sum", axis=0 if rank else (0, 1), **HOW),
        "refused": lambda: wd.reduce(own[0] if rank == 0 else own, "sum", axis=1, shards=1, **HOW),
        "order": lambda: wd.reduce(columns, "argmax", shards=1, **HOW),
        "parts": lambda: wd.reduce(columns, "sum", axis=1, shards=1, scatter=0, **{**HOW, "dtype": "f64"}),
        "uneven": lambda: wd.reduce(own[:, :4].contiguous(), "sum", axis=0, scatter=0, **HOW),
    }


def found(call: Callable[[], Any]) -> Any:
    """What a case gives, as arrays, or the text of its error."""
    try:
        got = call()
    except wf.WarpfoldError as e:
        return str(e)
    return tuple(np.asarray(r) for r in got) if isinstance(got, tuple) else np.asarray(got)


def counted(gathers: list[int]) -> None:
    """Counts what ranks gather."""
    plain = Ranks.gather

    def gather(self: Ranks, found: torch.Tensor, own: torch.Tensor) -> None:
        gathers.append(own.numel())
        plain(self, found, own)

    Ranks.gather = gather  # type: ignore[method-assign]


def main(rank: int, count: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=count, timeout=timedelta(seconds=120)
    )
    results = {name: found(call) for name, call in cases(array(), rank).items()}
    results["mistakes"] = mistakes_on_ranks.found(rank, count)
    gathers: list[int] = []
    counted(gathers)
    for name, call in shards_on_ranks.cases(rank, dist.new_group([0, 2])).items():
        gathers.clear()
        results[f"shards {name}"] = found(call), len(gathers)
    dist.barrier()
    if rank != DEAD:
        results["dead"] = found(lambda: wd.reduce(mine(array(), rank), "sum", axis=0, **HOW))
    Path(folder, f"rank{rank}").write_bytes(pickle.dumps(results))
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
