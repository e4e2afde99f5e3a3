"""Plans of programs: few kernels for many sizes, buffers that do not overlap, options of the steps that fold."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import numpy as np
import pytest
from made import batch_norm, layer_norm, softmax

import warpfold as wf
from warpfold.runtime.prepare import artifact
from warpfold.runtime.programs.plans import PreparedProgram


def _prepared(program: Any, *shapes: tuple[int, ...], dtype: str = "f32", **how: Any) -> PreparedProgram:
    return program._planned([(shape, dtype) for shape in shapes], how, "sm_90a").prepared  # type: ignore[no-any-return]


def test_calls_of_many_sizes_share_kernels() -> None:
    rng, keys = Random(1), set()
    for _ in range(200):
        shape = (rng.randint(2, 5000), rng.randint(2, 9000))
        keys.update(s.prepared.key for s in _prepared(softmax, shape).steps)
    assert len(keys) <= 60


def test_a_cut_keeps_finished_values_of_each_row() -> None:
    found = _prepared(batch_norm, (1024, 4, 128, 128), (4,))
    assert [len(s.step.program.reduces) for s in found.steps] == [1, 0]
    assert found.steps[0].elements == 1024 * 128 * 128
    assert [b.dims for b in found.cut.buffers] == [(1,)] * len(found.cut.buffers)


@pytest.mark.parametrize("shape", [(64, 3, 224, 224), (1024, 16, 32, 32), (8, 4096, 7, 7), (256, 64, 56, 56)])
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_few_channels_have_many_ctas(shape: tuple[int, ...], dtype: str) -> None:
    """Those that fold the channels, and those that write the results, fill a GPU of 132 multiprocessors."""
    for own in _prepared(wf.batch_norm, shape, dtype=dtype, training=True).steps:
        run = own.prepared.choice.run
        assert run.tiles * run.split >= 128


@pytest.mark.parametrize(("columns", "phases"), [(12288, 2), (65536, 1)])
def test_a_cluster_meets_once(columns: int, phases: int) -> None:
    for program, more in ((softmax, ()), (layer_norm, ((columns,), (columns,)))):
        (step,) = _prepared(program, (1000, columns), *more).steps
        assert (len(step.prepared.program.reduces), step.prepared.choice.plan.cluster > 1) == (phases, phases == 1)


def test_a_bias_that_begins_anywhere_is_read_by_code_without_a_loop() -> None:
    (step,) = _prepared(wf.program(lambda x, b: softmax(x + b)), (600, 40001), (40001,), dtype="bf16").steps
    assert step.prepared.choice.facts.access[1] == "unaligned"
    assert not step.prepared.choice.facts.walked
    assert artifact(step.prepared)


def test_buffers_do_not_overlap() -> None:
    rows = wf.program(lambda x: (x - wf.mean(x, axis=0)) / (wf.std(x, axis=0) + wf.max(x, axis=0)))
    found = _prepared(rows, (1 << 23, 999))
    ends = [o + b.dtype.itemsize * 999 for o, b in zip(found.buffers, found.cut.buffers, strict=True)]
    assert len(ends) > 1
    assert all(o % 256 == 0 for o in found.buffers)
    assert all(end <= start for end, start in zip(ends, found.buffers[1:], strict=False))
    assert found.nbytes >= max(ends, default=0)


def test_options_are_those_of_the_steps_that_fold() -> None:
    found = _prepared(softmax, (2, 1 << 25), plan="warps=4,warps_kept=1")
    assert [s.prepared.choice.plan.warps for s in found.steps] == [4, 8]
    found = _prepared(wf.program(lambda x: x * 2.0), (4, 512), plan="vector=2")
    assert [s.prepared.choice.plan.vector for s in found.steps] == [2]


def test_narrow_integers_are_added_in_32_bits_while_these_hold_the_sum() -> None:
    total = wf.program(lambda x: wf.sum(x, axis=-1))
    few, many = (_prepared(total, (4, n), dtype="int8").steps[0].prepared.program for n in (100, 1 << 25))
    assert [few.states[0].name, many.states[0].name] == ["i32", "i64"]
    x = np.full((2, 100), -128, np.int8)
    np.testing.assert_array_equal(total(x), x.sum(1))


def _roles(function: Any, *arrays: Any) -> tuple[tuple[int, ...], tuple[int, ...], str]:
    """The kept and the reduced dims of a step without a fold, and the axis of its accesses."""
    (found,) = wf.program(function)._planned(arrays, {}, "sm_90a").prepared.steps
    return found.step.kept, found.step.reduced, found.prepared.choice.plan.fast


def test_dims_lie_as_the_arrays_do() -> None:
    """Of an NHWC array the channels are innermost. Threads go along the other dims where weights vary along few."""

    def scaled(x: Any, w: Any) -> Any:
        return x * w[:, None, None]

    x = np.zeros((2, 5, 6, 8), np.float32).transpose(0, 3, 1, 2)
    assert _roles(scaled, x, np.zeros(8, np.float32)) == ((1,), (0, 2, 3), "kept")
    assert _roles(scaled, np.ascontiguousarray(x), np.zeros(8, np.float32)) == ((0, 1), (2, 3), "reduced")
    long = np.zeros((2, 30, 30, 512), np.float32).transpose(0, 3, 1, 2)
    assert _roles(scaled, long, np.zeros(512, np.float32)) == ((0, 2, 3), (1,), "reduced")


def test_threads_go_along_the_dims_inside_of_that_of_an_array_across() -> None:
    x, y = np.zeros((3, 40, 50), np.float32), np.zeros((3, 50, 40), np.float32)
    added = lambda x, y: x + y  # noqa: E731
    assert _roles(added, x, y.transpose(0, 2, 1)) == ((0, 1), (2,), "kept")
    assert _roles(added, x, np.zeros((40, 50, 3), np.float32).transpose(2, 0, 1)) == ((0,), (1, 2), "reduced")
    four = np.zeros((40, 50, 4), np.float32).transpose(2, 0, 1)
    assert _roles(added, np.zeros((4, 40, 50), np.float32), four) == ((0,), (1, 2), "kept")
    assert _roles(added, x, x)[1] == (0, 1, 2)


def test_one_kernel_serves_any_weights() -> None:
    with_both, with_one = _prepared(layer_norm, (64, 512), (512,), (512,)), _prepared(layer_norm, (64, 512), (512,))
    assert len(with_both.steps) == len(with_one.steps) == 1


def _images(n: int, arch: str = "sm_90a", plan: str = "") -> PreparedProgram:
    """The steps of a batch norm of images, channels innermost, with a ReLU."""
    how = {"training": True, "activation": "relu", "channel_axis": 3, "plan": plan}
    return wf.batch_norm._planned([((n, 56, 56, 256), "bf16")], how, arch).prepared  # type: ignore[attr-defined,no-any-return]


def test_a_step_waits_for_the_one_before_it_and_then_reads() -> None:
    """It would read buffers that are not yet written. Where kernels cannot begin early, none waits."""
    first, second = _images(64).steps
    assert "griddepcontrol" not in artifact(first.prepared).ptx
    before, _, after = artifact(second.prepared).ptx.partition("griddepcontrol.wait")
    assert not re.search(r"\b(ld|st)\.global", before)
    assert re.search(r"\bld\.global", after)
    assert not any(s.prepared.choice.facts.follows for s in _images(64, "sm_80").steps)


def test_elements_that_a_fold_has_read_stay_in_the_cache() -> None:
    """The last step reads them again: its results do not take their place. With few kernels one serves all sizes."""
    assert [s.prepared.choice.facts.streams for s in _images(64).steps] == [False, True]
    assert not any(s.prepared.choice.facts.streams for s in _images(64, plan="few").steps)
    ptx = artifact(_images(64).steps[-1].prepared).ptx
    for access in ("ld.global.nc", "st.global"):
        assert len(re.findall(rf"\b{access}\.L2::cache_hint", ptx)) == 4


@pytest.mark.parametrize(
    ("shape", "dtype", "how"),
    [((37, 5), "f64", {"determinism": "portable"}), ((700, 30), "f32", {}), ((9, 11), "f64", {"plan": "few"})],
)
def test_rows_whose_states_have_no_room_are_cut(shape: tuple[int, int], dtype: str, how: dict[str, str]) -> None:
    """The states of 32 warps of 8 doubles, or of 16 of 25 floats, take more shared memory than a kernel has."""

    @wf.program
    def sums(x: Any) -> Any:
        return (*(wf.sum(x * (k + 0.5), axis=0) for k in range(24)), x - wf.max(x, axis=0))

    x = np.random.default_rng(1).normal(size=shape).astype(wf.dtype(dtype).numpy)
    *found, centred = sums(x, **how)
    np.testing.assert_array_equal(centred, x - x.max(0))
    for k, each in enumerate(found):
        np.testing.assert_allclose(each, (x * (k + 0.5)).sum(0, dtype=np.float64), rtol=1e-4, atol=1e-3)
