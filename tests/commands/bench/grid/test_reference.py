"""The answers that ``warpfold grid`` checks against, by PyTorch on the CPU: NumPy agrees, and faults show."""

from __future__ import annotations

from typing import Any

import grid_numpy
import numpy as np
import pytest

from warpfold.commands.bench.grid import reference
from warpfold.commands.bench.grid.buffer import kinds, reach
from warpfold.commands.bench.grid.cells import Cell, dense
from warpfold.compiler.dtypes import dtype

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
PERIOD = 5003


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "PERIOD", PERIOD)


def made(wanted: list[Cell]) -> tuple[reference.Truth, Any]:
    """The truth of a buffer that holds the cells."""
    buffer = torch.zeros(-(-reach(wanted) // 16) * 16, dtype=torch.uint8)
    return reference.Truth(torch, buffer), buffer


def test_answers_are_numpys_for_every_layout() -> None:
    clones = grid_numpy.clones()
    source, buffer = made(clones)
    for kind in kinds(clones):
        source.fill(kind)
        own = grid_numpy.Truth(buffer.numpy())
        for cell in (c for c in clones if c.dtype == kind):
            found = source.answer(cell)
            assert own.error(cell, found.numpy()) == 0, cell
            assert source.error(cell, found) == 0, cell


def test_very_large_arrays_are_reduced_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    clones = [c for c in grid_numpy.clones() if c.kind in ("huge", "permuted", "expanded", "reported")]
    source, _ = made(clones)
    for kind in kinds(clones):
        source.fill(kind)
        for cell in (c for c in clones if c.dtype == kind):
            whole = source.answer(cell)
            with monkeypatch.context() as patch:
                patch.setattr(reference, "AT_ONCE", 100)
                pieces = source.answer(cell)
            assert torch.allclose(pieces.double(), whole.double(), rtol=1e-12), cell


@pytest.mark.parametrize("name", ["f32", "bf16", "i8", "f64", "bool"])
def test_the_buffer_is_full_of_fitting_elements(name: str) -> None:
    cell = Cell("x", "x.y", "sum", dtype(name), (3 * PERIOD + 7,), (1,), 0, (0,))
    source, buffer = made([cell])
    source.fill(cell.dtype)
    x = source._typed(cell.dtype).double().numpy()
    assert np.array_equal(x[:PERIOD], x[PERIOD : 2 * PERIOD])
    low, high, mean = {"i8": (-128, 127, (-5, 5)), "bool": (0, 1, (0, 0.01))}.get(name, (0, 1, (0.45, 0.55)))
    assert low <= x.min() <= low + 1
    assert high - 1 <= x.max() <= high
    assert mean[0] < x.mean() < mean[1]
    assert buffer.numel() % 16 == 0


@pytest.mark.parametrize(("name", "step"), [("f32", 1e-4), ("bf16", 0.02), ("f64", 1e-9), ("i8", 1)])
def test_an_inexact_result_is_wrong(name: str, step: float) -> None:
    cell = Cell("x", "x.y", "sum", dtype(name), (40, 50), dense((40, 50)), 0, (1,))
    source, _ = made([cell])
    source.fill(cell.dtype)
    right = source.answer(cell)
    result = right.clone() if name == "i8" else right.to(getattr(torch, cell.dtype.numpy_name))
    assert source.error(cell, result) <= 1
    result[17] += step if name == "i8" else step * result[17]
    assert source.error(cell, result) > 1
    if name != "i8":
        result[17] = float("nan")
        assert source.error(cell, result) > 1


def test_the_first_of_equal_elements_is_the_greatest() -> None:
    cell = Cell("x", "x.y", "argmax", dtype("bool"), (4, 2000), dense((4, 2000)), 0, (1,))
    source, _ = made([cell])
    source.fill(cell.dtype)
    x = source._typed(cell.dtype)[:8000].reshape(4, 2000).numpy()
    assert source.answer(cell).tolist() == x.argmax(axis=1).tolist()
