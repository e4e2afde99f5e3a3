"""Which ranks do not answer, where a call of all ranks has failed on those that do."""

from __future__ import annotations

import time
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d

WAIT = 2.0
"""Seconds in which the other ranks may say that the call failed for them, too."""
_STEP = 0.02
_KEY = "warpfold/waited"


def waited_for(group: Any) -> str:
    """For whom this rank waited in vain, in words: of the ranks of ``group`` those that do not say that they did, too.

    They say so in the store by which the processes met, which lives as long as the process that began it.
    """
    try:
        store = distributed_c10d._get_default_store()
        ranks = [dist.get_global_rank(group or dist.group.WORLD, r) for r in range(dist.get_world_size(group))]
        store.set(f"{_KEY}/{dist.get_rank()}", "1")
        end = time.monotonic() + WAIT
        while (silent := [r for r in ranks if not store.check([f"{_KEY}/{r}"])]) and time.monotonic() < end:
            time.sleep(_STEP)
    except (AttributeError, RuntimeError, ValueError):  # another PyTorch, or the store has gone
        return "the others, of which one does not answer"
    if not silent:
        return "the others, for whom the call failed, too"
    *names, last = (str(ranks.index(r)) for r in silent)
    if not names:
        return f"rank {last}, which does not answer"
    return f"ranks {', '.join(names)} and {last}, which do not answer"
