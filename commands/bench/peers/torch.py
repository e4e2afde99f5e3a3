"""PyTorch, eager."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ..programs.case import ProgramCase
from . import MissingError, UnservedError, torch_programs

if TYPE_CHECKING:
    from ....runtime.backends.cuda_backend import CudaBackend
    from ..cases import Case
    from . import AnyCase


def function(torch: Any, case: AnyCase) -> Callable[..., Any]:
    """PyTorch's function for a case, which takes its array or arrays."""
    return torch_programs.function(torch, case) if isinstance(case, ProgramCase) else _reduction(torch, case)


def _reduction(torch: Any, case: Case) -> Callable[[Any], Any]:
    what, axis = case.what, case.axis
    one: tuple[int, ...] = () if case.group == "full" else axis
    if len(one) > 1 and what == "prod":
        raise UnservedError("takes one axis")
    found: Callable[[Any], Any] = {
        "sum": lambda x: torch.sum(x, axis),
        "mean": lambda x: torch.mean(x, axis),
        "prod": lambda x: torch.prod(x, *one),
        "max": lambda x: torch.amax(x, axis),
        "min": lambda x: torch.amin(x, axis),
        "argmax": lambda x: torch.argmax(x, *one),
        "var": lambda x: torch.var(x, axis, correction=0),
        "norm": lambda x: torch.linalg.vector_norm(x, dim=axis),
        "logsumexp": lambda x: torch.logsumexp(x, axis),
        "any": lambda x: torch.any(x, axis),
        "count_nonzero": lambda x: torch.count_nonzero(x, axis),
    }[what]
    return found


def module() -> Any:
    """PyTorch with CUDA."""
    try:
        import torch
    except ImportError as e:
        raise MissingError("not installed") from e
    if not torch.cuda.is_available():
        raise MissingError("built without CUDA")
    return torch


class Torch:
    """Eager calls."""

    def __init__(self) -> None:
        self.torch = module()
        self.version = str(self.torch.__version__)

    def call(self, case: AnyCase, x: Any) -> Callable[[], Any]:
        """The eager function."""
        return called(self.torch, function(self.torch, case), case, x)


def called(torch: Any, function: Callable[..., Any], case: AnyCase, x: Any) -> Callable[[], Any]:
    """A call of a case's function, or of its backward."""
    if isinstance(case, ProgramCase) and case.is_backward:
        return torch_programs.gradients(torch, function, case, arrays(x))
    return partial(function, *arrays(x))


def arrays(x: Any) -> tuple[Any, ...]:
    """The arrays of a case: those of a program, or the one of a reduction."""
    return x if isinstance(x, tuple) else (x,)


def open_peer(_: CudaBackend) -> Torch:
    """PyTorch, if it is installed."""
    return Torch()
