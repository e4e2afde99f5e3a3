"""Clusters in any reduction, plan and schedule, and what keeps their CTAs in step."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from covering import some

import warpfold as wf
from warpfold.runtime.backends.emulator_backend import emulator

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "sanitizer"))
import own
from catalogue import affine
from scene import examine


@pytest.mark.parametrize(
    ("what", "dtype", "shape", "axis", "plan"),
    some([
        ("sum", "int64", (65536,), None, "cluster=8,warps=16"),
        ("sum", "float64", (4096,), None, "cluster=8,warps=4,unroll=1"),
        ("sum", "uint8", (9001,), None, "cluster=2,finish=atomic"),
        ("max", "float16", (30000,), None, "cluster=4,warps=4,coarsening=4,unroll=1"),
        ("min", "uint8", (70, 500), 1, "cluster=8"),
        ("prod", "int32", (33, 257), 0, "cluster=4,warps=2"),
        ("argmax", "float32", (5, 9000), 1, "cluster=8,finish=two_kernels"),
        ("argmin", "int16", (300, 40), 0, "cluster=2,coarsening=1,unroll=1"),
        ("any", "bool", (20000,), None, "cluster=8,warps=2"),
        ("all", "bool", (90, 33), 0, "cluster=8"),
        ("count_nonzero", "float32", (5000,), None, "cluster=4,cta=warp_sync"),
        ("sum", "int32", (6, 5, 300), (0, 2), "cluster=2"),
        ("sum", "int32", (0,), None, "cluster=8"),
    ], 8),
)  # fmt: skip
def test_every_reduction_has_its_answer(what: str, dtype: str, shape: tuple[int, ...], axis: Any, plan: str) -> None:
    rng = np.random.default_rng(1)
    x = (rng.integers(0, 50, shape) % (2 if dtype == "bool" else 50)).astype(dtype)
    if dtype == "bool" and what == "any":
        x[:-1] = False
    found = wf.reduce(x, what, axis=axis, plan=plan, device="emulator")
    np.testing.assert_array_equal(found, getattr(np, what)(x, axis=axis))


def test_a_kernel_of_a_cluster_is_compiled_once_for_all_lengths() -> None:
    k = wf.compile("sum", (5000,), "i32", plan="cluster=8,warps=2,vector=1,unroll=1,finish=cta", arch="sm_90a")
    for n in (1, 5000, 100_000):
        x = np.arange(n, dtype=np.int32) % 1000
        assert k(x, device="emulator") == x.sum()


@pytest.mark.parametrize("finish", ["cta", "last_block"])
def test_no_schedule_changes_a_bit(finish: str) -> None:
    """Of a float sum, and of a state whose order matters, with CTAs and threads in any order."""
    x = np.random.default_rng(2).standard_normal(9001).astype(np.float32)
    plan = f"cluster=4,warps=2,unroll=1,finish={finish}"
    answers = {what: set() for what in ("sum", affine)}
    try:
        for seed in (None, 1, 2, 3):
            emulator().seed = seed
            for what, found in answers.items():
                found.add(wf.reduce(x / 100, what, plan=plan, device="emulator").tobytes())
    finally:
        emulator().seed = None
    assert all(len(found) == 1 for found in answers.values())


ARRIVES, WAITS = r"barrier\.cluster\.arrive\S*;", r"barrier\.cluster\.wait\S*;"


@pytest.mark.parametrize(
    ("kernel", "pattern", "by", "kinds"),
    [
        ("cluster", None, "", set()),
        # Nobody knows that the first CTA has begun.
        ("cluster", rf"{ARRIVES}([\s\S]*?){WAITS}", r"\1", {"cluster-race"}),
        # Nor that the states are there, or that they will stay until they are read.
        ("cluster", r"(barrier\.cluster\.arrive)(\.aligned;)", r"\1.relaxed\2", {"shared-race", "cluster-race"}),
        # Nobody knows that the first CTA has begun, or has made its mbarrier.
        (
            "state of a cluster",
            rf"{ARRIVES}([\s\S]*?){WAITS}",
            r"\1",
            {"cluster-race", "shared-race", "warp-synchrony"},
        ),
    ],
    ids=["as it is", "no barrier at the start", "an arrival that releases nothing", "no barrier before the mbarrier"],
)
def test_all_barriers_are_needed(kernel: str, pattern: str | None, by: str, kinds: set[str]) -> None:
    scene = own.record(kernel, own.CALLS[kernel])
    launch = scene.launches[0]
    ptx = launch.ptx if pattern is None else re.sub(pattern, by, launch.ptx, count=1)
    assert (ptx == launch.ptx) is (pattern is None)
    assert {report.kind for report in examine(replace(scene, launches=(replace(launch, ptx=ptx),)))} == kinds
