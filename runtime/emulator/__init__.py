"""Runs PTX on NumPy arrays, without a GPU: ``parse`` a module, put data in a ``Memory``, ``launch`` a kernel."""

from __future__ import annotations

from .instructions.table import SUPPORTED
from .machine.launch import LaunchStats, launch, parse
from .machine.memory import Memory
from .ptx.module import Module
from .sanitizer import Finding, sanitize
from .tool import Tool

__all__ = ["SUPPORTED", "Finding", "LaunchStats", "Memory", "Module", "Tool", "launch", "parse", "sanitize"]
