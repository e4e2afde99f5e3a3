"""The emulator gives the bits that an H200 gave: ``tests/data/digests.json`` was written there."""

from __future__ import annotations

import json
from pathlib import Path

import digests
import pytest

STORED = json.loads((Path(__file__).parent / "data" / "digests.json").read_text())
CASES = list(digests.cases())
GROUPS = sorted({(c.group, c.x.shape) for c in CASES})


def test_the_table_is_complete() -> None:
    """A case without a digest would pass unseen."""
    assert {case.name for case in CASES} == set(STORED)


@pytest.mark.parametrize(("group", "shape"), GROUPS, ids=lambda v: v if isinstance(v, str) else "x".join(map(str, v)))
def test_the_emulator_agrees_with_the_gpu(group: str, shape: tuple[int, ...]) -> None:
    """Same plan, same tree, same bits, for every dtype; under ``portable`` for every alignment too."""
    chosen = [c for c in CASES if c.group == group and c.x.shape == shape]
    differ = [c.name for c in chosen if digests.digest(c, "emulator") != STORED[c.name]]
    assert not differ
