"""Measures reductions and programs on shards, on the GPUs of one host: microseconds a call, of calls in a row.

    torchrun --nproc-per-node 2 benchmarks/measure_shards.py benchmarks/results/shards-h100x2.json

Beside a call of all ranks stands the same call on one GPU: of the whole array where that is reduced, else of a shard of
the same shape. ``torch.nn.SyncBatchNorm`` is the peer of batch norm. ``shards_table.py`` writes the results into
docs/distributed.md.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.distributed as dist

import warpfold as wf
import warpfold.distributed as wd
from warpfold.commands.bench.provenance import machine
from warpfold.runtime.backends.cuda_backend import backend
from warpfold.runtime.distributed.group import Ranks

REDUCTIONS = ("sum", "argmax", "var", "logsumexp")
ELEMENTS = 1 << 30
CALLS, ROWS, WARM = 10, 7, 4
Call = Callable[..., Any]


def microseconds(call: Callable[[], Any]) -> float:
    """The median of rows of calls, each between two events; all ranks begin a row together."""
    for _ in range(WARM):
        call()
    gc.collect()
    gc.freeze()
    found = []
    for _ in range(ROWS):
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()
        begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
        begin.record()
        for _ in range(CALLS):
            call()
        end.record()
        torch.cuda.synchronize()
        found.append(begin.elapsed_time(end) / CALLS * 1e3)
    return round(median(found), 1)


def reductions() -> dict[str, dict[str, float]]:
    """Reductions of one array that ranks share out."""
    count = dist.get_world_size()
    shard = torch.randn(ELEMENTS // count, device="cuda")
    whole = torch.cat([shard, torch.randn(ELEMENTS - ELEMENTS // count, device="cuda")])
    found = {}
    for what in REDUCTIONS:
        check_same(wd.reduce(shard, what))
        found[what] = {
            "one": microseconds(lambda what=what: wf.reduce(whole, what)),
            "shard": microseconds(lambda what=what: wf.reduce(shard, what)),
            "ranks": microseconds(lambda what=what: wd.reduce(shard, what, check=False)),
        }
    own = torch.zeros(16, device="cuda", dtype=torch.uint8)
    all_of_them = own.new_empty(16 * count)
    found["gather"] = {"ranks": microseconds(lambda: Ranks.of(None).gather(all_of_them, own))}
    return found


def check_same(result: torch.Tensor) -> None:
    """Whether all ranks have the same bits."""
    others = [torch.empty_like(result) for _ in range(dist.get_world_size())]
    dist.all_gather(others, result)
    assert all(torch.equal(o, result) for o in others), "ranks have other bits"


def programs() -> dict[str, dict[str, dict[str, float]]]:
    """Programs of a shard alone and of all ranks, forward, and forward and backward."""
    found = {}
    half, device = torch.bfloat16, "cuda"
    target = torch.randint(0, 64000, (8192,), device=device)
    dist.broadcast(target, 0)
    found["cross entropy, bf16 8192 x 64000, classes cut"] = both(
        (8192, 64000), half, (), lambda x: wf.cross_entropy(x, target),
        lambda x: wd.cross_entropy(x, target, check=False),
    )  # fmt: skip
    found["softmax, bf16 8192 x 32768, rows cut into pieces"] = both(
        (8192, 32768), half, (), wf.softmax, lambda x: wd.softmax(x, check=False)
    )
    for name, shards in (("the width cut", -1), ("rows shared out", 0)):
        weights = [torch.randn(8192, device=device) for _ in range(2)]
        found[f"layer norm, bf16 16384 x 8192, {name}"] = both(
            (16384, 8192), half, weights, wf.layer_norm,
            lambda x, w, b, shards=shards: wd.layer_norm(x, w, b, shards=shards, check=False),
        )  # fmt: skip
    for dtype, name in ((torch.float32, "f32"), (half, "bf16")):
        running = torch.zeros(256, device=device), torch.ones(256, device=device)
        weights = [torch.ones(256, device=device), torch.zeros(256, device=device)]
        peer = torch.nn.SyncBatchNorm(256, device=device).train()
        found[f"batch norm, {name} 64 x 256 x 56 x 56"] = both(
            (64, 256, 56, 56), dtype, weights,
            lambda x, w, b, own=running: wf.batch_norm(x, *own, w, b, training=True).output,
            lambda x, w, b, own=running: wd.batch_norm(x, *own, w, b, training=True, check=False).output,
            lambda x, w, b, peer=peer: peer(x),  # noqa: ARG005
        )  # fmt: skip
    return found


def both(
    shape: tuple[int, ...], dtype: torch.dtype, weights: Any, alone: Call, ranks: Call, peer: Call | None = None
) -> dict[str, dict[str, float]]:
    """Times of calls of an array of this shape and ``weights``, which require gradients."""
    x = torch.randn(shape, device="cuda", dtype=dtype).requires_grad_()
    arrays = [x, *(w.requires_grad_() for w in weights)]
    found: dict[str, dict[str, float]] = {"forward": {}, "with the gradient": {}}
    for name, call in (("shard", alone), ("ranks", ranks), ("peer", peer)):
        if call is not None:
            dy = torch.ones_like(call(*arrays))
            found["forward"][name] = microseconds(lambda call=call: call(x.detach(), *arrays[1:]))
            found["with the gradient"][name] = microseconds(lambda call=call, dy=dy: step(call, arrays, dy))
            del dy
    return found


def step(call: Call, arrays: list[torch.Tensor], dy: torch.Tensor) -> None:
    """A call and its backward."""
    call(*arrays).backward(dy)
    for x in arrays:
        x.grad = None


def main() -> None:
    """Writes the results of rank 0 into the file that is named."""
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    facts = machine(backend(rank)) | {
        "gpus": dist.get_world_size(),
        "nccl": ".".join(map(str, torch.cuda.nccl.version())),
    }
    facts["torch"] = torch.__version__
    data = {"machine": facts, "reductions": reductions(), "programs": programs()}
    if rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
