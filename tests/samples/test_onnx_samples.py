"""The node tests of ONNX have the same outputs here."""

from __future__ import annotations

import importlib

import pytest

pytest.importorskip("onnx", reason="onnx is not installed")

LEAST = 450
"""Nodes that ONNX has of operations that are here."""


@pytest.mark.filterwarnings("ignore")
def test_nodes_have_the_outputs_of_onnx() -> None:
    samples = importlib.import_module("onnx_samples")
    cases = list(samples.cases())
    different = [f"{case.name}: {found}" for case in cases if (found := samples.difference(case))]
    assert not different, "\n".join(different)
    assert len(cases) >= LEAST
