"""The mutation test: the sanitizer finds every planted fault, in kind and place, and nothing in correct kernels.

The last lines of pytest's output count the faults found (``pytest_terminal_summary`` in ``tests/conftest.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import faults
import handmade
import own
import pytest
import short
from catalogue import CATALOGUE, Case
from fault import CLUSTER, GLOBAL, SHARED, WARP, Fault
from faults import FAULTS
from scene import Scene, examine

CLEAN = [*faults.clean(), *short.CLEAN]
RACES = (SHARED, CLUSTER, GLOBAL, WARP)
"""Kinds that are about two threads."""


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_a_planted_fault_is_found(fault: Fault, record_property: Callable[[str, object], None]) -> None:
    record_property("planted", fault.name)
    found = examine(fault.scene())
    right = fault.right(found)
    said = [f"{r.kind} at line {r.line}: {r.text}" for r in found]
    assert right, f"expected one of {fault.kinds} where {fault.lines} says, got {said}"
    assert all(r.words and r.threads >= 1 + (r.kind in RACES) for r in right)


@pytest.mark.parametrize("scene", CLEAN, ids=lambda s: s.name)
def test_nothing_is_found_where_nothing_is_planted(scene: Scene) -> None:
    assert examine(scene) == []


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_found_under_drawn_schedules(seed: int) -> None:
    """Threads come one after another there, also to stores of one value and to fences."""
    assert [(s.name, r.words) for s in short.CLEAN for r in examine(s, seed=seed)] == []


@pytest.mark.parametrize("case", CATALOGUE, ids=lambda c: c.name)
def test_nothing_is_found_in_the_catalogue(case: Case) -> None:
    assert examine(own.record(case.name, own.catalogued(case))) == []


@pytest.mark.parametrize("name", own.OTHERS)
def test_nothing_is_found_in_other_kernels_of_ours(name: str) -> None:
    assert examine(own.record(name, own.OTHERS[name])) == []


def test_there_are_faults_of_every_kind() -> None:
    assert len(FAULTS) >= 60
    assert len({f.name for f in FAULTS}) == len(FAULTS)
    wanted = {
        "out-of-bounds", "misaligned", "uninitialised", "shared-race", "cluster-race", "global-race",
        "barrier-divergence", "deadlock", "warp-mask", "warp-synchrony",
    }  # fmt: skip
    assert {f.kinds[0] for f in FAULTS} == wanted


@pytest.mark.parametrize("fault", [f for f in FAULTS if f.source], ids=lambda f: f.name)
def test_the_marks_in_the_source_lead_to_ptx(fault: Fault) -> None:
    """Otherwise no report could be correct."""
    wanted = handmade.marked(fault.source)[fault.lines]
    assert wanted & set(handmade.places(fault.source.replace(".cu", ".ptx")))


def test_the_page_counts_the_planted_faults() -> None:
    page = (Path(__file__).parents[2] / "docs" / "sanitizer.md").read_text(encoding="utf-8")
    for kind in {f.kinds[0] for f in FAULTS}:
        every, some = (sum(f.kinds[0] == kind for f in table) for table in (FAULTS, short.FAULTS))
        assert f"| {kind} | {every} | {some} | {every} | 0 |" in page
    assert f"| all | {len(FAULTS)} | {len(short.FAULTS)} | {len(FAULTS)} | 0 |" in page
