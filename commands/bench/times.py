"""Times and sizes of the benchmark as text."""

from __future__ import annotations

from .results import Entry


def microseconds(us: float) -> str:
    """A time in microseconds."""
    return f"{us:.1f}" if us < 1000 else f"{us:.0f}"


def cell(entry: Entry) -> str:
    """A time in microseconds, or one word for why there is none."""
    return entry.word if entry.us is None else microseconds(entry.us)


def with_spread(entry: Entry) -> str:
    """A time with half the distance between its quartiles."""
    return cell(entry) + (f" ±{entry.timing.spread / 2:.1%}" if entry.timing else "")


def megabytes(nbytes: int) -> str:
    """Bytes in MB."""
    return f"{nbytes / 1e6:.3g}" if nbytes < 1e9 else f"{nbytes / 1e6:,.0f}"
