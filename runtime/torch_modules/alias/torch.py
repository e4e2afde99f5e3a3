"""``warpfold.torch``: PyTorch's modules by warpfold, and ``replace_modules``.

Raises:
    MissingModuleError: WF198, an ImportError, where PyTorch is not installed.
"""

from __future__ import annotations

from warpfold.compiler.errors import error

try:
    from warpfold.runtime.torch_modules import *  # noqa: F403 - its public names
    from warpfold.runtime.torch_modules import __all__ as __all__
except ModuleNotFoundError as e:
    if e.name != "torch":
        raise
    raise error("WF198", module="warpfold.torch", library="PyTorch", how="https://pytorch.org/get-started") from None
