"""``warpfold.torch``: PyTorch's modules by warpfold, and ``replace_modules``."""

from __future__ import annotations

from warpfold.runtime.torch_modules import *  # noqa: F403 - its public names
from warpfold.runtime.torch_modules import __all__ as __all__
