"""Prepares a program case: its arrays, warpfold's calls, and the check of its results."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from ..inputs import SETS
from ..trial import Call, Trial
from . import ours
from .answers import answer, error_of
from .case import ProgramCase
from .inputs import inputs

CLEARING = 5e-12
"""Seconds for each byte that PyTorch gives back: the driver clears it, about 2.1 ms a GB, and kernels take a sixth
longer meanwhile."""


def trial(case: ProgramCase, device: str = "cuda") -> Trial:
    """A program case, ready; its arrays are PyTorch's.

    Args:
        case: the case.
        device: PyTorch's name of the device.
    """
    import torch

    _give_back(torch)
    sets = [inputs(torch, case, i, device) for i in range(SETS)]
    expected = answer(case, sets[0])

    def check(result: Any, own: bool) -> tuple[float, bool]:
        return error_of(case, expected, ours.results(result), sets[0], own)

    return Trial(sets, _calls(case, sets), check, copy(torch, case.nbytes, device))


def _give_back(torch: Any) -> None:
    """Gives PyTorch's unused memory back, which others may allocate, and waits until it is clear."""
    before = torch.cuda.memory_reserved()
    torch.cuda.empty_cache()
    time.sleep((before - torch.cuda.memory_reserved()) * CLEARING)


def _calls(case: ProgramCase, sets: Sequence[tuple[Any, ...]]) -> Sequence[Call] | str:
    """Warpfold's call for each set, or the name of the function that it lacks."""
    try:
        return [ours.call(case, arrays) for arrays in sets]
    except ours.LacksError as e:
        return str(e)


def copy(torch: Any, nbytes: int, device: Any) -> Call:
    """A copy that reads and writes ``nbytes`` in all, of random bytes: equal ones may be copied faster."""
    source = torch.empty(max(1, nbytes // 2), dtype=torch.uint8, device=device).random_()
    return partial(torch.empty_like(source).copy_, source)
