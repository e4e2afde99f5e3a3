"""The library's programs by their public names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...arrays import random
from ...public_names import PROGRAMS
from . import activations, batch_norm, dropout, losses, norms, quantize, scans, selection, softmax

FAMILIES = (softmax, norms, batch_norm, losses, quantize, activations, dropout, random, scans, selection)

FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: next(getattr(family, name) for family in FAMILIES if hasattr(family, name)) for name in PROGRAMS
}
"""Every built-in program by name."""
