"""Sizes and strides are run-time arguments: a thousand arrays of one function and type cause few compilations.

Their number follows from the classes of the planner. Narrow elements have more classes, because they are also read by
half accesses, and by words in a copy. The limits leave room for two or three more, so a class that costs many is
noticed.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.runtime import cache
from warpfold.runtime.backends.emulator_backend import EmulatorBackend


def arrays(count: int) -> Any:
    """Arrays of ranks 1 to 6 and up to 2^20 elements, and axes."""
    source = random.Random(11)
    for _ in range(count):
        rank = source.randint(1, 6)
        shape = tuple(int(2 ** source.uniform(0, 20 / rank)) + source.randint(0, 1) for _ in range(rank))
        order = source.sample(range(rank), rank) if source.random() < 0.3 else range(rank)
        axes = tuple(a for a in range(rank) if source.random() < 0.5) or (rank - 1,)
        yield shape, tuple(order), axes, source.choice([0, 0, 0, 1, 3])


@pytest.mark.parametrize(("name", "kind", "most"), [("sum", np.float32, 60), ("argmax", np.float16, 78)])
def test_many_arrays_cause_few_compilations(name: str, kind: Any, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are compiled as usual; only their launches are left out."""
    made: list[str] = []
    put = cache.put
    monkeypatch.setattr(cache, "put", lambda found: (made.append(found.key), put(found)))
    monkeypatch.setattr(cache, "get", lambda key, _expected: cache._memory.get(key))
    monkeypatch.setattr(EmulatorBackend, "launch", lambda *_: None)
    cache.clear_memory()
    memory = np.zeros((1 << 22) + 16, kind)
    for shape, order, axes, start in arrays(400):
        laid = [shape[a] for a in order]
        x = memory[start : start + int(np.prod(laid))].reshape(laid).transpose(np.argsort(order))
        getattr(wf, name)(x, axes, device="emulator")
    assert 1 < len(made) <= most, f"{len(made)} compilations"
    assert len(set(made)) == len(made)
