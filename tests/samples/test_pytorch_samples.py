"""The samples of PyTorch's operators have PyTorch's results and gradients, but for choices that are listed."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("expecttest", reason="PyTorch's samples need expecttest")

LEAST = 2000
"""Samples that PyTorch has of operations that are here."""


@pytest.fixture(scope="module")
def samples() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("pytorch_samples")


@pytest.mark.filterwarnings("ignore")
def test_programs_have_the_results_and_gradients_of_pytorch(samples: Any) -> None:
    count, different = 0, []
    for case in samples.cases():
        count += 1
        if found := samples.unexplained(case):
            different.append(f"{case.name}: {found}")
    assert not different, "\n".join(different)
    assert count >= LEAST


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["softmax 1", "nn.functional.layer_norm 0", "nn.functional.cross_entropy 8", "var 9"])
def test_so_have_calls(samples: Any, name: str) -> None:
    """Their kernels have tests of their own: these calls show that the way of a tensor is the same."""
    assert not [f for case in samples.cases(name) if (f := samples.unexplained(case, emulator=True))]
