"""``docs/ptx.md`` lists what the emulator runs."""

from __future__ import annotations

import re
from pathlib import Path

from emulator_instructions import CASES

from warpfold.runtime.emulator import SUPPORTED

PAGE = (Path(__file__).parents[3] / "docs" / "ptx.md").read_text()


def test_the_table_lists_every_opcode_once() -> None:
    rows = re.findall(r"^\| (`[^|]*`) \|", PAGE, re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"`([a-z0-9]+)`", row)]
    assert sorted(listed) == sorted(SUPPORTED)


def test_the_page_counts_the_measured_forms() -> None:
    assert f"for {len(CASES)} forms of single" in PAGE.replace("\n", " ")
