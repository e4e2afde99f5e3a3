"""The library's programs by their public names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...public_names import PROGRAMS
from . import losses, norms, quantize, softmax

FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: next(getattr(family, name) for family in (softmax, norms, losses, quantize) if hasattr(family, name))
    for name in PROGRAMS
}
"""Every built-in program by name."""
