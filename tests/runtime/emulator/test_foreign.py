"""Kernels of another compiler: ``data/foreign`` holds CUDA C++ and what nvcc made of it, for several targets."""

from __future__ import annotations

import json
import zlib
from functools import lru_cache

import numpy as np
import pytest
from emulator_foreign import CASES, FOREIGN, Case
from emulator_harness import aligned

from warpfold.compiler.errors import EmulatorError
from warpfold.runtime import emulator


@lru_cache(maxsize=None)
def load(name: str) -> emulator.Module:
    return emulator.parse((FOREIGN / f"{name}.ptx").read_text())


def execute(case: Case, name: str) -> list[np.ndarray]:
    """The outputs after the launch, on the module ``name``."""
    memory = emulator.Memory()
    held = []
    for x in (*case.inputs, *case.outputs):
        held.append(aligned(x.nbytes).view(x.dtype))
        held[-1][:] = x
    args = [memory.bind(x.view(np.uint8)) for x in held]
    options = {"shared_bytes": case.shared, "cluster": (case.cluster, 1, 1)}
    emulator.launch(load(name), case.kernel, case.grid, case.block, [*args, *case.numbers], memory, **options)
    return held[len(case.inputs) :]


RUNS = [(case, name) for case in CASES for name in case.files]


@pytest.mark.parametrize(("case", "name"), RUNS, ids=[f"{name}-{case.kernel}-{k}" for k, (case, name) in enumerate(RUNS)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_foreign_kernel_gives_the_models_answer(case: Case, name: str) -> None:
    expected = case.model(*case.inputs, *case.outputs)
    for k, (got, want) in enumerate(zip(execute(case, name), expected, strict=True)):
        if case.close is None:
            wrong = np.flatnonzero(got.view(f"u{got.itemsize}") != np.asarray(want, got.dtype).view(f"u{got.itemsize}"))
            assert not wrong.size, (k, wrong[:8], got[wrong[:8]], np.asarray(want)[wrong[:8]])
        else:
            np.testing.assert_allclose(got, want, rtol=case.close)


MEASURED = json.loads((FOREIGN / "h200.json").read_text())
DEFINED = [(c, n) for c, n in RUNS if c.close is None and not c.timely and not n.endswith("_sm100")]


@pytest.mark.parametrize(("case", "name"), DEFINED, ids=[f"{name}-{case.kernel}-{case.number}" for case, name in DEFINED])
def test_a_foreign_kernel_leaves_the_bits_that_an_h200_leaves(case: Case, name: str) -> None:
    data = b"".join(x.tobytes() for x in execute(case, name))
    assert f"{zlib.crc32(data):08x}" == MEASURED[f"{name} {case.kernel} {case.number}"]


def test_every_measured_kernel_is_run() -> None:
    assert set(MEASURED) == {f"{name} {case.kernel} {case.number}" for case, name in DEFINED}
