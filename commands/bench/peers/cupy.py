"""CuPy's functions, which use CUB if CuPy was built so."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import MissingError, UnservedError

if TYPE_CHECKING:
    from ....runtime.backends.cuda_backend import CudaBackend
    from ..cases import Case

NO_BF16 = "no bf16"


class Cupy:
    """Calls of CuPy's functions."""

    def __init__(self) -> None:
        try:
            import cupy
        except ImportError as e:
            raise MissingError("not installed") from e
        self.cupy = cupy
        self.version = str(cupy.__version__)

    def call(self, case: Case, x: Any) -> Callable[[], Any]:
        """The function on CuPy's view of the array."""
        if case.dtype.name == "bf16":
            raise UnservedError(NO_BF16)
        array = self.cupy.asarray(x)
        axis: Any = None if case.group == "full" else case.axis if len(case.axis) > 1 else case.axis[0]
        if case.what == "logsumexp":
            raise UnservedError("no such function")
        if case.what == "norm":
            flat = array.reshape(-1) if axis is None else array
            return lambda: self.cupy.linalg.norm(flat, axis=axis)
        reduce = getattr(self.cupy, case.what)
        return lambda: reduce(array, axis=axis)


def open_peer(_: CudaBackend) -> Cupy:
    """CuPy, if it is installed."""
    return Cupy()
