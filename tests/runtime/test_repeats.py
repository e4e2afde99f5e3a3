"""Arrays expanded by stride 0, against NumPy: repeated dims anywhere, kept or reduced, in every kind of plan."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from covering import covering
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import warpfold as wf
from warpfold.compiler.driver.compile import compile_program
from warpfold.compiler.errors import PlanError
from warpfold.passes import steps
from warpfold.runtime.api import plan_for
from warpfold.runtime.programs.compiled import Compiled

Array = npt.NDArray[Any]


@wf.monoid(identity=(0, 0), lift=lambda x: (x, x * x), finish=lambda a, b: b - a)
def moments(a: Any, b: Any) -> Any:
    return a[0] + b[0], a[1] + b[1]


@wf.monoid(identity=(1, 0), commutative=False, lift=lambda x: (1 - 2 * (x & 1), x), finish=lambda _, t: t)
def affine(a: Any, b: Any) -> Any:
    """Composes maps t -> s t + x; odd elements change the sign."""
    return a[0] * b[0], a[1] * b[0] + b[1]


def composed(rows: Array) -> Array:
    total = np.zeros(rows.shape[0], rows.dtype)
    for x in rows.T:
        total = total * (1 - 2 * (x & 1)) + x
    return total


REFERENCE: dict[str, Any] = {
    "sum": lambda r: r.sum(1, dtype=np.int64),
    "prod": lambda r: r.prod(1, dtype=np.int64),
    "max": lambda r: r.max(1),
    "any": lambda r: r.any(1),
    "argmax": lambda r: r.argmax(1),
    "count_nonzero": lambda r: np.count_nonzero(r, axis=1),
    "mean": lambda r: r.mean(1),
    "var": lambda r: r.var(1),
    "moments": lambda r: (r * r).sum(1) - r.sum(1),
    "affine": composed,
}
USERS = {"moments": moments, "affine": affine}
SIZES = st.sampled_from([0, 1, 2, 3, 3, 5, 8, 33, 100, 1000])


def rows(x: Array, axes: tuple[int, ...]) -> Array:
    """[results][elements], both in the caller's order."""
    kept = [a for a in range(x.ndim) if a not in axes]
    return x.transpose(*kept, *axes).reshape(prod(x.shape[a] for a in kept), prod(x.shape[a] for a in axes))


@st.composite
def expanded(draw: st.DrawFn, dtype: Any = np.int64) -> Array:
    """An array of whole numbers with stride 0 in some dims and any strides in others."""
    shape: list[int] = []
    for size in draw(st.lists(SIZES, min_size=1, max_size=4)):
        shape.append(size if prod(shape) * size <= 20_000 else 2)
    stands = [draw(st.booleans()) for _ in shape]
    own = [1 if s else n for s, n in zip(stands, shape, strict=True)]
    numbers = np.random.default_rng(draw(st.integers(0, 99))).integers(-4, 5, own).astype(dtype)
    order = draw(st.permutations(range(len(shape))))
    laid = np.ascontiguousarray(numbers.transpose(order)).transpose(np.argsort(order))
    back = tuple(slice(None, None, draw(st.sampled_from([1, 1, -1]))) for _ in shape)
    return np.broadcast_to(laid[back], shape)


@st.composite
def axes_of(draw: st.DrawFn, rank: int) -> tuple[int, ...]:
    return tuple(a for a in range(rank) if draw(st.booleans()))


@settings(max_examples=30, deadline=None)
@given(st.data(), st.sampled_from(sorted(REFERENCE)))
def test_any_array_expanded_anywhere(data: st.DataObject, what: str) -> None:
    x = data.draw(expanded(np.float64 if what in ("mean", "var") else np.int64))
    axes = data.draw(axes_of(x.ndim))
    own = rows(x, axes)
    assume(own.shape[1] or what in ("sum", "prod", "any", "count_nonzero", "moments", "affine"))
    with np.errstate(all="ignore"):
        wanted = REFERENCE[what](own)
    got = np.asarray(wf.reduce(x, USERS.get(what, what), axis=axes, device="emulator")).ravel()
    if what in ("mean", "var"):
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)
    else:
        np.testing.assert_array_equal(got, wanted)


@settings(max_examples=24, deadline=None)
@given(st.data())
def test_results_with_strides_and_masks_of_their_own(data: st.DataObject) -> None:
    x = data.draw(expanded(np.int32))
    axes = data.draw(axes_of(x.ndim))
    shape = [n for a, n in enumerate(x.shape) if a not in axes]
    order = data.draw(st.permutations(range(len(shape))))
    room = np.full([3 * shape[a] for a in order], 77, np.int64)
    out = room[(..., *(slice(1, None, 3) for _ in order))].transpose(np.argsort(order))
    mask: Array = np.random.default_rng(0).random(x.shape) < 0.5
    once = tuple(slice(min(1, n)) if s == 0 else slice(None) for n, s in zip(x.shape, x.strides, strict=True))
    where = data.draw(st.sampled_from([None, mask, np.broadcast_to(mask[once], x.shape)]))
    wf.sum(x, axis=axes, where=where, out=out, device="emulator")
    np.testing.assert_array_equal(out, np.sum(x, axis=axes, where=True if where is None else where))
    out[...] = 77
    assert (room == 77).all()


PLANS = [
    "", "finish=two_kernels", "finish=two_kernels,coarsening=4", "finish=last_block,coarsening=4", "finish=atomic",
    "cluster=4", "cluster=2,finish=last_block,coarsening=8", "cta=sequential,warps=4", "cta=serial,cluster=2",
    "walk=period,warps_kept=1", "walk=period,warps_kept=1,finish=last_block,coarsening=8", "walk=staggered",
    "walk=staggered,finish=last_block,coarsening=8", "tile_bytes=4096", "tile_bytes=8192,lanes=4", "lanes=1,warps=1",
    "lanes=4,warps=2,warps_kept=2", "fast=kept,lanes=4,warps=2", "fast=kept,vector=1,lanes=1,warps=8", "walk=blocked",
]  # fmt: skip


LAYOUTS: list[tuple[Any, Any, Any]] = [
    ((1, 9, 1, 301), (5, 9, 3, 301), (2, 3)),
    ((1, 9, 1, 301), (70, 9, 3, 301), (3,)),
    ((301, 1, 1, 32), (301, 4, 3, 32), (0, 2)),
    ((301, 1, 33), (301, 1000, 33), (0, 1)),
    ((300, 1, 1, 202), (300, 4, 3, 202), (0, 2)),
    ((601,), (40, 601), (1,)),
    ((601,), (40, 601), (0, 1)),
]


@covering(("plan", PLANS), ("t", [np.int32, np.float32]))
def test_repeats_under_every_kind_of_plan(plan: str, t: Any) -> None:
    """Whole numbers, so that sums of floats are exact in any order; each plan serves a layout with copies."""
    served = []
    how: Any = {"plan": plan, "determinism": "none" if "atomic" in plan else "run", "device": "emulator"}
    for own, shape, axes in LAYOUTS:
        x = np.broadcast_to(np.random.default_rng(1).integers(-9, 10, own).astype(t), shape)
        try:
            got = wf.sum(x, axis=axes, **how)
        except PlanError as e:
            if e.code not in ("WF416", "WF418"):  # no such rows, and nothing that fits a tile
                raise
            continue
        np.testing.assert_array_equal(got, x.sum(axis=axes), f"{own} {shape} {axes}")
        served.append(shape)
    assert {(5, 9, 3, 301), (301, 4, 3, 32), (300, 4, 3, 202)}.intersection(served)


@covering(("t", ["i1", "u1", "i2", "u4", "i8", "?", "f2", "f4", "f8"]), ("what", ["sum", "prod", "max", "any", "norm"]))
def test_repeats_of_every_type(t: str, what: str) -> None:
    """Sums and products of whole numbers wrap around like NumPy's."""
    numbers = (
        np.random.default_rng(2).integers(0, 2, (6, 1, 90)) if what == "prod" else np.arange(540).reshape(6, 1, 90)
    )
    x = np.broadcast_to((numbers % 100 + (what == "prod")).astype(t), (6, 1000, 90))
    got, with_np = wf.reduce(x, what, axis=(1, 2), device="emulator"), np.asarray(x, "f8" if t[0] == "f" else None)
    with np.errstate(all="ignore"):
        flat = with_np.reshape(6, -1)
        wanted = np.sqrt((flat.astype("f8") ** 2).sum(1)) if what == "norm" else getattr(flat, what)(1)
        np.testing.assert_allclose(got, wanted.astype(got.dtype), rtol=1e-3 if t == "f2" else 1e-5)


def test_a_sum_beyond_the_type_wraps() -> None:
    x = np.broadcast_to(np.array([2**62, 3], np.int64), (1001, 2))
    assert wf.sum(x, device="emulator") == x.sum()
    x = np.broadcast_to(np.array([3, 5], np.uint64), (1001, 2))
    assert wf.prod(x, device="emulator") == x.prod()


@pytest.mark.parametrize(
    "plan", ["", "fast=kept,lanes=8,warps=4", "lanes=32,warps=2", "finish=last_block,coarsening=4"]
)
def test_all_copies_have_the_same_bits(plan: str) -> None:
    """The combine of a variance does not commute in all bits, so lanes may have different ones."""
    x = np.broadcast_to(np.random.default_rng(3).standard_normal((7, 1, 900)).astype(np.float32), (7, 300, 900))
    got = wf.reduce(x, "var", axis=2, plan=plan, device="emulator")
    assert (got == got[:, :1]).all()
    np.testing.assert_allclose(got[:, 0], x[:, 0].astype(np.float64).var(1), rtol=1e-5)


def test_an_array_of_one_element() -> None:
    x = np.broadcast_to(np.float32(0.1), (1000, 1000))
    assert wf.sum(x, device="emulator") == pytest.approx(1e5, rel=1e-6)
    np.testing.assert_allclose(wf.mean(x, axis=0, device="emulator"), np.full(1000, 0.1), rtol=1e-6)
    assert wf.count_nonzero(x, device="emulator") == 10**6


def test_masked_and_missing_elements() -> None:
    """A power of the identity is the identity, also where no element takes part."""
    x = np.broadcast_to(np.full((4, 1, 30), np.nan, np.float32), (4, 100, 30))
    assert (wf.nansum(x, axis=(1, 2), device="emulator") == 0).all()
    assert np.isnan(wf.nanmean(x, axis=(1, 2), device="emulator")).all()
    assert np.isneginf(wf.max(x, axis=(1, 2), where=np.zeros((1, 1), bool), initial=-np.inf, device="emulator")).all()


def test_products_of_arrays_of_which_only_one_is_expanded() -> None:
    x, y = np.arange(12, dtype=np.int64).reshape(4, 3), np.broadcast_to(np.arange(3), (4, 3))
    np.testing.assert_array_equal(wf.vecdot(x, y, axis=1, device="emulator"), (x * y).sum(1))
    both = np.broadcast_to(np.arange(3), (40, 3))
    np.testing.assert_array_equal(wf.vecdot(both, y[:1], axis=1, device="emulator"), np.full(40, 5))


# --- compiled for the one, called with the other ---
def test_a_kernel_for_plain_arrays_serves_expanded_ones() -> None:
    k = wf.compile("sum", (64, 1000), "f32", axis=1)
    assert not k.artifact.kernels[0].main.facts.repeats
    x = np.broadcast_to(np.arange(1000, dtype=np.float32), (64, 1000))
    np.testing.assert_array_equal(k(x, device="emulator"), x.sum(1))


def test_a_kernel_for_expanded_arrays_serves_plain_ones() -> None:
    ready = plan_for("mean", (64, 1000), "f32", axis=1)
    facts = replace(ready.choice.facts, repeats=True)
    made = compile_program(ready.program, facts, ready.choice.plan, ready.target, steps(ready.target))
    found = wf.compile("mean", (64, 1000), "f32", axis=1).artifact
    found = replace(found, kernels=(made,))
    x = np.random.default_rng(4).standard_normal((40, 900)).astype(np.float32)
    np.testing.assert_allclose(Compiled(found)(x, device="emulator"), x.mean(1), rtol=1e-4, atol=1e-6)
