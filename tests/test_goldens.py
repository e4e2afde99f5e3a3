"""Plans and PTX are those of ``data/goldens.json``; ``python tests/goldens.py`` compares all of it, this a part."""

from __future__ import annotations

from collections import Counter

import goldens
import pytest

ROWS = goldens.recorded()


def test_the_table_has_every_walk_every_way_to_read_and_every_finish() -> None:
    words = Counter(word for _, found in ROWS for own, _ in found.values() for word in own.replace(";", ",").split(","))
    walks = {"interleaved", "blocked", "period", "staggered", "runs", "padded", "whole"}
    assert walks == {w.partition("=")[2] for w in words if w.startswith("walk=")}
    assert {"cta", "last_block", "two_kernels"} <= {w.partition("=")[2] for w in words if w.startswith("finish=")}
    assert {"reduced", "kept", "both"} == {w.partition("=")[2] for w in words if w.startswith("fast=")}
    read = {"aligned", "shifted", "unaligned", "strided", "tile", "tile_strided", "whole", "period", "staggered"}
    assert read == {w.strip() for w in words if "=" not in w}
    assert len(ROWS) >= 390


@pytest.mark.parametrize("arch", goldens.ARCHS)
def test_plans_are_those_of_the_table(arch: str) -> None:
    """``python tests/goldens.py --write`` writes the table anew."""
    wrong = [golden.name for golden, found in ROWS if goldens.plan(golden.planned(arch)) != found[arch][0]]
    assert not wrong


@pytest.mark.parametrize("turn", range(len(goldens.ARCHS)))
def test_code_is_that_of_the_table(turn: int) -> None:
    """Every fourth row, each on the next target."""
    arch = goldens.ARCHS[turn]
    rows = ROWS[turn :: 4 * len(goldens.ARCHS)]
    wrong = [golden.name for golden, found in rows if goldens.code(golden.planned(arch)) != found[arch][1]]
    assert not wrong
