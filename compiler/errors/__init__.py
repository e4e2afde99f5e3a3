"""The errors of warpfold: one exception tree, one catalogue of diagnostic codes, and the function that joins them."""

from __future__ import annotations

from .error import error, near
from .kinds import (
    ArgumentError,
    BackendError,
    CompileError,
    DTypeError,
    EmulatorError,
    FileError,
    Location,
    MissingModuleError,
    MissingNameError,
    PlanError,
    TraceAttributeError,
    TraceError,
    WarpfoldError,
    WarpfoldWarning,
)

__all__ = [
    "ArgumentError",
    "BackendError",
    "CompileError",
    "DTypeError",
    "EmulatorError",
    "FileError",
    "Location",
    "MissingModuleError",
    "MissingNameError",
    "PlanError",
    "TraceAttributeError",
    "TraceError",
    "WarpfoldError",
    "WarpfoldWarning",
    "error",
    "near",
]
