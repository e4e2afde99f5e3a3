"""``warpfold.dask``: reductions of arrays of Dask.

Raises:
    MissingModuleError: WF198, an ImportError, where Dask is not installed.
"""

from __future__ import annotations

from warpfold.compiler.errors import error

try:
    from warpfold.runtime.states.dask_graphs import reduce
except ModuleNotFoundError as e:
    if e.name is None or e.name.partition(".")[0] != "dask":
        raise
    raise error("WF198", module="warpfold.dask", library="Dask", how="pip install 'dask[array]'") from None

__all__ = ["reduce"]
