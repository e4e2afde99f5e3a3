"""The plans of gradients of batch norms, whose channels are columns."""

from __future__ import annotations

from typing import Any

import pytest

import warpfold as wf
from warpfold.compiler.dtypes import dtype
from warpfold.runtime.view import ArraySpec

IMAGES = ArraySpec((64, 256, 56, 56), (256 * 56 * 56, 1, 56 * 256, 256), 0, dtype("bf16"))
CHANNELS = ArraySpec((256,), (1,), 0, dtype("f32"))


@pytest.mark.parametrize(("activation", "vector"), [(None, 4), ("relu", 2)])
def test_wider_accesses_leave_registers_for_the_values_of_a_column(activation: Any, vector: int) -> None:
    def norm(x: Any, w: Any, b: Any) -> Any:
        return wf.batch_norm(x, weight=w, bias=b, training=True, activation=activation)

    gradient = wf.vjp(norm, results=3)
    kept = gradient.pair.kept((IMAGES, CHANNELS, CHANNELS), {})
    values = [ArraySpec((256,), (1,), 0, k.node.dtype) for k in kept]
    reads = IMAGES, None, None, IMAGES, CHANNELS, CHANNELS, *values
    planned = gradient.pair.reader(len(values))._planned(reads, {}, "sm_90a").prepared
    (fold,) = [s.prepared.choice.plan for s in planned.steps if s.prepared.choice.plan.finish == "last_block"]
    assert (fold.fast, fold.vector) == ("kept", vector)
