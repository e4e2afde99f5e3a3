"""What a text may ask for: bounds that ordinary kernels keep far below, so that no text takes the machine's memory."""

from __future__ import annotations

import os

from ....compiler.errors import WarpfoldError, error

NESTED = 128
"""Blocks, lists and braces of an initialiser, one in another."""
CALLS = 100
"""Functions, each called by the one before."""
COPIES = 1 << 12
"""Calls of a kernel, each a copy of its function."""
COPIED = 1 << 15
"""Instructions in those copies."""
ARRAY = 1 << 40
"""Bytes of a variable."""
ALIGN = 1 << 16
PARAMETERS = 32764
"""Bytes of a kernel's parameters (PTX ISA, "Kernel Function Parameters")."""
LOCAL = 512 << 10
"""Bytes of local memory a thread (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability")."""
QUOTED = 300
"""Characters of the text that an error quotes."""


def short(text: str) -> str:
    """``text`` as an error quotes it."""
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}... ({len(text)} characters)"


def memory() -> int:
    """Bytes of this machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def too_large(what: str, needed: int) -> WarpfoldError | None:
    """The error for what needs more bytes than the machine has."""
    have = memory()
    return error("WF726", what=what, needed=needed, have=have) if needed > have else None
