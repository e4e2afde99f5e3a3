"""Three processes that meet by gloo, and what each of them computed."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

COUNT = 3


@pytest.fixture(scope="session")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The results of every case on every rank."""
    folder = tmp_path_factory.mktemp("ranks")
    command = [sys.executable, str(Path(__file__).with_name("on_ranks.py"))]
    running = [
        subprocess.Popen([*command, str(r), str(COUNT), str(folder)], stderr=subprocess.PIPE, text=True)
        for r in range(COUNT)
    ]
    for process in running:
        _, said = process.communicate(timeout=400)
        assert process.returncode == 0, said
    return [pickle.loads((folder / f"rank{r}").read_bytes()) for r in range(COUNT)]
