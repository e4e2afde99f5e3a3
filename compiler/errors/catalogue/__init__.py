"""The catalogue of diagnostic codes: a file a group, in each the rows of one kind of error beside each other.

It is read when something is wrong, and not before.
"""

from __future__ import annotations

from ..kinds import Diagnostic
from . import calls, commands, cuda, emulator, files, ir, measuring, plans, programs

CATALOGUE: dict[str, Diagnostic] = {
    code: Diagnostic(kind, text, remedy)
    for group in (calls, programs, ir, plans, files, cuda, emulator, measuring, commands)
    for kind, rows in group.ROWS.items()
    for code, (text, remedy) in rows.items()
}
"""Every code with its row."""
