"""The kernels that measure a machine: on the emulator they read every byte once, in whole sectors."""

from __future__ import annotations

import numpy as np
import pytest

from warpfold.commands.requests.inputs import aligned
from warpfold.runtime.arrays.conversion import view
from warpfold.runtime.backends.emulator_backend import EmulatorBackend
from warpfold.runtime.emulator.counters import total
from warpfold.runtime.emulator.profiler import Profiler
from warpfold.runtime.ptxas import assemble, find_ptxas
from warpfold.runtime.tuning.measure import EMPTY, READINGS, STEADY, Reading, artifact

MAGIC = 0x9E3779B9


def read(reading: Reading, x: np.ndarray) -> tuple[Profiler, int]:
    """The accesses that the emulator saw, and the result."""
    backend, out = EmulatorBackend(), np.zeros(1, np.uint32)
    backend.tool = tool = Profiler()
    source, sink = (backend.bind(view(a), write=a is out, stream=0) for a in (x, out))
    backend.launch(artifact(), [reading.call(source, x.nbytes, sink)], 0)
    backend.finish([view(out)], 0)
    return tool, int(out[0])


@pytest.mark.parametrize("reading", [Reading(1, 4, 4), Reading(2, 1, 8), Reading(8, 2, 4)], ids=str)
def test_every_sector_is_asked_for_once(reading: Reading) -> None:
    x = aligned(np.arange(2 * reading.tile // 4, dtype=np.uint32))
    loads = total(read(reading, x)[0].profiles).traffic("global load")
    assert (loads.sectors, loads.nbytes) == (x.nbytes / 32, x.nbytes)


@pytest.mark.parametrize("where", [0, 1, 4095, 4096, -1])
def test_every_word_is_used(where: int) -> None:
    """A word that makes a thread's exclusive or the number that is written changes the result wherever it is."""
    reading = Reading(4, 2, 4)
    x = aligned(np.zeros(2 * reading.tile // 4, np.uint32))
    assert read(reading, x)[1] == 0
    x[where] = MAGIC
    assert read(reading, x)[1] == MAGIC


def test_an_empty_kernel_is_launched() -> None:
    EmulatorBackend().launch(artifact(), [EMPTY], 0)


def test_one_way_to_read_fits_every_size() -> None:
    assert min(r.tile for r in READINGS) <= 4096
    assert all(r.tile & (r.tile - 1) == 0 for r in (*READINGS, STEADY))


@pytest.mark.skipif(find_ptxas() is None, reason="ptxas is not there")
@pytest.mark.parametrize("arch", ["sm_75", "sm_90a"])
def test_the_kernels_assemble_without_spills(arch: str) -> None:
    for usage in assemble(artifact().ptx, arch).kernels.values():
        assert usage.spills == 0
