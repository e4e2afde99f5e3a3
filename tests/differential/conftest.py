"""The device of the differential tests: the emulator, or with ``--gpu`` the GPU; the cases are the same."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def device(pytestconfig: pytest.Config) -> str:
    """What ``device=`` is in every call; CUDA copies NumPy's arrays there and back."""
    return "cuda" if pytestconfig.getoption("--gpu") else "emulator"
