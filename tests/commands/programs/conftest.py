"""A cache of its own for the tests of programs."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
