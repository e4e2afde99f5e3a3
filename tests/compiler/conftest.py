"""Makes the helpers beside the compiler's tests importable; pytest itself leaves ``sys.path`` alone."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("compiler", deadline=None, derandomize=True, database=None)
settings.load_profile("compiler")
