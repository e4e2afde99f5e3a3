"""docs/accuracy.md says what was measured, and warpfold is nowhere behind PyTorch by more than chance."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[4] / "benchmarks"))

import accuracy_page as accuracy
from accuracy_programs import DISTRIBUTIONS, DTYPES, PROGRAMS, SHAPES

KEPT = accuracy.read()


def test_the_page_is_that_of_the_committed_errors() -> None:
    assert accuracy.PAGE.read_text(encoding="utf-8") == accuracy.page(KEPT), "run python benchmarks/accuracy_page.py"


def test_every_program_type_shape_and_kind_of_input_was_measured() -> None:
    wanted = {(f"{p}.{t}.{s}", i) for p in PROGRAMS for t in DTYPES for s in SHAPES for i in DISTRIBUTIONS}
    assert {(row.case, row.inputs) for row in accuracy.rows_of(KEPT)} == wanted


@pytest.mark.parametrize("row", accuracy.rows_of(KEPT), ids=lambda row: f"{row.case}-{row.inputs}")
def test_errors_are_no_greater_than_pytorchs(row: accuracy.Row) -> None:
    assert not row.ours.word
    assert not row.torch.word
    assert not row.behind
