"""A cache of its own for each file of tests, and the helpers beside them importable."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
