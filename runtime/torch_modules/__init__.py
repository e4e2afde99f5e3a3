"""PyTorch's modules made of programs of this library, and a function that swaps them into a model.

Users import them as ``warpfold.torch``, see ``alias/``. Nothing else imports this package, which imports PyTorch.
"""

from __future__ import annotations

from .modules import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    CrossEntropyLoss,
    Dropout,
    GroupNorm,
    LayerNorm,
    LogSoftmax,
    ReLU,
    RMSNorm,
    Softmax,
    SyncBatchNorm,
)
from .replace import Replaced, replace_modules

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "CrossEntropyLoss",
    "Dropout",
    "GroupNorm",
    "LayerNorm",
    "LogSoftmax",
    "RMSNorm",
    "ReLU",
    "Replaced",
    "Softmax",
    "SyncBatchNorm",
    "replace_modules",
]
