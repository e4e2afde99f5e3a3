"""Device arrays made without PyTorch, as any library sees them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "runtime"))
from fake_driver import FakeDriver

from warpfold.commands.bench import inputs
from warpfold.commands.bench.cases import Case, parse
from warpfold.compiler.dtypes import F32
from warpfold.runtime.backends.cuda_backend import CudaBackend


def case(name: str) -> Case:
    found = parse(name)
    assert found is not None
    return found


@pytest.mark.parametrize("torch", [None, SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))])
def test_our_own_without_pytorch(monkeypatch: pytest.MonkeyPatch, torch: object) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert isinstance(inputs.arrays(CudaBackend(driver=FakeDriver())), inputs.OwnArrays)


def test_memory_with_the_cuda_array_interface_is_freed_with_the_array() -> None:
    driver = FakeDriver()
    backend = CudaBackend(driver=driver)
    made = inputs.OwnArrays(backend).random(case("row.sum.f32.8x16"), 1)
    face = made.__cuda_array_interface__
    assert (face["shape"], face["typestr"], face["data"]) == ((8, 16), "<f4", (made.view.address, False))
    assert np.array_equal(backend.get(made.view, 0), inputs.drawn(case("row.sum.f32.8x16"), 1))
    address = made.view.address
    assert len(driver.memory[address]) - 256 == 8 * 16 * 4  # the fake has 256 bytes more, to align it
    del made
    assert driver.freed == [address]
    assert inputs.OwnArrays(backend).empty((3,), F32).view.shape == (3,)


def test_bf16_needs_pytorch() -> None:
    with pytest.raises(TypeError, match="bf16 need PyTorch"):
        inputs.OwnArrays(CudaBackend(driver=FakeDriver())).random(case("full.sum.bf16.64"), 0)


def test_few_truth_values_are_true_and_the_last_one_is() -> None:
    x = inputs.drawn(case("full.any.b1.2000000"), 0)
    assert np.flatnonzero(x).tolist() == [1_999_999]
    x = inputs.drawn(case("row.any.b1.31250x64"), 0)
    assert np.flatnonzero(x).tolist() == [33, 33 + inputs.APART, 33 + 2 * inputs.APART]


@pytest.mark.parametrize("name", ["full.any.b1.9999", "full.sum.i8.1000", "full.prod.f64.1000", "full.sum.f16.1000"])
def test_elements_are_of_the_cases_type(name: str) -> None:
    x = inputs.drawn(case(name), 0)
    assert x.dtype == case(name).dtype.numpy
    if case(name).what == "prod":
        assert np.abs(x - 1).max() < 1e-3
