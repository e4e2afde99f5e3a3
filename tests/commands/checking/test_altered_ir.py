"""``warpfold-opt`` on mutants of the lit files ends with output or a diagnostic, whatever the text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "altered_ir.py"
COUNT = 150


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_mutants_end_in_output_or_a_diagnostic(seed: int) -> None:
    """Mutants run in a process of their own, which may crash; its last line names the mutant."""
    command = [sys.executable, str(SCRIPT), str(seed), str(COUNT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert f"mutant {COUNT - 1} of seed {seed}" in done.stdout
