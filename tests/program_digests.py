"""Digests of results of the library's programs: made on the emulator, and the same on every GPU.

``python tests/program_digests.py emulator tests/data/programs.json`` writes the table. Plans are ``portable``: the bits
depend on the arrays alone.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import library_programs
import numpy as np
from library_programs import Case

import warpfold as wf


def digest(results: tuple[np.ndarray, ...]) -> str:
    """The first 16 hex digits of the SHA-256 of the results' bytes; a NaN counts as a NaN, whichever it is."""
    found = hashlib.sha256()
    for result in results:
        flat = np.atleast_1d(np.array(result, order="C"))
        if flat.dtype.kind not in "biu":
            flat[np.isnan(flat)] = np.nan
        found.update(flat.tobytes())
    return found.hexdigest()[:16]


def results(case: Case, device: str) -> tuple[np.ndarray, ...]:
    """The results of a case, as a tuple."""
    how = {"plan": case.plan} if case.plan else {}
    got = getattr(wf, case.function)(**case.arrays, **case.params, **how, device=device, determinism="portable")
    return got if isinstance(got, tuple) else (got,)


def written(device: str) -> str:
    """The file: the digest of each case."""
    cases = (*library_programs.cases(), *library_programs.residencies())
    return json.dumps({case.name: digest(results(case, device)) for case in cases}, indent=0)


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(written(sys.argv[1]))
