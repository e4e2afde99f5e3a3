"""Lanes along both axes: which layouts have such rows, when they are chosen, and that results are correct."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from covering import covering

import warpfold as wf
from warpfold.commands.ideals import ideals
from warpfold.compiler.errors import ArgumentError, PlanError
from warpfold.compiler.plan.ladder import RUNGS
from warpfold.compiler.plan.shared_memory import global_states
from warpfold.compiler.planner.layouts.factored import FIXED, LONG_RUN, as_columns
from warpfold.compiler.space.geometry import collapse
from warpfold.runtime import api, prepare
from warpfold.runtime.backends.kernel_calls import scratch

IMAGES = (120, 16, 7, 7)
"""Images, channels and pixels; of each channel 49, which begin anywhere."""
RNG = np.random.default_rng(5)


def images(dtype: str, shape: tuple[int, ...] = IMAGES) -> np.ndarray[Any, Any]:
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return RNG.random(shape) < 0.001
    if kind.kind in "iu":
        return RNG.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, kind, endpoint=True)
    return RNG.standard_normal(shape).astype(kind)


def strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(np.prod(shape[i + 1 :])) for i in range(len(shape)))


@wf.monoid(identity=0, commutative=False)
def SHOWN(a: Any, b: Any) -> Any:  # noqa: N802
    """The last element that is not zero."""
    return wf.where(b != 0, b, a)


# --- which layouts ---------------------------------------------------------------------------------------------------
def test_the_first_kernel_keeps_what_the_second_reduces() -> None:
    g = collapse(IMAGES, (0, 2, 3), [strides(IMAGES)], [(1,)])
    found = as_columns(g, 1)
    assert found is not None
    assert [(d.size, d.strides) for d in found.kept] == [(16 * 49, (1, 0))]
    assert [(d.size, d.strides) for d in found.reduced] == [(120, (16 * 49, 0))]
    assert found.after is not None
    assert [(d.size, d.strides) for d in found.after.kept] == [(16, (49, 1))]
    assert [(d.size, d.strides) for d in found.after.reduced] == [(49, (1, 0))]
    assert found.count == g.count == 120 * 49


@pytest.mark.parametrize(
    ("shape", "axes", "of"),
    [
        ((120, 16, 49), (0,), (784, 49, 1)),  # one reduced dim
        ((120, 16, 49), (0, 2), (800, 50, 1)),  # a gap after each run
        ((120, 3, 16, 49), (0, 3), (4000, 1000, 49, 1)),  # two kept dims
        ((120, 16, 49), (0, 2), (784, 49, 0)),  # the same element again and again
    ],
)
def test_other_layouts_have_no_such_rows(shape: tuple[int, ...], axes: tuple[int, ...], of: tuple[int, ...]) -> None:
    assert as_columns(collapse(shape, axes, [of], [(1,) * (len(shape) - len(axes))]), 1) is None


# --- when ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("shape", "dtype", "fast"),
    [
        ((21399, 64, 7, 7), "bf16", "both"),
        ((42799, 64, 7, 7), "i8", "both"),
        ((1000, 195, LONG_RUN - 1), "i8", "both"),
        ((1000, 195, LONG_RUN + 1), "i8", "reduced"),  # rows that begin anywhere: run by run
        ((1000, 97, LONG_RUN + 11), "bf16", "reduced"),
        ((1000, 128, LONG_RUN + 277), "i8", "both"),  # aligned ones
        ((10699, 64, 7, 7), "f32", "both"),
        ((10699, 64, 8, 8), "f32", "reduced"),  # runs of whole accesses
        ((600, 64, 7, 7), "f32", "reduced"),  # no large array
        ((10699, 64, 7, 7), "f64", "both"),
        ((21399, 65, 7, 7), "bf16", "both"),  # rows that begin anywhere, too: of narrow elements
        ((42799, 66, 7, 7), "bool", "both"),
        ((10699, 65, 7, 7), "f32", "reduced"),
        ((600_000, 2, 14), "f32", "reduced"),  # rows that are no longer than a warp
        ((30, 2048, 27, 27), "f32", "reduced"),  # more states than the workspace holds
        ((12, 4096, 7, 7), "i8", "reduced"),  # a state for every twelve bytes
    ],
)
def test_runs_that_begin_anywhere_are_read_as_rows(shape: tuple[int, ...], dtype: str, fast: str) -> None:
    choice = api.plan_for("sum", shape, dtype, axis=(0, *range(2, len(shape)))).choice
    assert (choice.plan.fast, choice.plan.finish == "two_kernels") == (fast, fast == "both")


@pytest.mark.parametrize(("dtype", "fast"), [("f32", "both"), ("f64", "reduced"), ("bf16", "both")])
def test_states_that_leave_room_only_for_single_elements_are_not_factored(dtype: str, fast: str) -> None:
    choice = api.plan_for("mean_var", (10699, 64, 7, 7), dtype, axis=(0, 2, 3)).choice
    assert choice.plan.fast == fast
    assert fast != "both" or choice.facts.access == ("aligned",)


def test_options_of_a_rung_give_way() -> None:
    """Options that the user gave do not."""
    plan = api.plan_for("sum", IMAGES, "f32", axis=(0, 2, 3), plan="serial,fast=both").choice.plan
    assert (plan.fast, plan.finish, plan.lanes) == ("both", "two_kernels", 1)


@pytest.mark.parametrize("words", [f"{rung.name},fast=both" for rung in RUNGS] + [
    f"fast=both{other}" for other in ("", ",coarsening=2", ",warps=1,lanes=1", ",vector=2, unroll=1", ",cluster= 1")
])  # fmt: skip
def test_the_second_kernel_fixes_some_fields(words: str) -> None:
    """Whatever else is asked for, such as a rung."""
    plan = api.plan_for("sum", IMAGES, "f32", axis=(0, 2, 3), plan=words).choice.plan
    assert {key: str(getattr(plan, key)) for key in FIXED} == FIXED
    assert plan.fast == "both"


def test_the_second_kernel_has_room_for_its_states() -> None:
    many = ("mean_var", "sum", "prod", "max", "min", "logsumexp")
    options = "fast=both,cta=serial,lanes=1,warps=1,warps_kept=32,vector=1"
    with pytest.raises(PlanError, match=r"WF405.*73728 bytes"):
        api.plan_for(many, IMAGES, "f64", axis=(0, 2, 3), plan=options)


def test_segments_are_not_factored() -> None:
    with pytest.raises(ArgumentError, match=r"(?s)WF146.*fast=both does not fit"):
        wf.segment_reduce(images("float32"), [0, 3, 120], wf.SUM, axis=0, plan="fast=both", device="emulator")


def test_options_decide() -> None:
    def fast(options: str, what: str = "sum") -> str:
        return api.plan_for(what, (21399, 64, 7, 7), "bf16", axis=(0, 2, 3), plan=options).choice.plan.fast

    assert fast("vector=4,unroll=2") == "both"
    assert fast("fast=reduced") == fast("finish=last_block") == fast("walk=blocked") == "reduced"
    assert fast("", "argmax") == "reduced"  # its elements are numbered as the caller has them


def test_a_printed_plan_gives_the_same_plan() -> None:
    own = api.plan_for("sum", (21399, 64, 7, 7), "bf16", axis=(0, 2, 3)).choice
    words = ",".join(f"{key}={value}" for key, value in own.plan.to_dict().items() if key != "tree")
    again = api.plan_for("sum", (21399, 64, 7, 7), "bf16", axis=(0, 2, 3), plan=words).choice
    assert (again.plan, again.run, again.facts) == (own.plan, own.run, own.facts)


@pytest.mark.parametrize(
    ("what", "shape", "options", "found"),
    [
        ("sum", (120, 16, 49), "fast=both,finish=last_block", "the plan has finish=last_block"),
        ("sum", (120, 16, 49), "fast=both,walk=blocked", "the plan has walk=blocked"),
        ("sum", (120, 16, 49), "fast=both,walk=period,finish=atomic", "the plan has finish=atomic, walk=period"),
        ("argmax", (120, 16, 49), "fast=both", "argmax numbers the elements"),
        (SHOWN, (120, 16, 49), "fast=both", "SHOWN is not commutative"),
        ("sum", (120, 1, 49), "fast=both", r"the array has 0 kept and 1 reduced dim\(s\)"),
    ],
)
def test_plans_that_cannot_be_served_are_refused(what: str, shape: tuple[int, ...], options: str, found: str) -> None:
    with pytest.raises(PlanError, match=f"(?s)WF422.*{found}.*choose fast=reduced or fast=kept"):
        api.plan_for(what, shape, "f32", axis=(0, 2), plan=options)


# --- what comes out --------------------------------------------------------------------------------------------------
@covering(
    ("dtype", ["bool", "int8", "float16", "float32"]),
    ("shape", [(70, 17, 7, 7), (3, 5, 9, 9), (130, 3, 3, 3)]),
    ("offset", [0, 1, 5]),
)
def test_rows_that_begin_anywhere(dtype: str, shape: tuple[int, ...], offset: int) -> None:
    """The end of a row cuts its last vector, but the states of a part are whole vectors.

    The array ends where its memory does, so the emulator refuses a load beyond it.
    """
    x = images(dtype, shape)
    memory = np.empty(x.size + offset, x.dtype)
    placed = memory[offset:].reshape(shape)
    placed[...] = x
    for options in ("", f",vector={max(2, 8 // x.itemsize)},unroll=2", ",vector=16" if x.itemsize == 1 else ",lanes=1"):
        got = wf.max(placed, axis=(0, 2, 3), plan="fast=both" + options, device="emulator")
        np.testing.assert_array_equal(got, x.max(axis=(0, 2, 3)))


def test_two_kernels_read_columns_that_begin_anywhere() -> None:
    x = images("int8", (300, 67))
    ready = api.plan_for("sum", x.shape, "i8", axis=0, plan="vector=8,finish=two_kernels,coarsening=2,walk=interleaved")
    assert (ready.choice.facts.access, ready.choice.run.split > 1) == (("unaligned",), True)
    got = wf.sum(x, axis=0, plan="vector=8,finish=two_kernels,coarsening=2,walk=interleaved", device="emulator")
    np.testing.assert_array_equal(got, x.sum(axis=0, dtype=np.int64))


@covering(
    ("dtype", ["bool", "int8", "float16", "float32"]),
    ("what", ["sum", "max", "mean", "mean_var", "logsumexp"]),
    ("options", ["", ",vector=1,unroll=2,lanes=4", ",vector=2,warps=2,warps_kept=4", ",cta=serial"]),
)
def test_the_results_are_those_of_runs(dtype: str, what: str, options: str) -> None:
    x = images(dtype)
    both, runs = (
        getattr(wf, what)(x, axis=(0, 2, 3), plan=plan, device="emulator")
        for plan in ("fast=both" + options, "fast=reduced")
    )
    pairs = zip(both if isinstance(both, tuple) else (both,), runs if isinstance(runs, tuple) else (runs,), strict=True)
    for mine, theirs in pairs:
        np.testing.assert_allclose(
            mine.astype(np.float64), theirs.astype(np.float64), rtol=2e-3 if x.itemsize == 2 else 1e-5, atol=1e-5
        )


def test_masks_and_strides_of_results() -> None:
    """Every second image, its rows reversed, with a mask in the images' layout and results with gaps."""
    x = images("float32", (240, *IMAGES[1:]))[::2, :, ::-1, ::-1]
    where = (RNG.random((240, *IMAGES[1:])) < 0.7)[::2, :, ::-1, ::-1]
    out = np.full(32, -1, np.float32)
    wf.sum(x, axis=(0, 2, 3), where=where, plan="fast=both", out=out[::2], device="emulator")
    np.testing.assert_allclose(out[::2], x.sum(axis=(0, 2, 3), where=where, dtype=np.float64), rtol=1e-4, atol=1e-4)
    assert (out[1::2] == -1).all()


def test_a_compiled_kernel_serves_other_images(tmp_path: Path) -> None:
    k = wf.compile("sum", IMAGES, "f32", axis=(0, 2, 3), plan="fast=both,vector=4")
    k.save(tmp_path / "k.wf")
    sizes = (IMAGES, (33, 8, 5, 5), (200, 4, 3, 3), (1, 16, 7, 7), (0, 16, 7, 7), (120, 4, 1, 1), (120, 1, 6, 6))
    for shape in sizes:
        x = images("float32", shape)
        got = wf.load(tmp_path / "k.wf")(x, device="emulator")
        np.testing.assert_allclose(got, x.sum(axis=(0, 2, 3), dtype=np.float64), rtol=1e-4, atol=1e-3)
    apart = images("float32", (33, 16, 5, 5))[:, ::2]
    with pytest.raises(
        ArgumentError, match=r"(?s)WF123.*two dims around one kept one.*its 1 kept and 2 reduced dims do"
    ):
        k(apart, device="emulator")


def test_results_that_are_far_apart() -> None:
    """The second kernel writes them: its offsets have 64 bits although the first one's do not need them."""
    x, out = images("int8"), np.zeros((16, 1 << 28), np.int8)[:, 0]
    wf.max(x, axis=(0, 2, 3), out=out, plan="fast=both", device="emulator")
    np.testing.assert_array_equal(out, x.max(axis=(0, 2, 3)))


@pytest.mark.parametrize("options", ["", ",vector=4"])
def test_portable_bits_do_not_depend_on_the_address(options: str) -> None:
    x, found = images("float32"), set()
    for offset in (0, 1, 3):
        placed = np.empty(x.size + 4, np.float32)[offset : offset + x.size].reshape(x.shape)
        placed[...] = x
        how = {"plan": "fast=both" + options, "determinism": "portable", "device": "emulator"}
        found.add(wf.sum(placed, axis=(0, 2, 3), **how).tobytes())
    assert len(found) == 1


def test_the_states_of_results_are_exchanged_in_global_memory() -> None:
    """Not those of the columns that the first kernel keeps."""
    ready = api.plan_for("sum", IMAGES, "f32", axis=(0, 2, 3), plan="fast=both,cta=serial,exchange=global")
    made = prepare.artifact(ready)
    first, second = made.kernels
    layout = scratch(made, ready.geometry, ready.choice.run)
    ctas = ready.choice.run.tiles * ready.choice.run.split
    most = 4 * max(global_states(first.plan) * ctas, global_states(second.plan) * 16)
    assert layout.nbytes - layout.exchange[0] == most


def test_each_kernel_does_what_its_counts_say() -> None:
    """The first kernel stores as many states as the rows have elements, and the second one loads them."""
    ready = api.plan_for("sum", IMAGES, "f32", axis=(0, 2, 3), plan="fast=both,vector=4")
    made = prepare.artifact(ready)
    assert [(k.role, k.plan.fast) for k in made.kernels] == [("main", "both"), ("second", "reduced")]
    first, second = ideals(ready, made)
    assert first["global load"] == 120 * 16 * 49 * 4 // 512
    assert second["global load"] == -(-ready.choice.run.split * 16 * 49 * 4 // 512)
