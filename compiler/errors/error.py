"""Errors made from the one catalogue of diagnostic codes (``catalogue/``).

Every mistake of a user ends in ``error("WFnnn", ...)``, whose text says what was expected, what was found and what to
do. Codes are grouped: WF1 arrays and arguments, WF2 tracing and monoids, WF3 IR and passes, WF4 plans and targets,
WF5 files (artifacts, cache, inputs, outputs), WF6 CUDA, WF7 emulator (WF74 and WF75 the benchmark), WF8 command line.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from .kinds import Location, WarpfoldError


def error(code: str, *, where: Location | None = None, **facts: object) -> WarpfoldError:
    """Makes (does not raise) the error ``code`` with its texts filled from ``facts``.

    Args:
        code: a key of ``CATALOGUE``; an unknown one raises ``KeyError``, which a test forbids.
        where: the user's source line, when there is one.
        facts: the values that the entry's templates name.
    """
    from .catalogue import CATALOGUE

    entry = CATALOGUE[code]
    return entry.kind(code, entry.text.format(**facts), entry.remedy.format(**facts), where)


def near(name: str, known: Iterable[str]) -> str:
    """The known names that ``name`` may be a misspelling of, as messages suggest them; empty where none is similar."""
    found = get_close_matches(name, list(dict.fromkeys(known)), n=2)
    return f" (did you mean {' or '.join(found)}?)" if found else ""
