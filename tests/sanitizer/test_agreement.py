"""The table of compute-sanitizer's reports covers the planted faults, and two pages show it."""

from __future__ import annotations

import json

import agreement
from faults import COMPARED


def test_every_fault_was_run_on_a_gpu() -> None:
    kept = json.loads(agreement.TABLE.read_text())
    assert {f.name for f in COMPARED} <= set(kept["faults"])


def test_the_pages_show_the_table() -> None:
    """``PYTHONPATH=tests python tests/sanitizer/agreement.py pages`` writes them."""
    for page, section in agreement.sections().items():
        assert section in page.read_text()


def test_compute_sanitizer_reports_nothing_on_the_kernels_without_faults() -> None:
    kept = json.loads(agreement.TABLE.read_text())
    clean = {name: row for name, row in kept["faults"].items() if name.startswith("clean: ")}
    assert clean
    assert not [name for name, row in clean.items() if any(row[t] for t in agreement.TOOLS)]
