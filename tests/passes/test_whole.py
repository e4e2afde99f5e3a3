"""Whole rows: a thread reads all elements of several results at once, and nothing beyond the array."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_row import facts, numbers
from test_shifted import placed

import warpfold as wf
from warpfold.compiler.errors import ArgumentError
from warpfold.compiler.plan.abi import Facts
from warpfold.compiler.planner import choose as planner
from warpfold.runtime.backends.emulator_backend import emulator
from warpfold.runtime.emulator.profiler import Profiler, total

__all__ = ["facts"]
BF16 = ml_dtypes.bfloat16
WHATS = [
    ("any", np.bool_), ("all", np.bool_), ("any", np.int8), ("max", np.int8), ("sum", np.int8), ("sum", BF16),
    ("sum", np.float32), ("min", np.float64), ("var", np.float32),
]  # fmt: skip


def right(x: Any, what: str, axis: int) -> Any:
    wide = x.astype(np.float64) if x.dtype == BF16 or x.dtype.kind == "f" else x
    return getattr(np, what)(wide, axis=axis)


@settings(max_examples=60, deadline=None)
@given(
    which=st.sampled_from(WHATS),
    elements=st.integers(2, 11),
    rows=st.integers(2, 300),
    columns=st.sampled_from([1, 1, 2, 4, 8]),
    seed=st.integers(0, 9),
)
def test_rows_and_blocks_give_what_numpy_gives(
    which: tuple[str, Any], elements: int, rows: int, columns: int, seed: int
) -> None:
    """However many there are: those of the last thread that has any fill no whole accesses."""
    what, t = which
    shape = (rows, elements) if columns == 1 else (rows, elements, columns)
    x = placed(numbers(shape, t, seed), 0)
    for vector in (16 // x.itemsize, 8 // x.itemsize):
        serves = vector >= 2 and vector % columns == 0 and vector * elements * x.itemsize % 16 == 0
        if serves and vector * elements * x.itemsize <= 256 and rows * columns >= vector:
            found = wf.reduce(x, what, axis=1, plan=f"walk=whole,vector={vector}", device="emulator")
            np.testing.assert_allclose(found.astype(np.float64), right(x, what, 1).astype(np.float64), rtol=1e-2)


@pytest.mark.parametrize("rows", [1 << 10, (1 << 10) + 5])
def test_accesses_are_whole_and_so_are_those_of_results(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of three bytes: three accesses for sixteen of them, and one to write these."""
    tool = Profiler()
    monkeypatch.setattr(emulator(), "tool", tool)
    x, plan = placed(numbers((rows, 3), np.int8) > 2, 0), "walk=whole,vector=16,warps_kept=1"
    np.testing.assert_array_equal(wf.any(x, axis=1, plan=plan, device="emulator"), x.any(axis=1))
    found, left, warps = total(tool.profiles), rows % 16, rows // 16 // 32
    assert found.traffic("global store").requests == warps + left  # each result of the last thread by itself
    of_last = 3 + 16 if left else 0
    assert found.traffic("global load").requests == 3 * warps + of_last


def test_nothing_beyond_the_array_is_read_or_written() -> None:
    """The emulator refuses what no array has: of the last thread only what there is."""
    for what, t, elements in (("any", np.bool_, 7), ("sum", np.float32, 3), ("max", BF16, 5)):
        for rows in (16, 17, 31, 33, 100):
            x = placed(numbers((rows, elements), t), 0)
            out = np.full(rows + 32, 77).astype(t)
            inside = out[16 : 16 + rows]
            wf.reduce(x, what, axis=1, plan="walk=whole", out=inside, device="emulator")
            np.testing.assert_array_equal(inside.astype(np.float64), right(x, what, 1).astype(np.float64))
            around = np.concatenate([out[:16], out[16 + rows :]])
            assert (around == np.full(32, 77).astype(out.dtype)).all()


def test_offsets_of_sixty_four_bits(monkeypatch: pytest.MonkeyPatch, facts: list[Facts]) -> None:
    monkeypatch.setattr(planner, "INDEX_LIMIT", 0)
    x = placed(numbers((77, 6, 2), np.float16), 0)
    np.testing.assert_array_equal(wf.sum(x, axis=1, plan="walk=whole", device="emulator"), x.sum(axis=1))
    assert (facts[-1].index_bits, facts[-1].block) == (64, (6, 2))


def test_two_inputs_a_mask_and_code_after_the_reduction() -> None:
    x, y = (placed(numbers((500, 3), np.float32, seed), 0) for seed in (1, 2))
    plan = "walk=whole,vector=4"
    np.testing.assert_allclose(wf.mean(x, axis=1, plan=plan, device="emulator"), x.mean(axis=1), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(wf.vecdot(x, y, axis=1, plan=plan, device="emulator"), (x * y).sum(axis=1))
    found = wf.reduce(x, ("min", "max"), axis=1, plan=plan, device="emulator")
    np.testing.assert_array_equal(found, (x.min(axis=1), x.max(axis=1)))


def test_a_kernel_serves_any_number_of_rows_of_that_length_from_a_boundary_on() -> None:
    k = wf.compile("any", (400, 3), "bool", axis=1, plan="walk=whole,vector=16")
    for rows in (16, 400, 1001):
        x = placed(numbers((rows, 3), np.int8) > 2, 0)
        np.testing.assert_array_equal(k(x, device="emulator"), x.any(axis=1))
    for other in (placed(numbers((400, 5), np.int8) > 2, 0), placed(numbers((400, 3), np.int8) > 2, 1)):
        with pytest.raises(
            ArgumentError, match=r"(?s)WF123.*3 elements of each of 1 results in a block: the array needs "
        ):
            k(other, device="emulator")


@pytest.mark.parametrize(("what", "t", "elements"), [("any", np.bool_, 3), ("sum", BF16, 2), ("var", np.float32, 4)])
def test_a_large_array_is_read_so_unasked(what: str, t: Any, elements: int, facts: list[Facts]) -> None:
    x = placed(numbers(((1 << 22) // elements + 3, elements), t), 0)
    found = wf.reduce(x, what, axis=1, device="emulator")
    np.testing.assert_allclose(found.astype(np.float64), right(x, what, 1).astype(np.float64), rtol=1e-2, atol=1e-6)
    assert (facts[0].access, facts[0].block, facts[0].store_vector) == (("whole",), (elements, 1), True)
