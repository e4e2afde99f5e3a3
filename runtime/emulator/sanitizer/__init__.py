"""The sanitizer: watches a launch on the emulator and reports what the kernel does wrong."""

from __future__ import annotations

from .findings import Finding, Site, grouped
from .sanitizer import Sanitizer, sanitize

__all__ = ["Finding", "Sanitizer", "Site", "grouped", "sanitize"]
