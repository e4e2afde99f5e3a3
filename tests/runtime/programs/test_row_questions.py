"""Which rows are cut, and which are folded by themselves."""

from __future__ import annotations

from typing import Any

import warpfold as wf


def test_values_of_rows_are_one_reduction() -> None:
    """Also of elements and a value of each row, such as a target."""

    def total(x: Any) -> Any:
        return wf.sum(wf.exp(x - wf.max(x, axis=1, keepdims=True)), axis=1)

    rows, targets = ((64, 4096), "f32"), ((64,), "f32")
    for function, arrays in ((total, [rows]), (lambda x, t: total(x * t[:, None]), [rows, targets])):
        (step,) = wf.program(function)._planned(arrays, {}, "sm_90a").prepared.steps
        assert [m.name for m in step.prepared.program.monoids] == ["LOGSUMEXP"]


def test_a_step_whose_elements_another_step_reads_is_cut() -> None:
    """Bits of images lie along rows, and statistics along channels: one map writes the result and its bits."""
    images, channels = ((8, 4, 28, 28), "f32"), ((4,), "f32")

    def steps(**how: Any) -> list[int]:
        found = wf.batch_norm._planned((images, None, None, channels, channels), {"training": True, **how}, "sm_90a")
        return [len(s.step.outputs) for s in found.prepared.steps]

    assert len(steps()) == 1
    assert steps(activation="relu", keep="bits")[-1] == 2  # the output and its bits
    assert steps(activation="relu", keep="bits", determinism="portable")[-1] == 1


def test_a_step_of_few_elements_does_not_count_beside_large_ones() -> None:
    """Running statistics are a third step of a batch norm that is cut."""

    def steps(height: int) -> list[int]:
        images, channel = ((8, 4, height, 512), "f32"), ((4,), "f32")
        how = {"training": True, "activation": "relu", "keep": "bits"}
        arrays = (images, channel, channel, channel, channel)
        found = wf.batch_norm._planned(arrays, how | {"residual": images}, "sm_90a")
        return [len(s.step.outputs) for s in found.prepared.steps]

    assert steps(1024)[1:] == [2, 2]  # the running statistics; the output and its bits
    assert len(steps(64)) == 1  # a channel waits, and its bits are written with it
