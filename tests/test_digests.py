"""The emulator gives the bits that an H200 gave: ``tests/data/digests.json`` was written there."""

from __future__ import annotations

import json
from pathlib import Path

import digests
import pytest

STORED = json.loads((Path(__file__).parent / "data" / "digests.json").read_text())
CASES = list(digests.cases())


def test_the_table_is_complete() -> None:
    """A case without a digest would pass unseen."""
    assert {name for name, *_ in CASES} == set(STORED)


@pytest.mark.parametrize("operation", [*digests.EXACT, *digests.ROUNDED])
@pytest.mark.parametrize("layout", range(len(digests.LAYOUTS)))
def test_the_emulator_agrees_with_the_gpu(operation: str, layout: int) -> None:
    """Same plan, same tree, same bits, for every dtype."""
    shape, axis = digests.LAYOUTS[layout]
    differ = []
    for name, op, x, where in CASES:
        if op == operation and x.shape == shape and where == axis:
            found = digests.digest(op, x, axis, "emulator")
            if found != STORED[name]:
                differ.append(name)
    assert not differ
