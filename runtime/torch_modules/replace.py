"""Swaps this library's modules into a model of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from ...compiler.errors import error
from . import modules

SWAPS: dict[type, type] = {
    getattr(nn, name): getattr(modules, name)
    for name in (
        "Softmax", "LogSoftmax", "LayerNorm", "RMSNorm", "GroupNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d",
        "SyncBatchNorm", "CrossEntropyLoss", "ReLU", "Dropout",
    )
}  # fmt: skip
"""PyTorch's classes and the ones that take their place."""
_AVERAGES = lambda m: m.momentum is None, "momentum is None: its running statistics are averages of all calls"
_OPTIONS: dict[type, tuple[Callable[[Any], bool], str]] = {
    nn.Softmax: (lambda m: m.dim is None, "dim is None, so that it depends on the rank of the argument"),
    nn.LogSoftmax: (lambda m: m.dim is None, "dim is None, so that it depends on the rank of the argument"),
    **dict.fromkeys((nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm), _AVERAGES),
    nn.ReLU: (lambda m: m.inplace, "inplace is set: it changes its argument"),
    nn.Dropout: (lambda m: m.inplace, "inplace is set: it changes its argument"),
}
"""Options with which modules are left, and why."""


@dataclass
class Replaced:
    """What ``replace_modules`` did, by the names of modules in the model; its text is a table.

    Attributes:
        swapped: the class that each swapped module had.
        left: why each other module of the same kinds was left.
    """

    swapped: dict[str, str] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        rows = [(name, f"{kind} swapped") for name, kind in self.swapped.items()]
        rows += [(name, f"left: {reason}") for name, reason in self.left.items()]
        width = max((len(name or "(the model)") for name, _ in rows), default=0)
        return "\n".join(f"{name or '(the model)':{width}}  {text}" for name, text in rows) or "nothing to swap"


def replace_modules(model: Any) -> Replaced:
    """Makes modules of a model compute with this library's programs, where they stand.

    Each stays the object that it is, with its parameters, buffers, hooks and training mode: only its class changes, to
    one of the same name in ``warpfold.torch``. Functions of PyTorch that the model calls itself, such as
    ``torch.nn.functional.layer_norm``, stay.

    >>> import torch, warpfold.torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4), torch.nn.Softmax())
    >>> print(warpfold.torch.replace_modules(model))
    1  LayerNorm swapped
    2  left: dim is None, so that it depends on the rank of the argument

    Args:
        model: a ``torch.nn.Module``.

    Returns:
        What was swapped, and what was left and why: instances of subclasses, those with a ``forward`` of their own, and
        those whose options no program has.

    Raises:
        ArgumentError: WF197 for an object that is no module.
    """
    if not isinstance(model, nn.Module):
        raise error("WF197", kind=type(model).__name__)
    found = Replaced()
    for name, module in model.named_modules():
        kind = type(module)
        if kind in SWAPS:
            reason = _reason(module)
            if reason:
                found.left[name] = reason
            else:
                module.__class__ = SWAPS[kind]
                found.swapped[name] = kind.__name__
        elif isinstance(module, tuple(SWAPS)) and kind not in SWAPS.values():
            found.left[name] = f"it is an instance of a subclass, {kind.__module__}.{kind.__qualname__}"
    return found


def _reason(module: Any) -> str:
    """Why a module is left; empty if it is not."""
    if "forward" in vars(module):
        return "its forward was replaced"
    applies, reason = _OPTIONS.get(type(module), (lambda _: False, ""))
    return reason if applies(module) else ""
