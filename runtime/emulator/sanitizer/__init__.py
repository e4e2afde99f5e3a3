"""The sanitizer: watches a launch on the emulator and says what the kernel does wrong."""

from __future__ import annotations

from .findings import Finding, Place
from .grouped import grouped
from .sanitizer import Sanitizer, sanitize

__all__ = ["Finding", "Place", "Sanitizer", "grouped", "sanitize"]
