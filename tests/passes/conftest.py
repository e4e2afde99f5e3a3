"""Makes the helpers beside the pass tests importable, and records what runs on the emulator."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from warpfold.compiler.driver.artifact import Artifact
from warpfold.runtime.backends.emulator_backend import EmulatorBackend, emulator
from warpfold.runtime.emulator.profiler import Profiler

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def verifies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Verifies the IR after every step: in all tests it would take a third of the time to compile."""
    monkeypatch.setenv("WARPFOLD_VERIFY", "1")


@pytest.fixture
def artifacts(monkeypatch: pytest.MonkeyPatch) -> list[Artifact]:
    """The artifacts that run here, in the order of their launches."""
    found: list[Artifact] = []
    launch = EmulatorBackend.launch

    def watched(self: EmulatorBackend, artifact: Artifact, *rest: Any) -> None:
        found.append(artifact)
        launch(self, artifact, *rest)

    monkeypatch.setattr(EmulatorBackend, "launch", watched)
    return found


@pytest.fixture
def profiler(monkeypatch: pytest.MonkeyPatch) -> Profiler:
    """Counts the accesses of the kernels that run here."""
    tool = Profiler()
    monkeypatch.setattr(emulator(), "tool", tool)
    return tool
