"""Limits of what a PTX text may ask for. They lie far above ordinary kernels, and protect the machine's memory."""

from __future__ import annotations

import os

from ....compiler.errors import WarpfoldError, error

NESTED = 128
"""The deepest nesting of blocks, lists, and braces of an initialiser."""
CALLS = 100
"""The deepest nesting of calls."""
COPIES = 1 << 12
"""The most calls of a kernel, each of which copies its function."""
COPIED = 1 << 15
"""The most instructions in these copies."""
ARRAY = 1 << 40
"""The most bytes of a variable."""
ALIGN = 1 << 16
PARAMETERS = 32764
"""The most bytes of a kernel's parameters (PTX ISA, "Kernel Function Parameters")."""
LOCAL = 512 << 10
"""The most bytes of local memory of a thread (CUDA C++ Programming Guide, table "Technical Specifications per Compute
Capability")."""
QUOTED = 300
"""The most characters of PTX text that an error quotes."""


def short(text: str) -> str:
    """``text``, shortened for an error to quote."""
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}... ({len(text)} characters)"


def memory() -> int:
    """Bytes of this machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def too_large(what: str, needed: int) -> WarpfoldError | None:
    """The error if ``what`` needs more bytes than the machine has; else None."""
    have = memory()
    return error("WF726", what=what, needed=needed, have=have) if needed > have else None
