"""The plans of gradients of batch norms, whose channels are columns."""

from __future__ import annotations

from typing import Any

import pytest

import warpfold as wf
from warpfold.compiler.dtypes import dtype
from warpfold.compiler.program.graph import walk
from warpfold.runtime.view import ArraySpec

IMAGES = ArraySpec((64, 256, 56, 56), (256 * 56 * 56, 1, 56 * 256, 256), 0, dtype("bf16"))
CHANNELS = ArraySpec((256,), (1,), 0, dtype("f32"))


@pytest.mark.parametrize("activation", [None, "relu"])
def test_the_statistics_of_a_gradient_are_two_sums_in_wide_accesses(activation: Any) -> None:
    """That of dy, and that of its product with the deviations: weights and reciprocal roots are factors of a column.

    One step before makes what takes several instructions a column, and one behind multiplies by what was taken out. It
    also makes what the elements read of their columns, so that the map computes no root.
    """

    def norm(x: Any, w: Any, b: Any) -> Any:
        return wf.batch_norm(x, weight=w, bias=b, training=True, activation=activation)

    gradient = wf.vjp(norm, results=3)
    kept = gradient.pair.kept((IMAGES, CHANNELS, CHANNELS), {})
    values = [ArraySpec((256,), (1,), 0, k.node.dtype) for k in kept]
    reads = IMAGES, None, None, IMAGES, CHANNELS, CHANNELS, *values
    steps = [s.prepared for s in gradient.pair.reader(len(values))._planned(reads, {}, "sm_90a").prepared.steps]
    _, fold, rows, elements = steps
    assert not any(e.op in ("rsqrt", "div") for e in walk(elements.program.outputs))
    assert (len(rows.program.outputs), len(elements.program.inputs)) == ((3, 9) if activation else (4, 7))
    assert [len(m.state) for m in fold.program.monoids] == [2]
    assert (fold.choice.plan.finish, fold.choice.plan.fast, fold.choice.plan.vector) == ("last_block", "kept", 4)
