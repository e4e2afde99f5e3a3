"""The emulator gives the bits of an H200 under the recorded plans: ``tests/data/digests.json``."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import digests
import pytest
from covering import some

STORED = json.loads((Path(__file__).parent / "data" / "digests.json").read_text())["digests"]
PLANS = {name: plan for plan, found in STORED.items() for name in found}
DIGESTS = {name: digest for found in STORED.values() for name, digest in found.items()}
CASES = list(digests.cases())
GROUPS = sorted({(c.group, c.x.shape) for c in CASES})


def test_the_table_is_complete() -> None:
    """A case without a digest would pass unnoticed."""
    assert {case.name for case in CASES} == set(DIGESTS)


def test_portable_bits_do_not_depend_on_the_address() -> None:
    """On the GPU as well: another alignment has another plan and the same digest."""
    found = defaultdict(set)
    for case in CASES:
        found[case.same].add(DIGESTS[case.name])
    assert {len(digests) for digests in found.values()} == {1}


@pytest.mark.parametrize(
    ("group", "shape"), some(GROUPS, 35), ids=lambda v: v if isinstance(v, str) else "x".join(map(str, v))
)
def test_the_emulator_agrees_with_the_gpu(group: str, shape: tuple[int, ...]) -> None:
    """Same plan, same tree, same bits, for some types and alignments of each shape."""
    chosen = some((c for c in CASES if c.group == group and c.x.shape == shape), 4)
    differ = [c.name for c in chosen if digests.digest(c, "emulator", PLANS[c.name]) != DIGESTS[c.name]]
    assert not differ


@pytest.mark.parametrize("name", ["sum-129x1001-1-f32", "var-5x6x7x8-(0,2)-f64", "argmax-9x130x33-1-i16"])
def test_a_stored_plan_gives_the_same_bits(name: str) -> None:
    """A plan as stored in the table gives the planner's own bits again."""
    case = next(c for c in CASES if c.name == name)
    assert digests.digest(case, "emulator", digests.own_plan(case, "emulator")) == digests.digest(case, "emulator")
