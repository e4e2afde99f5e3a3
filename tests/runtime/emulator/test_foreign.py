"""Kernels of another compiler: ``data/foreign`` holds CUDA C++ and nvcc's PTX for several targets."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from emulator_harness import aligned
from foreign import CASES, FOREIGN, Case

from warpfold.runtime import emulator


@cache
def load(name: str) -> emulator.Module:
    return emulator.parse((FOREIGN / f"{name}.ptx").read_text())


def execute(case: Case, name: str, seed: int | None = None) -> list[np.ndarray]:
    """The outputs after the launch, on the module ``name``."""
    return started(case, name, emulator.launch, seed=seed)[1]


def started(case: Case, name: str, how: Callable[..., Any], **options: Any) -> tuple[Any, list[np.ndarray]]:
    """The result of ``how`` (launch or sanitize) for the case, and the outputs."""
    memory = emulator.Memory()
    held = []
    for x in (*case.inputs, *case.outputs):
        held.append(aligned(x.nbytes).view(x.dtype))
        held[-1][:] = x
    args = [memory.bind(x.view(np.uint8)) for x in held]
    shape = case.grid, case.block, [*args, *case.numbers]
    options |= {"shared_bytes": case.shared, "cluster": (case.cluster, 1, 1)}
    return how(load(name), case.kernel, *shape, memory, **options), held[len(case.inputs) :]


RUNS = [(case, name) for case in CASES for name in case.files]


@pytest.mark.parametrize(
    ("case", "name"), RUNS, ids=[f"{name}-{case.kernel}-{k}" for k, (case, name) in enumerate(RUNS)]
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_foreign_kernel_gives_the_models_answer(case: Case, name: str) -> None:
    compare(case, execute(case, name))


def compare(case: Case, outputs: list[np.ndarray]) -> None:
    """Fails if an output differs from the model."""
    expected = case.model(*case.inputs, *case.outputs)
    for k, (got, want) in enumerate(zip(outputs, expected, strict=True)):
        if case.close is None:
            wrong = np.flatnonzero(got.view(f"u{got.itemsize}") != np.asarray(want, got.dtype).view(f"u{got.itemsize}"))
            assert not wrong.size, (k, wrong[:8], got[wrong[:8]], np.asarray(want)[wrong[:8]])
        else:
            np.testing.assert_allclose(got, want, rtol=case.close)


MEASURED = json.loads((FOREIGN / "h200.json").read_text())
DEFINED = [(c, n) for c, n in RUNS if c.close is None and not c.timely and not n.endswith("_sm100")]


@pytest.mark.parametrize(
    ("case", "name"), DEFINED, ids=[f"{name}-{case.kernel}-{case.number}" for case, name in DEFINED]
)
def test_a_foreign_kernel_gives_the_bits_of_an_h200(case: Case, name: str) -> None:
    data = b"".join(x.tobytes() for x in execute(case, name))
    assert f"{zlib.crc32(data):08x}" == MEASURED[f"{name} {case.kernel} {case.number}"]


def test_every_measured_kernel_is_run() -> None:
    assert set(MEASURED) == {f"{name} {case.kernel} {case.number}" for case, name in DEFINED}


# Right only in lockstep: warp-synchronous code without __syncwarp, and who is there before anybody has diverged.
LOCKSTEP = ("tail_in_step", "active")
MEET = (
    "atomics",
    "async_copies",
    "clusters",
    "fragments",
    "groups",
    "last_block",
    "mbarriers",
    "matrices",
    "orders",
    "shuffles",
    "tails",
    "votes",
)


@pytest.mark.parametrize("seed", [2, 5])
@pytest.mark.parametrize("source", MEET)
def test_no_schedule_changes_the_answer(source: str, seed: int) -> None:
    for case, name in {(c.kernel, c.number): (c, n) for c, n in RUNS if c.source == source}.values():
        if case.kernel not in LOCKSTEP and case.kernel != "all_arrive":  # which spins long
            compare(case, execute(case, name, seed))


def test_a_warp_synchronous_tail_needs_lockstep() -> None:
    case = next(c for c in CASES if c.kernel == "tail_in_step")
    with pytest.raises(AssertionError):
        compare(case, execute(case, "tails_sm75", 1))
    assert {f.kind for f in started(case, "tails_sm75", emulator.sanitize)[0]} == {"warp-synchrony"}


@pytest.mark.parametrize("source", MEET)
def test_the_sanitizer_finds_nothing_in_a_correct_kernel(source: str) -> None:
    for case, name in {(c.kernel, c.number): (c, n) for c, n in RUNS if c.source == source}.values():
        if case.kernel != "tail_in_step":
            assert started(case, name, emulator.sanitize)[0] == []
