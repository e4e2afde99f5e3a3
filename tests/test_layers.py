"""The import contracts hold, and an import that points the wrong way breaks them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
INSIDE = "inside the compiler: "
BACKWARD = {
    "compiler/program/graph.py": "from ..planner.task import Task",
    "compiler/planner/task.py": "from ..ir.combine import apply",
    "compiler/ir/uniform_fragments.py": "def late() -> None:\n    from ..driver.artifact import Artifact",
}
"""Imports that the contract of the compiler forbids, by the file in which they are planted."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package and its settings."""
    copy = tmp_path_factory.mktemp("layers")
    shutil.copy(ROOT / "pyproject.toml", copy)
    for path in [ROOT / "__init__.py", ROOT / "opt.py"]:
        (copy / "warpfold").mkdir(exist_ok=True)
        shutil.copy(path, copy / "warpfold")
    for folder in ("cli", "commands", "compiler", "passes", "runtime"):
        shutil.copytree(ROOT / folder, copy / "warpfold" / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def verdicts(tree: Path) -> dict[str, str]:
    """KEPT or BROKEN for each contract, as lint-imports says it of a tree."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    environment = {**os.environ, "COLUMNS": "1000"}
    found = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, timeout=120, check=False)
    lines = [line.rpartition(" ") for line in found.stdout.splitlines() if line.endswith((" KEPT", " BROKEN"))]
    assert lines, found.stdout + found.stderr
    return {name: verdict for name, _, verdict in lines}


def test_a_planted_import_breaks_the_contract(tree: Path) -> None:
    assert set(verdicts(tree).values()) == {"KEPT"}
    for name, planted in BACKWARD.items():
        file = tree / "warpfold" / name
        text = file.read_text(encoding="utf-8")
        file.write_text(f"{text}\n{planted}\n", encoding="utf-8")
        broken = [contract for contract, verdict in verdicts(tree).items() if verdict == "BROKEN"]
        file.write_text(text, encoding="utf-8")
        assert any(contract.startswith(INSIDE) for contract in broken), f"{planted} in {name} breaks {broken}"
