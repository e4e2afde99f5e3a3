"""Ops under ``torch.func.vmap``: a program with one more leading axis, which its function does not see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from ...compiler.program.arrays.batching import batched
from ...compiler.program.signatures import parameters, takes_array
from .arguments import POSITIONAL, is_array_argument
from .function import ArrayFunction
from .torch_calls import CALLS, structure_from
from .torch_gradients import Traced
from .torch_graphs import entry_of, labelled


def batching(traced: Traced) -> Callable[..., tuple[list[Any], list[int]]]:
    """The rule of an op for batches, of what makes a call of an entry by its op."""

    def rule(info: Any, in_dims: Any, tensors: Sequence[Any], text: str) -> tuple[list[Any], list[int]]:
        """The results of a call whose tensors have one more axis, and that axis in each."""
        along, _ = in_dims
        rows = [
            x.unsqueeze(0).expand(info.batch_size, *x.shape) if d is None else x.movedim(d, 0)
            for x, d in zip(tensors, along, strict=True)
        ]
        call = CALLS[text]
        own = call.symbolic(rows)
        places = {p.name: takes_array(p) for p in parameters(own.function) if p.kind in POSITIONAL}
        kinds = [*places.values(), *[True] * len(own.xs)]
        xs = [_repeated(x, info.batch_size, positional=array) for x, array in zip(own.xs, kinds, strict=False)]
        how = {name: _repeated(x, info.batch_size, positional=places.get(name, False)) for name, x in own.how.items()}
        found = traced(entry_of(_of_batches(own.function, own.label)), xs, {**how, **call.determinism})
        leaves: list[Any] = []
        call.structure = structure_from(found, leaves)
        return leaves, [0] * len(leaves)

    return rule


def _repeated(x: Any, count: int, *, positional: bool) -> Any:
    """An argument with a leading axis along which calls lie, if it is an array; tensors have theirs."""
    if isinstance(x, torch.Tensor) or not is_array_argument(x, positional=positional):
        return x
    own = np.asarray(x)
    return np.broadcast_to(own, (count, *own.shape))


@lru_cache(maxsize=1024)
def _of_batches(function: Callable[..., Any], text: str) -> ArrayFunction[..., Any]:
    """The program of a function of arrays with one more leading axis."""
    made: ArrayFunction[..., Any] = ArrayFunction(batched(function))
    if text:
        labelled(made, f"batches of {text}")
    return made
