"""The catalogue of diagnostic codes: one file a group, its entries grouped by the kind of error.

It is imported by the first error, not before.
"""

from __future__ import annotations

from ..kinds import Diagnostic
from . import calls, commands, cuda, emulator, files, gradients, ir, measuring, plans, programs

CATALOGUE: dict[str, Diagnostic] = {
    code: Diagnostic(kind, text, remedy)
    for group in (calls, programs, ir, plans, files, cuda, emulator, measuring, commands, gradients)
    for kind, entries in group.ENTRIES.items()
    for code, (text, remedy) in entries.items()
}
"""The entry of every code."""
