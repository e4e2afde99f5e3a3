"""What the options of a plan say about where rows wait."""

from __future__ import annotations

from ...plan.ladder import expand
from ..options import ask_for_blocks


def names_residency(wanted: str) -> bool:
    """Whether options say where rows wait."""
    named_fields = {"resident", "held"} | ({"fragments"} if ask_for_blocks(wanted) else set())
    return not named_fields.isdisjoint(expand(wanted)) and not cuts(wanted)


def cuts(wanted: str) -> bool:
    """Whether options say that no row waits: folds and uses of their results are kernels of their own."""
    return expand(wanted).get("resident") == "none"
